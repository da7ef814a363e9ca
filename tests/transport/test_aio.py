"""aiohttp's errors as ours: the table is total."""

import aiohttp
import pytest

from rightcall.errors import TransportError, TransportTimeout
from rightcall.transport.aio import TRANSLATED, translated


def every_subclass(kind: type) -> set[type]:
    return {kind, *(found for child in kind.__subclasses__() for found in every_subclass(child))}


ERRORS = sorted(every_subclass(aiohttp.ClientError), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_of_aiohttp_is_in_the_table(kind):
    assert any(issubclass(kind, theirs) for theirs, _ in TRANSLATED)


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (TimeoutError(), TransportTimeout),
        (aiohttp.ServerTimeoutError("slow"), TransportTimeout),
        (aiohttp.SocketTimeoutError("slow"), TransportTimeout),
        (aiohttp.ClientPayloadError("cut"), TransportError),
        (ConnectionResetError("lost"), TransportError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_an_error_is_translated_by_blame(error, ours):
    assert type(translated(error)) is ours
