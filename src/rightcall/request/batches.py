"""A reply's events, one by one for whoever wants that, and as many together as came together."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Self

from rightcall.core.events import ModelEvent


class Batches:
    """The stream of a model that knows which events came together: ``together`` gives them so."""

    def __init__(self, together: AsyncGenerator[Sequence[ModelEvent], None]) -> None:
        self.together = together
        self._rest: Iterator[ModelEvent] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ModelEvent:
        while (event := next(self._rest, None)) is None:
            self._rest = iter(await anext(self.together))
        return event

    async def aclose(self) -> None:
        """Let go of what the stream holds, wherever it stands."""
        await self.together.aclose()
