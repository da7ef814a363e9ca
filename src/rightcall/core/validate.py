"""What judges a call's arguments, as a port, and its yes."""

from typing import Any, Protocol

from msgspec import Struct

from rightcall.core.jsontext import JsonObject
from rightcall.core.problem import Problem


class Valid(Struct, frozen=True, gc=False, eq=False):
    """Arguments that passed validation, as the handler takes them."""

    bound: Any


class Validator(Protocol):
    """Decides whether arguments fit a tool."""

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Judge the arguments, given both as the model's text and as that text parsed."""
        ...
