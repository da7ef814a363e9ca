"""The dialects: requests into vendors' bytes, and vendors' bytes into events. Sans-I/O.

Each dialect is a folder with the same files, and as a module satisfies the ``Dialect`` port:

| file | turns |
|---|---|
| encode | a request into bytes (``encode``, ``encoder``), a key into headers (``authorize``) |
| messages | the transcript into the vendor's messages |
| decode | a reply's bytes into events (``Decoder``, ``decoder``) or into a Reply (``decode``) |
| reply | decoded data into events and, at the end, the Reply |
| errors | a refusal into a VendorError (``error``), by a table for ``wire.refusal`` |
| tables | the vendor's terms into ours, as data; which media it accepts |
| history | a conversation in the vendor's format into a transcript (``read``), for ``wire.history`` |

Four of them also implement the vendor's side, for servers that offer models to clients:

| file | turns |
|---|---|
| asked | a client's request into an ``Asked`` (``asked``) |
| writer | a reply's events into the bytes of a stream (``Writer``), a reply into a body (``whole``) |
| server | both, with refusals and lists, as a module that satisfies the ``ServerDialect`` port |

``dialects`` lists them. A new one is a folder, a row there, and its name here for type checkers.
``ThinkFilter`` separates what a model writes between ``<think>`` and ``</think>`` from its text.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily
from rightcall.wire.dialects import DIALECTS

if TYPE_CHECKING:
    from rightcall.core import sse
    from rightcall.wire import (
        anthropic,
        bedrock,
        cohere,
        gemini,
        gemini_interactions,
        ollama,
        openai_chat,
        openai_responses,
    )
    from rightcall.wire.think import ThinkFilter

__all__ = [
    "ThinkFilter",
    "anthropic",
    "bedrock",
    "cohere",
    "gemini",
    "gemini_interactions",
    "ollama",
    "openai_chat",
    "openai_responses",
    "sse",
]

_HOMES = {"ThinkFilter": "wire.think", "sse": "core.sse"}
lazily(__name__, {**_HOMES, **{name: f"wire.{name}" for name in DIALECTS}})
