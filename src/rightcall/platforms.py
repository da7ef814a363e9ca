"""What only some systems have: left out where it is not needed, and said in words where it is.

``docs/platforms.md`` lists what differs. Modules that need POSIX can be imported everywhere; using them
on Windows raises a UsageError.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from rightcall.errors import UsageError

with suppress(ImportError):  # Windows has none
    import pwd


def posix_only(what: str) -> UsageError:
    """What to raise on Windows where something is asked for that needs POSIX."""
    return UsageError(f"{what} needs Linux or macOS; Windows lacks the system calls for it")


def after_fork(do: Callable[[], object]) -> None:
    """Call ``do`` in every forked child. Windows has no fork, so nothing has to be done there."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=do)


def user_name(number: int) -> str:
    """What a user of this system is called."""
    if sys.platform != "win32":
        with suppress(KeyError):
            return pwd.getpwuid(number).pw_name
    return f"user {number}"
