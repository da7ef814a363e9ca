"""Cohere's Chat, version 2. As a module, a ``Dialect``.

What only Cohere understands travels in vendor bags under ``cohere``:

- a Reasoning's bag has the ``field`` it came in: ``thinking``, a part of the content, or ``tool_plan``,
  what the model plans before it calls;
- an Unknown's bag has the ``part`` of the content as it came;
- a Text's bag has the ``citations`` of it; a Reply's bag has those of anything else, what was billed
  (``billed_units``) and the reply's ``id``;
- a User's bag is merged into its message.
"""

from rightcall.wire.cohere.decode import Decoder, decode, decoder
from rightcall.wire.cohere.encode import authorize, encode, encoder, strict_mode
from rightcall.wire.cohere.tables import NAME, error

__all__ = [
    "Decoder",
    "authorize",
    "decode",
    "decoder",
    "encode",
    "encoder",
    "error",
    "name",
    "strict_mode",
]

name = NAME
