"""The interface of all batch APIs. Pure: a format says what to send, and parses what came back.

An operation of several exchanges is a generator: it yields errands, is sent the answer to each, and
returns the outcome. Its caller does the I/O.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from rightcall.core.ports import Dialect
from rightcall.core.request import EncodedRequest
from rightcall.errors import ErrorKind, ProtocolError, VendorError
from rightcall.request.endpoint import Errand, ErrandAnswer

Made = TypeVar("Made")
Exchange: TypeAlias = Generator[Errand, ErrandAnswer, Made]
"""Yields errands one after another, and returns their outcome."""

MAX_RESULTS = 1024 * 1024 * 1024
"""The most bytes of results that are held in memory at once."""


NOTHING = Raw(b"null")


class Submission(Struct, frozen=True, kw_only=True):
    """The requests that are submitted together, in order."""

    label: str
    """A unique name for this batch, for vendors that store one."""
    ids: tuple[str, ...]
    """The id of each request."""
    requests: tuple[EncodedRequest, ...]
    """The encoded requests; all have the same path."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of all requests merged; lists of values are joined."""
        merged: dict[str, str] = {}
        for outgoing in self.requests:
            for name, value in outgoing.headers.items():
                words = merged.get(name, "")
                if value not in words.split(","):
                    merged[name] = f"{words},{value}".lstrip(",")
        return merged


class BatchStatus(Struct, frozen=True, kw_only=True):
    """The status of a batch at the vendor."""

    id: str
    status: str
    """The vendor's own status."""
    is_over: bool
    """Whether the batch is finished."""
    total: int = 0
    done: int = 0
    """The number of requests answered."""
    failed: int = 0
    """The number of requests that failed, expired or were cancelled."""
    places: tuple[str, ...] = ()
    """Where to fetch the results; empty if there are none."""
    inline: Raw | None = None
    """The results themselves, if the status included them."""
    problem: VendorError | None = None
    """Why some requests have no result."""


class RequestResult(Struct, frozen=True, kw_only=True):
    """The result of one request: the body of a reply, or an error."""

    id: str
    body: bytes = b""
    error: VendorError | None = None


class PossibleBatches(Struct, frozen=True):
    """Batches of which any may be the submitted one."""

    candidates: tuple[str, ...]


class Format(Protocol):
    """One vendor's batch API."""

    most_requests: int
    """The most requests in one batch."""
    most_bytes: int
    """The most bytes of all requests together."""

    def submit(self, sent: Submission, /) -> Exchange[str]:
        """Submit the requests; returns the batch's id."""

    def find(
        self, label: str, ids: Sequence[str], since: float, /
    ) -> Exchange[str | PossibleBatches | None]:
        """The batch that was submitted after ``since``; None if it was not."""

    def fetch_status(self, batch: str, /) -> Exchange[BatchStatus]:
        """The batch's status."""

    def results(self, standing: BatchStatus, dialect: Dialect, /) -> Exchange[Iterable[RequestResult]]:
        """The results of a finished batch, in any order; some may be missing."""

    def cancel(self, batch: str, /) -> Exchange[None]:
        """Cancel the batch at the vendor. Requests answered by then keep their results."""


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in an answer."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ProtocolError(f"the batch API's answer is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProtocolError(f"the batch API's answer is no object, but {type(value).__name__}")
    return value


def text_in(value: Mapping[str, Any], name: str) -> str:
    """A member that must be a string."""
    found = value.get(name)
    if not isinstance(found, str) or not found:
        raise ProtocolError(f"the batch API's answer has no {name!r}")
    return found


def count_in(value: object, *names: str) -> int:
    """The sum of members that are numbers, or numbers as strings, as Google writes them."""
    counts = value if isinstance(value, dict) else {}
    return sum(int(found) for name in names if str(found := counts.get(name, 0)).isdecimal())


def lines_in(body: bytes, kind: type[Made]) -> Iterable[Made]:
    """The parsed lines of a results file. Raises for a malformed line, with its number."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(body.splitlines(), start=1):
        if line.strip():
            try:
                yield decode(line)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise ProtocolError(f"line {number} of the batch's results: {error}") from error


def missing_result_error(kind: ErrorKind, code: str, words: str) -> VendorError:
    """The error for a request that the vendor did not complete."""
    return VendorError(words, kind=kind, vendor_code=code, retryable=kind in ("timeout", "server"))


def expired_error() -> VendorError:
    """The error for a request that expired."""
    words = "the batch's time was over before this was worked on; submit it again"
    return missing_result_error("timeout", "expired", words)


def cancelled_error() -> VendorError:
    """The error for a request of a cancelled batch."""
    words = "the batch was cancelled before this was worked on"
    return missing_result_error("cancelled", "cancelled", words)
