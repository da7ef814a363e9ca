"""A cheap model as a screen, within bounds."""

import asyncio

import pytest

from rightcall.errors import VendorError
from rightcall.testing import ScriptedModel
from rightcall.trust.injection_screen import screen_with


@pytest.mark.parametrize(
    ("answer", "suspected"),
    [("yes", True), ("Yes.", True), ("No", False), ("no.", False), ("Hm", True), ("", True)],
)
async def test_only_a_clear_no_is_one(answer, suspected):
    model = ScriptedModel([answer])
    assert await screen_with(model)("Hello") is suspected
    assert model.requests[0].messages[0].text == '"Hello"'


async def test_of_a_long_text_both_ends_are_shown():
    model = ScriptedModel(["no"])
    await screen_with(model, characters=10)("a" * 20 + "b" * 20)
    assert model.requests[0].messages[0].text == '"aaaaa … bbbbb"'


async def test_so_many_texts_are_looked_at_and_no_more():
    model = ScriptedModel(["no", "no"])
    screen = screen_with(model, most=1)
    assert [await screen("x"), await screen("x")] == [False, True]
    assert len(model.requests) == 1


class Stuck:
    profile = None

    def __init__(self, error=None):
        self._error = error

    async def stream(self, _):
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()
        yield


@pytest.mark.parametrize(
    "model", [Stuck(), Stuck(VendorError("no", status=500))], ids=["never", "refused"]
)
async def test_a_model_that_does_not_answer_leaves_a_suspicion(model):
    assert await screen_with(model, seconds=0.01)("x") is True
