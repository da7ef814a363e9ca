"""One place in a tool's definition that a person should read, and what to write there instead."""

from typing import Literal, TypeAlias

from msgspec import Struct

Weight: TypeAlias = Literal["advice", "danger", "doubt"]
"""Words that make a tool hard to choose or to call; words of a stranger that clearly speak to the model,
or that may."""


class Finding(Struct, frozen=True):
    """One place in a tool's definition that a person should read."""

    tool: str
    where: str
    weight: Weight
    what: str
    excerpt: str = ""
    rule: str = "orders"
    """What it is suppressed by."""
    why: str = ""
    """Why it matters."""
    instead: str = ""
    """What to write instead."""

    def __str__(self) -> str:
        quoted = f": {self.excerpt!r}" if self.excerpt else ""
        return f"{self.tool}, {self.where}: {self.what}{quoted}"
