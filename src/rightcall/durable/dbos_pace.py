"""How often a worker looks into its queues: often while there is work, else less often.

DBOS asks the database for a queue's settings before every look, and looks at the rate that they say. A
worker with nothing to do would ask some fifty times a second, and a thousand such would be all that a
server does. So what it is told of a queue goes through here.
"""

from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from dbos import Queue

BUSY = 0.1
"""Seconds between two looks into a queue."""
IDLE = 0.3
"""The same, where a worker had nothing to do for a while. A dead one's runs are to go on within 2 s."""
_WHILE = 5.0
_KNOWN = 1.0
"""Seconds for which a queue's settings are taken to be what they were."""

Find: TypeAlias = Callable[[str], Queue | None]


class Pace:
    """Settings of queues, with the pace that suits this worker now."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Queue]] = {}
        self._worked = monotonic()

    def note_work(self) -> None:
        """There is something to do, and where one run came from there may be more."""
        self._worked = monotonic()

    def kept(self, find: Find) -> Find:
        """What finds a queue, in front of what asks the database. DBOS calls it in its threads."""

        def queue_of(name: str) -> Queue | None:
            now = monotonic()
            since, queue = self._known.get(name, (0.0, None))
            if queue is None or now - since > _KNOWN:
                queue = find(name)
                if queue is None:
                    return None
                self._known[name] = (now, queue)
            # The field, as DBOS reads it: the setter would write to the database, for all workers.
            queue._polling_interval_sec = BUSY if now - self._worked < _WHILE else IDLE  # noqa: SLF001
            return queue

        return queue_of
