"""One place in a tool's definition that a person should read, and what to write there instead."""

from typing import Literal, TypeAlias

from msgspec import Struct

Weight: TypeAlias = Literal["advice", "danger", "doubt"]
"""A definition that is hard to choose or call; untrusted text that clearly speaks to the model, or
may."""


class Finding(Struct, frozen=True):
    """One place in a tool's definition that a person should read."""

    tool: str
    where: str
    weight: Weight
    what: str
    excerpt: str = ""
    rule: str = "orders"
    """The rule's name, for suppressing it."""
    why: str = ""
    """Why it matters."""
    instead: str = ""
    """What to write instead."""

    def __str__(self) -> str:
        quoted = f": {self.excerpt!r}" if self.excerpt else ""
        return f"{self.tool}, {self.where}: {self.what}{quoted}"
