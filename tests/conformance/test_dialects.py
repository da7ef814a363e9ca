"""Every scenario in every dialect: what is neutral is the same in all, save for the gaps on record."""

import json
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.scenarios import (
    BASE,
    FAILED,
    FOUND,
    REPLIED,
    TOLD_ERROR,
    TOLD_FOREIGN,
    VENDORS,
    WISHED,
    Forms,
    Refused,
    Replied,
    Wished,
    neutral,
)
from rightcall.core.message import Message, Reply, Results, user_text
from rightcall.core.parts import Result, Text
from rightcall.core.request import Request
from rightcall.errors import EncodeError, TruncatedStream, VendorError
from wire.recorded import assert_events_tell_the_reply, chunkings, fed, reply_of, same_at_every_cut

every_vendor = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
REPLIES = [scenario for scenario in REPLIED if isinstance(scenario.expected, Reply)]
REFUSALS = [scenario for scenario in REPLIED if isinstance(scenario.expected, Refused)]


def encoded(vendor: Forms, request: Request) -> bytes:
    return vendor.dialect.encode(request, model=vendor.MODEL, stream=True).body


def body_of(vendor: Forms, *messages: Message) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encoded(vendor, replace(BASE, messages=messages)))
    return body


def changed(vendor: Forms, scenario: Wished) -> dict[str, Any]:
    """The members that the wish changed; None for those it took away."""
    before = json.loads(encoded(vendor, scenario.before))
    after = json.loads(encoded(vendor, scenario.request))
    names = [*after, *(name for name in before if name not in after)]
    return {name: after.get(name) for name in names if before.get(name) != after.get(name)}


def refusal(error: VendorError) -> Refused:
    return Refused(error.message, error.retryable)


def reply(vendor: Forms, scenario: str) -> Reply:
    return vendor.dialect.decode(vendor.WIRES[scenario][1])


def told_error(vendor: Forms) -> list[tuple[Any, ...]]:
    """How a request with a failed result reads."""
    body = body_of(vendor, user_text("Hi"), reply(vendor, "single-call"), FAILED, user_text("Go on."))
    return vendor.outline(body)


@every_vendor
@pytest.mark.parametrize("scenario", REPLIES, ids=lambda scenario: scenario.id)
def test_a_streamed_reply_says_the_same_in_every_dialect_at_every_cut(
    vendor: Forms, scenario: Replied
) -> None:
    events = same_at_every_cut(vendor.dialect, vendor.WIRES[scenario.id][0])
    assert_events_tell_the_reply(events)
    expected = vendor.INSTEAD.get((scenario.id, "streamed"), scenario.expected)
    assert neutral(reply_of(events)) == expected


@every_vendor
@pytest.mark.parametrize("scenario", REPLIES, ids=lambda scenario: scenario.id)
def test_a_whole_reply_says_the_same_in_every_dialect(vendor: Forms, scenario: Replied) -> None:
    expected = vendor.INSTEAD.get((scenario.id, "whole"), scenario.expected)
    assert neutral(reply(vendor, scenario.id)) == expected


@every_vendor
@pytest.mark.parametrize("scenario", REFUSALS, ids=lambda scenario: scenario.id)
def test_an_error_is_a_refusal_streamed_and_whole(vendor: Forms, scenario: Replied) -> None:
    streamed, whole = vendor.WIRES[scenario.id]
    for chunks in chunkings(streamed):
        with pytest.raises(VendorError) as caught:
            fed(vendor.dialect.decoder(), *chunks)
        assert refusal(caught.value) == scenario.expected
    with pytest.raises(VendorError) as caught:
        vendor.dialect.decode(whole)
    assert refusal(caught.value) == scenario.expected


@every_vendor
def test_a_stream_cut_anywhere_before_its_end_is_truncated(vendor: Forms) -> None:
    for end in range(len(vendor.OPEN) + 1):
        with pytest.raises(TruncatedStream):
            fed(vendor.dialect.decoder(), vendor.OPEN[:end])


