"""A checker of transcripts that shares no code with the library: N calls, N results, in order.

The rules are written down here a second time, from the design's sixth contract, on purpose.
"""

from collections.abc import Sequence

from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Call


def assert_sound(transcript: Sequence[Message], *, waits: bool = False) -> None:
    """Every call has one result, in order, right after its reply; every id is one of a kind.

    With ``waits`` the calls of the last message have none yet.
    """
    ids: list[str] = []
    open_calls: list[Call] = []
    for place, message in enumerate(transcript):
        if isinstance(message, Results):
            answered = [(result.call_id, result.name) for result in message.results]
            expected = [(call.id, call.name) for call in open_calls]
            assert answered, f"message {place} holds no results"
            assert answered == expected, f"message {place} answers {answered}, not {expected}"
            assert all(result.content for result in message.results), f"an empty result in {place}"
            open_calls = []
            continue
        assert not open_calls, f"message {place} comes before the results of {open_calls}"
        assert isinstance(message, User | Reply), f"message {place} is a {type(message).__name__}"
        if isinstance(message, Reply):
            open_calls = [part for part in message.content if isinstance(part, Call)]
            ids += [call.id for call in open_calls]
    assert all(ids), "a call has no id"
    assert len(ids) == len(set(ids)), f"an id was given twice: {sorted(ids)}"
    assert waits == bool(open_calls), f"calls at the end: {open_calls}"
