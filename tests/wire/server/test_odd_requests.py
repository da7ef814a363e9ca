"""Whatever a client sends is read, or refused in words: nothing else is raised."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import often
from rightcall.errors import RightcallError, UsageError
from rightcall.wire.dialects import SERVED, load_server

BODIES: dict[str, Any] = json.loads((Path(__file__).parent / "bodies.json").read_text())
"""A request of each dialect with a little of everything."""
ODD = (None, True, 3, -1.5, "", "x", [], {}, [None], ["x"], [[1]], {"type": "x"}, {"a": None})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a value."""
    if path:
        yield path
    pairs: Any = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, each in pairs:
        yield from places(each, (*path, key))


@pytest.mark.parametrize("name", SERVED)
@settings(max_examples=often(100))
@given(data=st.data())
def test_a_request_with_anything_odd_in_it_is_read_or_refused(name, data):
    body = deepcopy(BODIES[name])
    for _ in range(data.draw(st.integers(0, 2))):
        *way, last = data.draw(st.sampled_from(list(places(body))))
        holder = body
        for step in way:
            holder = holder[step]
        holder[last] = deepcopy(data.draw(st.sampled_from(ODD)))
    raised: RightcallError | None = None
    try:
        load_server(name).parse_request(
            json.dumps(body).encode(), path="/models/m:generateContent", headers={}
        )
    except RightcallError as error:
        raised = error
    assert raised is None or isinstance(raised, UsageError)
