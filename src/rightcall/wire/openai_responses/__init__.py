"""The OpenAI Responses API, and the hosts that speak it: Azure, OpenRouter, vLLM, xAI and others.

Used without state on the vendor's side: every request contains the whole conversation, and reasoning is
sent and received encrypted. The module satisfies the ``Dialect`` port; for conversations that
the vendor stores, so does ``vendor_state.VendorStateDialect``.
"""

from rightcall.wire.openai_responses.decode import Decoder, decode, decoder
from rightcall.wire.openai_responses.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.openai_responses.tables import NAME, error

__all__ = [
    "Decoder", "authorize", "decode", "decoder", "encode", "encoder", "error", "name", "strict_mode",
]  # fmt: skip

name = NAME
