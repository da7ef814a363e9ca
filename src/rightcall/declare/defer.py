"""Settings for sending less of the tools: short descriptions, and tools that the model searches for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.options import Worded
from rightcall.declare.toolbox import Selection
from rightcall.errors import UsageError

SEARCH, LOOKUP = "search_tools", "tool_lookup"
VENDOR_SEARCH = {"anthropic": SEARCH, "openai_responses": "tool_search"}
"""The dialects whose vendors load the tools that a search finds, with the search tool's name there."""

Embedder: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Embeds texts: returns a vector for each, close to each other if the texts mean the same."""

Descriptions: TypeAlias = Literal["full", "short", "lines"]
"""How much of each tool is sent: everything; a short line and the schema; or only a short line. The
model gets the rest with ``tool_lookup``."""


class Defer(Struct, frozen=True, kw_only=True, eq=False, metaclass=Worded):
    """Which tools are sent only after the model has found them, and how it finds them."""

    which: Selection | None = None
    """Their names, or a function of a tool; None for all."""
    limit: int = 5
    """How many tools one search finds."""
    tokens: int = 4_000
    """The token limit for their definitions together; the best match is always included."""
    by_name: bool = True
    """Whether the model may call a tool that it has not found yet; otherwise it is told to search
    first."""
    embed: Embedder | None = None
    """Ranks by meaning, too; by default only by the words of names, descriptions and schemas."""
    vendor: bool = False
    """Have the vendor load found tools at the place of the search (Anthropic's tool references, OpenAI's
    ``tool_search``), so that the tools before it never change."""

    def __post_init__(self) -> None:
        if self.limit < 1 or self.tokens < 1:
            raise UsageError(
                f"rc.Defer(limit={self.limit}, tokens={self.tokens}): a search finds at least 1"
            )
