"""What a reply says of its own words: where they are from, and how likely each of them was."""

from msgspec import Struct


class Citation(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Where something in a reply is from, in the same form for every vendor.

    What the vendor itself said of it stays in the vendor's bag, and goes back to it from there.
    """

    start: int | None = None
    """Where in the reply's ``text`` the words begin that it is for; None where nobody says."""
    end: int | None = None
    """Where they end; the same as ``start`` where the vendor names a place between two characters."""
    url: str = ""
    title: str = ""
    file: str = ""
    """The vendor's id of a file, or its name where it has none."""
    quote: str = ""
    """What the source says, in its own words."""


class Token(Struct, frozen=True, gc=False, omit_defaults=True):
    """A token that the model wrote, and how likely it was."""

    text: str
    logprob: float
    """The natural logarithm of its probability."""
    top: tuple[tuple[str, float], ...] = ()
    """The likeliest tokens in its place with their logarithms, as many as were asked for."""
