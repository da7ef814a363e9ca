"""A server's command into the program that is run and its environment, or into why it may not be.

The rules are a manifest's: no shell, no variable that nobody named, and no program that somebody else
could have put there. Only the lookup by name is added, for the files that other programs keep say
``npx`` and ``uvx``; it is done here, in our own ``PATH``, and never again by anybody else.
"""

import os
import pwd
import shutil
import stat
from pathlib import Path

from rightcall.errors import UsageError
from rightcall.mcp.client.target import Stdio


def program_of(target: Stdio) -> str:
    """The absolute path of the program. Raises UsageError when there is none, or none to trust."""
    command = target.command
    if "/" in command and not command.startswith("/"):
        raise UsageError(f"the command {command!r} must be an absolute path, or a name without slashes")
    found = shutil.which(command)
    if found is None or not Path(found).is_absolute():
        raise UsageError(
            f"there is no program {command!r} that could be run; install it, or name another"
        )
    refuse_unsafe(Path(found))
    return found


def refuse_unsafe(path: Path) -> None:
    """Raise UsageError when somebody else can write a file, or replace it on the way to it."""
    target = path.resolve()
    for place in dict.fromkeys([target, *target.parents, *path.absolute().parents]):
        status = place.stat()
        if status.st_uid not in {0, os.geteuid()}:
            owner = _name(status.st_uid)
            raise UsageError(f"{place} belongs to {owner}, neither you nor root; {path} is not trusted")
        # In a sticky directory, such as /tmp, nobody can replace what is another's.
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not sticky:
            raise UsageError(f"anyone may write {place}; {path} is not trusted. Run chmod o-w {place}")


def environment_of(target: Stdio) -> dict[str, str]:
    """All of the program's environment: what is inherited by name, and what was set."""
    inherited = {name: os.environ[name] for name in target.inherit if name in os.environ}
    return inherited | dict(target.environment)


def directory_of(target: Stdio) -> str:
    """Where the program runs. Raises UsageError when there is no such directory."""
    place = target.directory or "/"
    if not Path(place).is_dir():
        raise UsageError(f"a server's directory: there is no {place}")
    return place


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
