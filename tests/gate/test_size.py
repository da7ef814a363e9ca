"""Which values are encoded on the event loop: small ones, in which nothing is anybody's own code."""

from datetime import date
from decimal import Decimal

import pytest

from rightcall.core.parts import Media
from rightcall.gate.size import SHORT_TEXT, is_small


class OwnText(str):
    """A text with code of its own, which a key or a value may be."""

    __slots__ = ()


SMALL = {
    "a text": "x" * SHORT_TEXT,
    "bytes": b"x",
    "media": Media(b"x"),
    "members": {"a": 1, 2: [1.5, None, True, {"b": ("c",)}]},
    "many numbers": list(range(900)),
    "many members": dict.fromkeys(map(str, range(450)), 1),
    "scalars": [date(2026, 11, 19), Decimal("1.5"), None],
    "a long line in a list": ["x" * 60_000],
    "a number of a few digits": 2**255,
}
NOT_SMALL = {
    "a long text": "x" * (SHORT_TEXT + 1),
    "a key with code": {OwnText("a"): 1},
    "a key that is no text": {1.5: 1},
    "a key with code inside": [{"a": {OwnText("b"): 1}}],
    "a text with code": [OwnText("a")],
    "something else": object(),
    "something else inside": {"a": [object()]},
    "too many numbers": list(range(1_100)),
    "far too many numbers": list(range(3_000)),
    "far too many members": dict.fromkeys(map(str, range(1_500)), 1),
    "too many members": dict.fromkeys(map(str, range(550)), 1),
    "too many in all": [list(range(450))] * 3,
    "long lines in a list": ["x" * 60_000] * 3,
    "a number of many digits": [2**300],
}


@pytest.mark.parametrize("value", SMALL.values(), ids=SMALL)
def test_a_small_plain_value_is_encoded_at_once(value):
    assert is_small(value)


@pytest.mark.parametrize("value", NOT_SMALL.values(), ids=NOT_SMALL)
def test_what_takes_long_or_has_code_of_its_own_is_not(value):
    assert not is_small(value)
