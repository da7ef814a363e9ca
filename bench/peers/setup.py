"""Makes the peers' environments, each with the newest releases: ``python bench/peers/setup.py``."""

import argparse
import subprocess
import sys
from pathlib import Path

from peers import ENVIRONMENTS, PEERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="where they are made")
    parser.add_argument(
        "--upgrade", action="store_true", help="look for newer releases in those that are there"
    )
    options = parser.parse_args()
    for peer in PEERS:
        python = peer.python(options.environments)
        ready = python.parent.parent / ".ready"
        if not peer.packages or (ready.exists() and not options.upgrade):
            continue
        print(f"setting up {python.parent.parent} ...", flush=True)
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--upgrade", *peer.packages], check=True)
        ready.touch()


if __name__ == "__main__":
    main()
