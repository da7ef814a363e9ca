"""Amazon Bedrock's Converse and ConverseStream. As a module, a ``Dialect``.

One form for the models of many makers, whose own settings travel in ``additionalModelRequestFields``.
What only Bedrock understands travels in vendor bags under ``bedrock``:

- a Reasoning's bag is its ``signature``, or the ``redactedContent`` that stands in place of a text;
- an Unknown's bag is the whole block (server tools and their results, whatever comes);
- a Text's bag has the ``citations`` of its block; a Media's bag is merged into its block, and may say
  whose bucket it is in. In what a user says, either may have a ``cachePoint``, which goes after it;
- a Reply's bag is what the reply says besides (``metrics``, ``trace``, ``serviceTier``);
- a User's bag may be a list of blocks that go before its content, as the vendor writes them (guarded
  content, search results); a Result's bag is merged into its ``toolResult``, but for a ``cachePoint``.

``eventstream`` frames the bytes of a stream, and ``sigv4`` signs requests.
"""

from rightcall.wire.bedrock.decode import Decoder, decode, decoder
from rightcall.wire.bedrock.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.bedrock.tables import NAME, error

__all__ = [
    "Decoder", "authorize", "decode", "decoder", "encode", "encoder", "error", "name", "strict_mode",
]  # fmt: skip

name = NAME
