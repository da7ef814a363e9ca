"""Runs the tests of the clients where only loopback is to be reached; options are pytest's."""

import os
import shutil
import subprocess
import sys

from places import HERE, HOME

ALONE = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
ALONE += ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def isolation() -> list[str]:
    """A command's beginning that leaves it nothing but loopback, where this machine lets us."""
    if shutil.which("unshare") and shutil.which("ip"):
        done = subprocess.run([*ALONE, "true"], capture_output=True, check=False)
        if done.returncode == 0:
            return ALONE
    sys.stdout.write(
        "no network namespace is to be had here: clients may reach beyond loopback, if they try\n"
    )
    return []


def main() -> None:
    # Clients are given minutes: on a busy machine some take that to start.
    pytest = [sys.executable, "-m", "pytest", "-q", "-o", "timeout=900", str(HERE)]
    command = [*isolation(), *pytest, *sys.argv[1:]]
    sys.stdout.flush()
    # In place of this process, so that an interrupt goes to the tests; the namespace ends with them.
    os.execvpe(command[0], command, {**os.environ, "RIGHTCALL_CLIENTS": str(HOME)})


if __name__ == "__main__":
    main()
