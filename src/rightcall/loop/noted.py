"""Records what a model began in the background for a request, as notes of the run."""

from functools import cached_property

from rightcall.core.entry import StepDone
from rightcall.core.ports import Steps
from rightcall.record.steps import recorded


class NotedReplies:
    """Records what was begun for one request, under keys of its own that end in the request's key.

    So a replay with a live model does not find them.
    """

    def __init__(self, steps: Steps, key: str) -> None:
        self._steps, self._key = steps, key

    @cached_property
    def _known(self) -> list[str]:
        """What was begun so far. Looked up only for a model that begins anything, as few do."""
        known: list[str] = []
        while isinstance(entry := recorded(self._steps, self._at(len(known))), StepDone):
            known.append(entry.value)
        return known

    def _at(self, count: int) -> str:
        return f"begun.{count + 1}.{self._key}"

    def last(self, model: str, /) -> str:
        """Returns the id of what this model began last; empty if nothing."""
        ours = [
            value.removeprefix(f"{model} ") for value in self._known if value.startswith(f"{model} ")
        ]
        return ours[-1] if ours else ""

    async def began(self, model: str, identity: str, /) -> None:
        """Record the id of what this model has begun."""
        key, value = self._at(len(self._known)), f"{model} {identity}"
        await self._steps.note(key, StepDone(key=key, value=value))
        self._known.append(value)
