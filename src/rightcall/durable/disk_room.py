"""A full disk under the runs: what must be written waits for room, as for a server that is away.

SQLite rolls the transaction back, so it can be written again. A run that failed of it would have to be
forked by hand once somebody had made room.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from rightcall.durable.threads import in_thread
from rightcall.log import logger

PAUSE = 1.0
"""Seconds before it is tried again."""
_SAID = 60.0
"""Seconds between two lines of the log about it."""
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


def _is_full(error: Exception) -> bool:
    # SQLAlchemy has SQLite's own error as orig; it is not there where runs are kept by Restate. Postgres
    # says so with a code of its own, and DBOS waits for it.
    return getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"
