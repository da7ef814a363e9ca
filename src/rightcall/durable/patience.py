"""What passes by itself, under the runs: a full disk, and a server that is being restarted.

What was asked of the database is asked again until it has passed. A transaction that was broken off is
rolled back, so it can be written again. A run that failed of it would have to be forked by hand.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from rightcall.core.extras import load
from rightcall.durable.threads import in_thread
from rightcall.log import logger

PAUSE = 1.0
"""Seconds before it is tried again."""
_SAID = 60.0
"""Seconds between two lines of the log about it."""
_AWAY = 120.0
"""Seconds for which a server that is away is waited for."""
R = TypeVar("R")


async def when_there_is_room(write: Callable[[], R]) -> R:
    """Write in a thread; while the disk is full, again and again, for as long as somebody waits."""
    said = -_SAID
    while True:
        try:
            return await in_thread(write)
        except Exception as error:
            if not _is_full(error):
                raise
        if monotonic() - said >= _SAID:
            said = monotonic()
            logger.warning("the disk that the runs are kept on is full; waiting until there is room")
        await asyncio.sleep(PAUSE)


async def when_it_is_there(ask: Callable[[], R]) -> R:
    """Ask the database in a thread, and again while its server is away or the disk full.

    It must be something that may be done twice. DBOS does so itself with all that is asked of it.
    """
    lost, end = load("sqlalchemy").exc.OperationalError, monotonic() + _AWAY
    while True:
        try:
            return await when_there_is_room(ask)
        except lost as error:
            # SQLite has no server: what it says stands.
            if hasattr(error.orig, "sqlite_errorname") or monotonic() > end:
                raise
            logger.warning("the database is away; trying again: %s", error.orig)
        await asyncio.sleep(PAUSE / 2)


def _is_full(error: Exception) -> bool:
    # SQLAlchemy has SQLite's own error as orig; it is not there where runs are kept by Restate. Postgres
    # says so with a code of its own, and DBOS waits for it.
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"
