"""What a tool returns that finds other tools."""

from msgspec import Struct


class Offer(Struct, frozen=True, gc=False):
    """Words for the model, and the names of deferred tools that it is offered from its next turn on."""

    text: str
    names: tuple[str, ...] = ()
    source: str | None = None
    """Whose words these are, when they are not the developer's."""
