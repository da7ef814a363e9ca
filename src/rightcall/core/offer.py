"""The return value of a tool that finds other tools."""

from collections.abc import Mapping

from msgspec import Struct

from rightcall.core.jsontext import JsonObject


class Offer(Struct, frozen=True, gc=False):
    """Text for the model, and the names of deferred tools that it is offered from its next turn on."""

    text: str
    names: tuple[str, ...] = ()
    source: str | None = None
    """Who wrote the text, if it was not the developer."""
    vendor: Mapping[str, JsonObject] = {}
    """By dialect: what the result holds instead of the text, so that a vendor loads the tools."""
