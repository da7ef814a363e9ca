import pytest

from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.errors import EncodeError
from rightcall.local.engine import Sampling
from rightcall.local.raw_model import sampling_of


def asked(**options: object) -> Request:
    return Request(messages=(user_text("Hi"),), max_tokens=7, options=options)


def test_what_a_request_says_is_taken_over():
    request = asked(temperature=0.5, top_p=0.9, seed=3, stop=["a", "b"], extra={"mirostat": 2})
    assert sampling_of(request) == Sampling(
        temperature=0.5, top_p=0.9, seed=3, max_tokens=7, stop=("a", "b"), extra={"mirostat": 2}
    )


def test_what_it_does_not_say_is_left_open():
    assert sampling_of(asked()) == Sampling(max_tokens=7)


def test_one_stop_sequence_may_stand_alone():
    assert sampling_of(asked(stop="END")).stop == ("END",)


@pytest.mark.parametrize("option", ["temperature", "top_p", "seed"])
@pytest.mark.parametrize("value", ["hot", True, [1]])
def test_what_is_no_number_is_refused(option, value):
    with pytest.raises(EncodeError, match="a number is wanted"):
        sampling_of(asked(**{option: value}))


@pytest.mark.parametrize("option", [{"logprobs": True}, {"vendor_tools": [{"type": "web_search"}]}])
def test_what_only_vendors_have_is_refused(option):
    with pytest.raises(EncodeError, match=f"{next(iter(option))}: a raw model"):
        sampling_of(asked(**option))
