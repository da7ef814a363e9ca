"""Replies that a model has begun at its vendor and not fetched yet.

A model that answers in the background reports what it began. The run records it, and a later attempt at
the run continues with it instead of asking again.
"""

from contextvars import ContextVar
from typing import Protocol


class Pending(Protocol):
    """Stores what was begun for one request."""

    def last(self, model: str, /) -> str:
        """Returns the id of what this model began last in an earlier attempt; empty if nothing."""
        ...

    async def began(self, model: str, identity: str, /) -> None:
        """Store the id of what this model has begun."""
        ...


PENDING: ContextVar[Pending | None] = ContextVar("rightcall_pending", default=None)
"""The store for the request that is being sent."""
