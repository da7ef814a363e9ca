"""What the centre asks of the edges, as Protocols."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from toolwright.core.jsontext import JsonObject
    from toolwright.core.problem import Problem
    from toolwright.core.tool import Tool


class Valid(Struct, frozen=True, gc=False, eq=False):
    """Arguments that passed validation, as the handler takes them."""

    bound: Any


class Validator(Protocol):
    """Decides whether arguments fit a tool."""

    def validate(self, text: str, value: "JsonObject") -> "Valid | tuple[Problem, ...]":
        """Judge the arguments, given both as the model's text and as that text parsed."""
        ...


class Tools(Protocol):
    """What the gate needs of a toolbox."""

    def get(self, name: str, /) -> "Tool | None":
        """The tool of that name."""
        ...

    def names(self) -> Sequence[str]:
        """The names of all tools, in order."""
        ...


class Clock(Protocol):
    """Time that passes, so that tests need not wait for it."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...
