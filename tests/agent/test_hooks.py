"""Hooks see what happens and may say no."""

import asyncio

import pytest

from agent.kit import Desk, outcomes, told
from loop.quiet import assert_nothing_is_left
from loop.sound import assert_sound
from rightcall import Agent, Hooks
from rightcall.core.budget import Stop
from rightcall.core.outcome import Returned
from rightcall.errors import JournalError, UsageError
from rightcall.gate import Veto
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.usefixtures("nothing_is_left")

HOOKS = ["before_model", "after_model", "before_tool", "after_tool"]


class Watch:
    """Hooks that note what they see, and say no where they are told to."""

    def __init__(self, vetoes: str = "", reason: str = "") -> None:
        self.seen: list[tuple[str, object]] = []
        self._veto = (vetoes, Veto(reason))

    def hooks(self) -> Hooks:
        return Hooks(**{name: self._hook(name) for name in HOOKS})

    def _hook(self, name: str):
        async def hook(what):
            await asyncio.sleep(0)
            self.seen.append((name, what))
            return self._veto[1] if name == self._veto[0] else None

        return hook


async def run(watch: Watch, *calls):
    desk = Desk()
    model = ScriptedModel([reply("So:", *(calls or [call("find", what="x")])), "Done."])
    agent = Agent(model, [desk.tool("find", "read")], hooks=watch.hooks())
    result = await agent.run("Go.")
    assert_sound(result.transcript)
    return desk, model, result


async def test_hooks_see_every_question_reply_call_and_outcome_in_order():
    watch = Watch()
    desk, model, result = await run(watch)
    assert [name for name, _ in watch.seen] == [*HOOKS, "before_model", "after_model"]
    seen = [what for _, what in watch.seen]
    assert [seen[0], seen[4]] == model.requests
    assert [seen[1], seen[5]] == list(result.replies)
    assert (seen[2].tool.name, seen[2].arguments, seen[2].call) == (
        "find",
        {"what": "x"},
        result.calls[0].call,
    )
    assert (seen[3].outcome, seen[3].result) == (Returned("find x: done"), result.calls[0].result)
    assert (desk.done, result.stop) == (["find x"], Stop("end"))


async def test_a_veto_before_the_model_ends_the_run_and_the_model_is_not_asked():
    desk, model, result = await run(Watch("before_model", "out of hours"))
    assert (model.requests, desk.done) == ([], [])
    assert (result.stop, told(result.transcript)) == (Stop("veto", detail="out of hours"), ["user: Go."])


async def test_a_veto_after_the_model_ends_the_run_without_its_reply():
    desk, model, result = await run(Watch("after_model", "rude"))
    assert (len(model.requests), desk.done) == (1, [])
    assert (result.stop, told(result.transcript)) == (Stop("veto", detail="rude"), ["user: Go."])


@pytest.mark.parametrize(
    ("reason", "words"),
    [("not now.", "permission was denied: not now."), ("", "permission was denied.")],
)
async def test_a_veto_before_a_tool_denies_the_call(reason, words):
    desk, _, result = await run(Watch("before_tool", reason))
    assert (desk.done, result.calls[0].attempts) == ([], 0)
    assert told(result.transcript)[2:] == [f"find denied: find was not run; {words}", "model: Done."]


@pytest.mark.parametrize(
    ("reason", "words"), [("it holds a name.", "withheld: it holds a name."), ("", "withheld.")]
)
async def test_a_veto_after_a_tool_withholds_its_result_and_says_that_it_ran(reason, words):
    desk, _, result = await run(Watch("after_tool", reason))
    assert (desk.done, result.calls[0].attempts) == (["find x"], 1)
    assert told(result.transcript)[2:] == [
        f"find denied: find ran, but its result is {words}",
        "model: Done.",
    ]
    assert result.state.progress.calls == 1


async def test_a_veto_denies_only_the_call_it_is_about():
    async def before_tool(checked):
        return Veto("not that.") if checked.arguments == {"what": "y"} else None

    desk = Desk()
    model = ScriptedModel([reply(*[call("find", what=what) for what in "xyz"]), "Done."])
    result = await Agent(model, [desk.tool("find")], hooks=Hooks(before_tool=before_tool)).run("Go.")
    assert sorted(desk.done) == ["find x", "find z"]
    assert [kind for _, kind in outcomes(result)] == ["returned", "denied", "returned"]


async def test_no_hook_is_asked_about_a_call_that_does_not_pass_the_gate():
    watch = Watch()
    await run(watch, call("nope"), call("find", what=5))
    assert [name for name, _ in watch.seen] == ["before_model", "after_model"] * 2


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", HOOKS)
async def test_what_a_hook_raises_reaches_the_caller_however_many_calls_there_are(name, count):
    async def hook(_):
        await asyncio.sleep(0)
        raise LookupError("a mistake in a hook")

    desk = Desk()
    model = ScriptedModel([reply(*[call("find", what=str(n)) for n in range(count)]), "Done."])
    agent = Agent(model, [desk.tool("find")], hooks=Hooks(**{name: hook}))
    with pytest.raises(LookupError, match="a mistake in a hook"):
        await agent.run("Go.")
    assert_nothing_is_left()


class FullDisk(MemoryJournal):
    """A journal that has room for so many entries."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def append(self, run, entry, /) -> None:
        self._room -= 1
        if self._room < 0:
            raise JournalError("journal", "the disk is full")
        super().append(run, entry)


@pytest.mark.parametrize("room", range(1, 12))
async def test_a_journal_that_cannot_be_written_ends_the_run_with_what_it_came_to(room):
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x"), call("find", what="y")), "Done."])
    agent = Agent(model, [desk.tool("find")], journal=FullDisk(room))
    with pytest.raises(JournalError, match="the disk is full") as caught:
        await agent.run("Go.")
    assert told(caught.value.result.transcript)[0] == "user: Go."
    assert_nothing_is_left()


async def _no(_):
    return False


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize(
    ("hook", "words"),
    [(_no, "or None, and not bool"), (lambda _: [None], "or None, and not NoneType")],
    ids=["no veto", "a list of nothing"],
)
async def test_a_hook_whose_answer_is_no_veto_lets_nothing_pass(name, hook, words):
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x")), "Done."])
    agent = Agent(model, [desk.tool("find")], hooks=Hooks(**{name: hook}))
    with pytest.raises(UsageError, match=words):
        await agent.run("Go.")
    assert desk.done == ([] if name != "after_tool" else ["find x"])
