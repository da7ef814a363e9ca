"""Waiting for conditions that pass by themselves: a full disk, and a server that is restarted.

A database operation is retried until they have passed. An interrupted transaction is rolled back, so it
can be written again. Otherwise the run would fail and have to be forked by hand.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from rightcall.core.extras import load
from rightcall.durable.threads import in_thread
from rightcall.log import logger

PAUSE = 1.0
"""Seconds before a retry."""
_SAID = 60.0
"""Seconds between two log messages about it."""
_AWAY = 120.0
"""Seconds to wait for a server that is away."""
R = TypeVar("R")


async def when_there_is_room(write: Callable[[], R]) -> R:
    """Write in a thread; while the disk is full, retry until the caller gives up."""
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
    """Query the database in a thread; retry while its server is away or the disk is full.

    It must be safe to repeat. DBOS does the same with its own queries.
    """
    lost, end = load("sqlalchemy").exc.OperationalError, monotonic() + _AWAY
    while True:
        try:
            return await when_there_is_room(ask)
        except lost as error:
            # SQLite has no server that could come back: its error is final.
            if hasattr(error.orig, "sqlite_errorname") or monotonic() > end:
                raise
            logger.warning("the database is away; trying again: %s", error.orig)
        await asyncio.sleep(PAUSE / 2)


def _is_full(error: Exception) -> bool:
    # SQLAlchemy has SQLite's own error as orig; it has none where Restate stores the runs. Postgres
    # reports a full disk with a code of its own, and DBOS waits for it.
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"
