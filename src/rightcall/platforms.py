"""Handles what only some systems have: skipped if it is optional, refused with a message if needed.

``docs/platforms.md`` lists the differences. Modules that need POSIX can be imported everywhere; using
them on Windows raises a UsageError.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from rightcall.errors import UsageError

with suppress(ImportError):  # Windows has none
    import pwd


def posix_only(what: str) -> UsageError:
    """Returns the error for using something on Windows that needs POSIX."""
    return UsageError(f"{what} needs Linux or macOS; Windows lacks the system calls for it")


def after_fork(do: Callable[[], object]) -> None:
    """Call ``do`` in every forked child. Windows has no fork, so nothing is done there."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=do)


def user_name(number: int) -> str:
    """Returns the name of a user of this system."""
    if sys.platform != "win32":
        with suppress(KeyError):
            return pwd.getpwuid(number).pw_name
    return f"user {number}"
