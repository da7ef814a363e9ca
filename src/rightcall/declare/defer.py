"""What can be said of how a model is told of its tools: in short, or once it has found them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.options import Worded
from rightcall.declare.toolbox import Selection
from rightcall.errors import UsageError

SEARCH, LOOKUP = "search_tools", "tool_lookup"
VENDOR_SEARCH = {"anthropic": SEARCH, "openai_responses": "tool_search"}
"""The dialects whose vendors load what a search finds, and what the search is called there."""

Embedder: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Gives each text a vector, such that the vectors of texts that mean the same are near each other."""

Descriptions: TypeAlias = Literal["full", "short", "lines"]
"""What a model is sent of its tools: everything; a short line and the schema of each; or a short line of
each and no schema. What is left out is had with ``tool_lookup``."""


class Defer(Struct, frozen=True, kw_only=True, eq=False, metaclass=Worded):
    """Which tools are sent only once the model has found them, and how it finds them."""

    which: Selection | None = None
    """Their names, or a question asked of each; None for all."""
    limit: int = 5
    """How many tools one search finds."""
    tokens: int = 4_000
    """How many tokens their definitions may have together; the best one is always found."""
    by_name: bool = True
    """A call of a tool that was not found yet is taken, if there is the tool; else the model is told to
    find it first."""
    embed: Embedder | None = None
    """Ranks by meaning, too; the words of names, descriptions and schemas alone unless given."""
    vendor: bool = False
    """Have the vendor load what is found where the search stands (Anthropic's tool references, OpenAI's
    ``tool_search``), so that the tools before it never change."""

    def __post_init__(self) -> None:
        if self.limit < 1 or self.tokens < 1:
            raise UsageError(
                f"rc.Defer(limit={self.limit}, tokens={self.tokens}): a search finds at least 1"
            )
