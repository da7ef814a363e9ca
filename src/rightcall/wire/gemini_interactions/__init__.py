"""Gemini's Interactions API: requests into bytes, bytes into events. As a module, a ``Dialect``.

A conversation is a list of steps: what the user says, what the model thinks, says and calls, and what
the calls came to. What only Gemini understands travels in vendor bags under ``gemini_interactions``:

- a Reasoning's bag has the rest of its ``thought``: its ``signature``, and a ``summary`` with pictures;
- a Text's bag has its ``annotations``, a Media's bag what else its content says;
- a Call's bag has what its step has beside the call; every call of Gemini's own has one;
- an Unknown's bag has the ``step``, or the ``content`` of one, as it came;
- a User's bag has ``content`` that only Gemini has; a Reply's bag has the interaction's ``id``.
"""

from rightcall.wire.gemini_interactions.decode import Decoder, decode, decoder
from rightcall.wire.gemini_interactions.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.gemini_interactions.tables import NAME, error

__all__ = [
    "Decoder", "authorize", "decode", "decoder", "encode", "encoder", "error", "name", "strict_mode",
]  # fmt: skip

name = NAME
