"""What a reply says about its own text: the sources, and the probability of each token."""

from msgspec import Struct


class Citation(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The source of something in a reply, in the same form for every vendor.

    The vendor's own form stays in the vendor data, and is sent back to it from there.
    """

    start: int | None = None
    """Where the cited span begins in the reply's ``text``; None if not given."""
    end: int | None = None
    """Where it ends; equal to ``start`` if the vendor gives a position between two characters."""
    url: str = ""
    title: str = ""
    file: str = ""
    """The vendor's id of a file, or the file's name if it has none."""
    quote: str = ""
    """The quoted text of the source."""


class Token(Struct, frozen=True, gc=False, omit_defaults=True):
    """A token that the model wrote, and its log probability."""

    text: str
    logprob: float
    """The natural logarithm of its probability."""
    top: tuple[tuple[str, float], ...] = ()
    """The most likely tokens at its place with their log probabilities, as many as were requested."""
