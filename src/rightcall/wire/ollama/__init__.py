"""Ollama's own Chat, ``/api/chat``. As a module, a ``Dialect``.

A stream is JSON in lines; a call comes whole, with an object for its arguments. What only Ollama
understands travels in vendor bags under ``ollama``:

- a Reasoning's bag says that it came as ``thinking``, and goes back as such;
- a Call's bag has what stands beside the call; a User's bag is merged into its message;
- a Reply's bag has the durations, in nanoseconds: ``load_duration``, ``eval_duration`` and others.
"""

from rightcall.wire.ollama.decode import Decoder, decode, decoder
from rightcall.wire.ollama.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.ollama.tables import NAME, error

__all__ = [
    "Decoder", "authorize", "decode", "decoder", "encode", "encoder", "error", "name", "strict_mode",
]  # fmt: skip

name = NAME
