"""When an exchange is tried again, and after how long."""

from math import nan

import pytest

from rightcall.errors import ProtocolError, TransportError, TransportTimeout, VendorError
from rightcall.request.retry import Retry

BUSY = VendorError("busy", status=529, retryable=True)
RETRY = Retry(attempts=4, base=1.0, longest=20.0)

ROWS = {
    "the first wait is the shortest": (BUSY, 1, 1.0, 1.0),
    "it doubles": (BUSY, 3, 1.0, 4.0),
    "luck spreads it down to a half": (BUSY, 3, 0.0, 2.0),
    "no more than so many tries": (BUSY, 4, 1.0, None),
    "the vendor's wish is the least": (VendorError("x", retryable=True, retry_after=7.0), 1, 0.0, 7.0),
    "luck comes on top of it": (VendorError("x", retryable=True, retry_after=7.0), 1, 1.0, 8.0),
    "too long a wish is not granted": (VendorError("x", retryable=True, retry_after=21.0), 1, 0.0, None),
    "nor one that has no end": (VendorError("x", retryable=True, retry_after=nan), 1, 0.0, None),
    "a refusal stands": (VendorError("no", status=401), 1, 0.5, None),
    "the network may come back": (TransportError("lost"), 1, 1.0, 1.0),
    "so may a slow one": (TransportTimeout("slow"), 1, 1.0, 1.0),
    "what is not trusted will not be": (TransportError("who?", retryable=False), 1, 1.0, None),
    "a broken protocol stays broken": (ProtocolError("bad"), 1, 1.0, None),
}


@pytest.mark.parametrize(("error", "tried", "luck", "wait"), ROWS.values(), ids=ROWS)
def test_the_wait_after_an_error(error, tried, luck, wait):
    assert RETRY.delay(error, tried, luck) == wait