@every_vendor
@pytest.mark.parametrize("scenario", WISHED, ids=lambda scenario: scenario.id)
def test_a_wish_changes_what_the_vendor_calls_it_and_nothing_else(
    vendor: Forms, scenario: Wished
) -> None:
    expected = vendor.SAID.get(scenario.id, scenario.refused)
    if isinstance(expected, dict):
        assert changed(vendor, scenario) == expected
        return
    with pytest.raises(EncodeError) as caught:
        encoded(vendor, scenario.request)
    where = caught.value.where.partition(" at ")[0]
    assert (caught.value.dialect, where) == (vendor.dialect.name, expected)


@every_vendor
def test_a_failed_result_is_told_as_an_error_to_its_call(vendor: Forms) -> None:
    assert told_error(vendor) == vendor.INSTEAD.get(("tool-error", "outline"), TOLD_ERROR)


@every_vendor
@pytest.mark.parametrize("scenario", ["reasoning", "unknown"])
@pytest.mark.parametrize("form", ["streamed", "whole"])
def test_what_only_the_vendor_understands_goes_back_as_it_came(
    vendor: Forms, scenario: str, form: str
) -> None:
    streamed, whole = vendor.WIRES[scenario]
    decoded = (
        reply_of(fed(vendor.dialect.decoder(), streamed))
        if form == "streamed"
        else vendor.dialect.decode(whole)
    )
    following = FOUND if decoded.calls else user_text("Go on.")
    body = body_of(vendor, user_text("Hi"), decoded, following)
    assert vendor.model_turn(body) == vendor.RETURNED[scenario]


@pytest.mark.parametrize("source", VENDORS)
@pytest.mark.parametrize("target", VENDORS)
def test_another_vendor_gets_text_calls_and_results_and_no_reasoning(source: str, target: str) -> None:
    vendor, other = VENDORS[source], VENDORS[target]
    decoded = reply(vendor, "reasoning")
    sent = encoded(other, replace(BASE, messages=(user_text("Hi"), decoded, FOUND)))
    assert other.outline(json.loads(sent)) == TOLD_FOREIGN
    # json.loads and dumps, as the wire may escape a slash that the secret holds.
    plain = json.dumps(json.loads(sent), ensure_ascii=False).encode()
    kept = [secret in plain for secret in vendor.SECRETS]
    assert kept == [source == target] * len(kept)
    assert (b"I must look." in plain) is (source == target)


def history(vendor: Forms) -> tuple[Message, ...]:
    """Four turns, with replies of the vendor's own and another's."""
    both = ("call_1", "x is here"), ("call_2", "y is there")
    answers = [
        Result(call_id=id_, name="look", outcome="returned", content=(Text(text),)) for id_, text in both
    ]
    foreign = next(other for other in VENDORS.values() if other is not vendor)
    return (
        user_text("Hi"),
        reply(vendor, "reasoning"),
        FOUND,
        reply(vendor, "parallel-calls"),
        Results(tuple(answers)),
        user_text("Only y.", "runtime"),
        reply(vendor, "unknown"),
        user_text("Go on."),
        reply(foreign, "reasoning"),
        FAILED,
    )


@every_vendor
def test_the_same_request_gives_the_same_bytes(vendor: Forms) -> None:
    once, again = (
        vendor.dialect.encode(replace(BASE, messages=history(vendor)), model=vendor.MODEL, stream=True)
        for _ in range(2)
    )
    assert once == again


@every_vendor
@pytest.mark.parametrize("cache", [True, False], ids=["with cache marks", "without"])
def test_a_longer_history_extends_the_bytes_of_a_shorter_one(vendor: Forms, cache: bool) -> None:
    messages = history(vendor)
    request = replace(BASE, options={"cache": cache})
    bodies = [
        unmarked(vendor, encoded(vendor, replace(request, messages=messages[: at + 1])))
        for at in range(len(messages))
    ]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.rstrip(b"]}"))
        assert len(longer) > len(shorter)


def unmarked(vendor: Forms, body: bytes) -> bytes:
    for mark in vendor.MARKS:
        body = body.replace(mark, b"")
    return body
