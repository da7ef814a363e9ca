"""The dialects there are, as data: a folder of ``wire`` and a row here are what a new one needs."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rightcall.core.ports import Dialect, ServerDialect
    from rightcall.core.request import OutputMode


class Row(NamedTuple):
    """What others need to know of a dialect before it is loaded."""

    structured: "OutputMode"
    """How its models are held to an output schema, unless a profile says otherwise."""
    sign: bytes
    """A pattern that only the events of its streams match."""
    differs_by_host: bool = False
    """Whether ``dialect_at`` gives it as the host behind an address wants it."""
    keeps: bool = False
    """Whether its vendor keeps conversations (``kept_at`` of its ``state``), and answers in the
    background."""


DIALECTS: Mapping[str, Row] = {
    "openai_responses": Row("native", rb'"type"\s*:\s*"response\.', keeps=True),
    "anthropic": Row("tool", rb'"type"\s*:\s*"(message_|content_block_|ping")'),
    "openai_chat": Row(
        "native",
        rb'"choices"\s*:|"object"\s*:\s*"chat\.completion|\A\[DONE\]',
        differs_by_host=True,
    ),
    "gemini_interactions": Row("native", rb'"event_type"\s*:\s*"(interaction|step)\.', keeps=True),
    "gemini": Row("native", rb'"(candidates|usageMetadata|promptFeedback)"\s*:'),
    "cohere": Row(
        "tool", rb'"type"\s*:\s*"(message-(start|end)|content-(start|delta)|tool-(plan|call)-)'
    ),
    "ollama": Row("tool", rb'"done"\s*:\s*(true|false)'),
    "bedrock": Row("tool", rb'"(contentBlockIndex|stopReason)"\s*:|:event-type\x07'),
}
"""By the name of the folder. A stream is tried against the signs in this order."""


SERVED = ("openai_chat", "openai_responses", "anthropic", "gemini")
"""The dialects that have a server half: ``wire/NAME/server.py``."""


@cache
def load_server(name: str) -> "ServerDialect":
    """The server half of the dialect of that name."""
    server: ServerDialect = import_module(f"rightcall.wire.{name}.server")
    return server


def load(name: str, url: str = "") -> "Dialect":
    """The dialect of that name, as the host behind ``url`` wants it."""
    module: Any = import_module(f"rightcall.wire.{name}")
    dialect: Dialect = module.dialect_at(url) if url and DIALECTS[name].differs_by_host else module
    return dialect
