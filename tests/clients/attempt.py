"""A client's attempt at something: what it came to, and what was seen of it on the way."""

from dataclasses import dataclass

from clients.drive import Done
from clients.task import Task
from clients.upstream.exchange import Asked
from clients.upstream.server import Upstream, dump


@dataclass(frozen=True)
class Attempt:
    """One client, driven once."""

    task: Task
    done: Done
    vendor: Upstream
    logged: str
    """What the gateway logged meanwhile."""

    @property
    def asked(self) -> list[Asked]:
        """The requests that offered tools, as the vendor read them."""
        return [each.asked for each in self.vendor.exchanges if each.asked and each.asked.tools]

    def __str__(self) -> str:
        """All of it, for the message of a failed test."""
        return f"{self.done}\n{dump(self.vendor.exchanges)}\n{self.logged[-3000:]}"

    def assert_done(self) -> None:
        """The task is done, the vendor had nothing to refuse, and the client did not go in circles."""
        assert self.vendor.refused == [], str(self)
        assert not self.vendor.looped, str(self)
        assert self.task.done(), str(self)
        assert self.task.printed in self.done.output, str(self)
