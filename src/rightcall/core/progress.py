"""How far a running call is."""

from msgspec import Struct


class CallProgress(Struct, frozen=True, gc=False, tag=True):
    """A running call says how far it is: so much done, of so much, and with what."""

    call_id: str
    done: float
    total: float | None = None
    text: str = ""
