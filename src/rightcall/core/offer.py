"""What a tool returns that finds other tools."""

from collections.abc import Mapping

from msgspec import Struct

from rightcall.core.jsontext import JsonObject


class Offer(Struct, frozen=True, gc=False):
    """Words for the model, and the names of deferred tools that it is offered from its next turn on."""

    text: str
    names: tuple[str, ...] = ()
    source: str | None = None
    """Whose words these are, when they are not the developer's."""
    vendor: Mapping[str, JsonObject] = {}
    """What the result says in place of the words, by dialect: what a vendor is to load."""
