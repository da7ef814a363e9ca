"""What a model has begun at its vendor's and not fetched yet, kept by whoever asks.

A model that answers in the background says what it began; the run notes it, and a later attempt at the
run goes on with it in place of asking again.
"""

from contextvars import ContextVar
from typing import Protocol


class Pending(Protocol):
    """Keeps what was begun for one question."""

    def last(self, model: str, /) -> str:
        """The id of what this model began last in an attempt before; empty if it did not."""
        ...

    async def began(self, model: str, identity: str, /) -> None:
        """Keep the id of what this model has begun."""
        ...


PENDING: ContextVar[Pending | None] = ContextVar("rightcall_pending", default=None)
"""Of the question that is being asked."""
