"""The table of dialects. A new dialect needs a folder in ``wire`` and a row here."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rightcall.core.ports import Dialect, ServerDialect
    from rightcall.core.request import OutputMode


class DialectFacts(NamedTuple):
    """What must be known of a dialect before its module is loaded."""

    structured: "OutputMode"
    """How an output schema is enforced by default; a profile may override it."""
    sign: bytes
    """A pattern that matches only events of this dialect's streams."""
    differs_by_host: bool = False
    """Whether ``dialect_at`` returns a variant for the host in the URL."""
    keeps: bool = False
    """Whether its vendor stores conversations (``vendor_state.kept_at``) and answers in the
    background."""


DIALECTS: Mapping[str, DialectFacts] = {
    "openai_responses": DialectFacts("native", rb'"type"\s*:\s*"response\.', keeps=True),
    "anthropic": DialectFacts("tool", rb'"type"\s*:\s*"(message_|content_block_|ping")'),
    "openai_chat": DialectFacts(
        "native", rb'"choices"\s*:|"object"\s*:\s*"chat\.completion|\A\[DONE\]', differs_by_host=True
    ),
    "gemini_interactions": DialectFacts(
        "native", rb'"event_type"\s*:\s*"(interaction|step)\.', keeps=True
    ),
    "gemini": DialectFacts("native", rb'"(candidates|usageMetadata|promptFeedback)"\s*:'),
    "cohere": DialectFacts(
        "tool", rb'"type"\s*:\s*"(message-(start|end)|content-(start|delta)|tool-(plan|call)-)'
    ),
    "ollama": DialectFacts("tool", rb'"done"\s*:\s*(true|false)'),
    "bedrock": DialectFacts("tool", rb'"(contentBlockIndex|stopReason)"\s*:|:event-type\x07'),
}
"""By folder name. A stream is matched against the signs in this order."""


SERVED = ("openai_chat", "openai_responses", "anthropic", "gemini")
"""The dialects that have a server half: ``wire/NAME/server.py``."""


@cache
def load_server(name: str) -> "ServerDialect":
    """The server half of the named dialect."""
    server: ServerDialect = import_module(f"rightcall.wire.{name}.server")
    return server


def load(name: str, url: str = "") -> "Dialect":
    """The named dialect, in the variant for the host in ``url``."""
    module: Any = import_module(f"rightcall.wire.{name}")
    if url and DIALECTS[name].differs_by_host:
        dialect: Dialect = module.dialect_at(url)
    else:
        dialect = module
    return dialect
