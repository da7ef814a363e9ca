"""Reads streams of events in batches, as the events arrived."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import Self

from rightcall.core.events import ModelEvent


class Batches:
    """The stream of a model that knows which events arrived together; ``together`` yields batches."""

    __slots__ = ("_rest", "together")

    def __init__(self, together: AsyncGenerator[Sequence[ModelEvent], None]) -> None:
        self.together = together
        self._rest: Iterator[ModelEvent] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        while self._rest is None or (event := next(self._rest, None)) is None:
            self._rest = iter(await anext(self.together))
        return event

    async def aclose(self) -> None:
        """Release what the stream holds, even before its end."""
        await self.together.aclose()


async def _one_by_one(stream: AsyncIterator[ModelEvent]) -> AsyncIterator[Sequence[ModelEvent]]:
    async for event in stream:
        yield (event,)


def together(stream: AsyncIterator[ModelEvent]) -> AsyncIterator[Sequence[ModelEvent]]:
    """Returns the events of any model's stream, in batches as they arrived."""
    return stream.together if isinstance(stream, Batches) else _one_by_one(stream)


async def close_stream(stream: AsyncIterator[ModelEvent]) -> None:
    """Close a stream that was not read to its end, so that it releases what it holds."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
