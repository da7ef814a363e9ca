"""What every batch API has, each in its own words. Pure: a format says what to send and reads what came.

What takes several exchanges is a generator: it yields errands, is sent what came back of each, and
returns what they came to. Whoever drives it does the sending.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from rightcall.core.ports import Dialect
from rightcall.core.request import Outgoing
from rightcall.errors import ErrorKind, ProtocolError, VendorError
from rightcall.request.whole import Answered, Errand

Made = TypeVar("Made")
Exchange: TypeAlias = Generator[Errand, Answered, Made]
"""Errands, one after the other, and what they came to."""

MAX_RESULTS = 1024 * 1024 * 1024
"""Bytes of results that are held at once."""


NOTHING = Raw(b"null")


class Sent(Struct, frozen=True, kw_only=True):
    """What is submitted at once: so many requests, in order."""

    label: str
    """Tells this batch from all others, where the vendor keeps a name."""
    ids: tuple[str, ...]
    """A name for each request."""
    requests: tuple[Outgoing, ...]
    """As the dialect encodes them; all for the same address."""

    @property
    def headers(self) -> dict[str, str]:
        """What any of the requests has to say in its head; lists of words are joined."""
        merged: dict[str, str] = {}
        for outgoing in self.requests:
            for name, value in outgoing.headers.items():
                words = merged.get(name, "")
                if value not in words.split(","):
                    merged[name] = f"{words},{value}".lstrip(",")
        return merged


class Standing(Struct, frozen=True, kw_only=True):
    """How far a vendor is with a batch."""

    id: str
    status: str
    """The vendor's own word."""
    is_over: bool
    """Nothing more will come."""
    total: int = 0
    done: int = 0
    """Requests that have been answered."""
    failed: int = 0
    """Requests that have failed, have expired or were cancelled."""
    places: tuple[str, ...] = ()
    """Where the results are, if anywhere."""
    inline: Raw | None = None
    """The results themselves, where they came along."""
    problem: VendorError | None = None
    """Why requests have no result of their own."""


class Found(Struct, frozen=True, kw_only=True):
    """The result of one request: the body of a reply, or why there is none."""

    id: str
    body: bytes = b""
    error: VendorError | None = None


class Unsure(Struct, frozen=True):
    """Batches of which any may be the one that was submitted."""

    candidates: tuple[str, ...]


class Format(Protocol):
    """One vendor's batch API."""

    most_requests: int
    """Requests that one batch may hold."""
    most_bytes: int
    """Bytes that they may have together."""

    def submit(self, sent: Sent, /) -> Exchange[str]:
        """Submit the requests; the batch's id."""
        ...

    def find(self, label: str, ids: Sequence[str], since: float, /) -> Exchange[str | Unsure | None]:
        """The batch that was submitted after ``since``, if it was."""
        ...

    def look(self, batch: str, /) -> Exchange[Standing]:
        """How far it is."""
        ...

    def results(self, standing: Standing, dialect: Dialect, /) -> Exchange[Iterable[Found]]:
        """The results of a batch that is over, in any order; some may be missing."""
        ...

    def cancel(self, batch: str, /) -> Exchange[None]:
        """Have the vendor end it. What is answered by then stays."""
        ...


def read(body: bytes) -> dict[str, Any]:
    """The object that an answer is."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ProtocolError(f"the batch API's answer is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProtocolError(f"the batch API's answer is no object, but {type(value).__name__}")
    return value


def text_in(value: Mapping[str, Any], name: str) -> str:
    """A member that must be there and be text."""
    found = value.get(name)
    if not isinstance(found, str) or not found:
        raise ProtocolError(f"the batch API's answer has no {name!r}")
    return found


def count_in(value: object, *names: str) -> int:
    """The sum of members that are numbers, or numbers in quotes, as Google writes them."""
    counts = value if isinstance(value, dict) else {}
    return sum(int(found) for name in names if str(found := counts.get(name, 0)).isdecimal())


def lines_in(body: bytes, kind: type[Made]) -> Iterable[Made]:
    """The lines of a file of results. One that is none is an error, and says which."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(body.splitlines(), start=1):
        if line.strip():
            try:
                yield decode(line)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise ProtocolError(f"line {number} of the batch's results: {error}") from error


def without_result(kind: ErrorKind, code: str, words: str) -> VendorError:
    """The error of a request that the vendor did not work on to an end."""
    return VendorError(words, kind=kind, vendor_code=code, retryable=kind in ("timeout", "server"))


def expired() -> VendorError:
    """Its time was over."""
    words = "the batch's time was over before this was worked on; submit it again"
    return without_result("timeout", "expired", words)


def cancelled() -> VendorError:
    """The batch was cancelled."""
    words = "the batch was cancelled before this was worked on"
    return without_result("cancelled", "cancelled", words)
