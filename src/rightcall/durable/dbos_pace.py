"""How often a worker polls its queues: often while there is work, otherwise less often.

DBOS queries a queue's settings before every poll, and polls at the rate that they name. An idle worker
would query the database some fifty times a second, and a thousand of them would keep a server busy with
nothing else. So DBOS reads the settings of queues through this module.
"""

from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from dbos import Queue

BUSY = 0.1
"""Seconds between two polls of a queue."""
IDLE = 0.3
"""The same, for a worker that was idle for a while. A dead one's runs must go on within 2 s."""
_WHILE = 5.0
_KNOWN = 1.0
"""Seconds for which a queue's settings are cached."""

Find: TypeAlias = Callable[[str], Queue | None]


class Pace:
    """Settings of queues, with the polling interval that suits this worker now."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Queue]] = {}
        self._worked = monotonic()

    def note_work(self) -> None:
        """Note that there is work: where one run came from there may be more."""
        self._worked = monotonic()

    def kept(self, find: Find) -> Find:
        """Adds a cache to the function that queries a queue. DBOS calls the result in its threads."""

        def queue_of(name: str) -> Queue | None:
            now = monotonic()
            since, queue = self._known.get(name, (0.0, None))
            if queue is None or now - since > _KNOWN:
                queue = find(name)
                if queue is None:
                    return None
                self._known[name] = (now, queue)
            # The field that DBOS reads: the setter would write to the database, for all workers.
            queue._polling_interval_sec = BUSY if now - self._worked < _WHILE else IDLE  # noqa: SLF001
            return queue

        return queue_of
