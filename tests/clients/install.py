"""Installs what clients.toml names, each table into a folder of its own.

``python install.py`` installs every table of npm and pip; ``python install.py pip.sdks peer.litellm``
those that are named, and ends with an error where one of them cannot be installed. What a registry does
not have is said, and noted for the tests, which skip its rows in those words.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from places import HOME, MISSING, NODE, PINNED, folder


def npm(place: Path, packages: Mapping[str, str]) -> None:
    """npm chooses by the engine it runs on, so it runs on the node that the clients will."""
    tool = shutil.which("npm")
    if tool is None:
        raise FileNotFoundError("npm is not installed here")
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n')
    names = [f"{name}@{version}" for name, version in packages.items()]
    path = f"{NODE}{os.pathsep}{os.environ['PATH']}"
    flags = ["--silent", "--no-audit", "--no-fund", "--no-update-notifier"]
    run([tool, "install", *flags, "--prefix", str(place), *names], {**os.environ, "PATH": path})


def pip(place: Path, packages: Mapping[str, str]) -> None:
    if not (place / "bin" / "python").exists():
        run([sys.executable, "-m", "venv", str(place)], dict(os.environ))
    names = [f"{name}=={version}" for name, version in packages.items()]
    python = str(place / "bin" / "python")
    run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *names],
        dict(os.environ),
    )


def run(command: list[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise OSError(" / ".join(lines[-3:]) or f"{command[0]} ended with {done.returncode}")


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def install(kind: str, name: str) -> bool:
    """Whether the table is there now."""
    packages, place = PINNED[kind][name], folder(kind, name)
    ready, missing = place / ".ready", place / MISSING
    if ready.exists() and ready.read_text() == repr(packages):
        return True
    say(f"installing {', '.join(packages)} into {place} ...")
    try:
        MAKERS[kind](place, packages)
    except OSError as error:
        place.mkdir(parents=True, exist_ok=True)
        missing.write_text(str(error))
        say(f"  not to be had: {error}")
        return False
    missing.unlink(missing_ok=True)
    ready.write_text(repr(packages))
    return True


def main() -> int:
    every = [(kind, name) for kind in ("npm", "pip") for name in PINNED[kind]]
    named = [(kind, name) for kind, _, name in (each.partition(".") for each in sys.argv[1:])]
    done = [install(kind, name) for kind, name in named or every]
    say(f"the clients are in {HOME}")
    return int(bool(named) and not all(done))


MAKERS = {"npm": npm, "pip": pip, "peer": pip}

if __name__ == "__main__":
    sys.exit(main())
