"""A tool as its server defines it: what is shown, what is called, and what a pin holds still."""

from msgspec import Struct

from rightcall.core.jsontext import JsonObject


class Hints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server says of its tool's effects; None where it said nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class Definition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as its server lists it."""

    name: str
    title: str = ""
    description: str = ""
    parameters: JsonObject
    output: JsonObject | None = None
    """The schema of its structured results."""
    hints: Hints = Hints()
