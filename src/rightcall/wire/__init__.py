"""The dialects: requests into vendors' bytes, and vendors' bytes into events. Sans-I/O.

Each dialect is a folder of the same recipe, and as a module satisfies the ``Dialect`` port: ``encode``
for a request, ``Decoder`` for a stream, ``decode`` for a whole reply, ``error`` for a refusal,
``authorize`` for its headers.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core import sse
    from rightcall.wire import anthropic, gemini, openai_chat, openai_responses

__all__ = ["anthropic", "gemini", "openai_chat", "openai_responses", "sse"]

__getattr__ = lazily(
    __name__, {name: "core.sse" if name == "sse" else f"wire.{name}" for name in __all__}
)
