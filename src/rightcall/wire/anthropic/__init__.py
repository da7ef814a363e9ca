"""Anthropic's Messages API, and the hosts that imitate it. As a module, a ``Dialect``.

What only this vendor understands travels in vendor bags under ``anthropic``:

- a Reasoning's bag is its ``thinking`` block without the text, or its ``redacted_thinking`` block;
- an Unknown's bag is the whole block (server tools and their results, compaction, whatever comes);
- a Text's bag has the other members of its ``text`` block (``citations``);
- a Call's bag has the other members of its ``tool_use`` block (``caller``, ``toolset_name``);
- a Reply's bag has the other members of the message (``id``, ``stop_details``, ``container``);
- a User's bag may be a list of blocks that go before its content, as the vendor writes them (documents
  with citations, search results, uploaded files); a Result's bag is merged into its ``tool_result``.
"""

from rightcall.wire.anthropic.decode import Decoder, decode, decoder
from rightcall.wire.anthropic.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.anthropic.tables import NAME, error

__all__ = [
    "Decoder", "authorize", "decode", "decoder", "encode", "encoder", "error", "name", "strict_mode",
]  # fmt: skip

name = NAME
