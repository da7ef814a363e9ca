"""A recorded run again: alone, with live tools, with a live model; and forks of it."""

import pytest

import rightcall as rc
from agent.kit import Desk
from rightcall.core.entry import RunStarted
from rightcall.core.message import Results
from rightcall.errors import ReplayError, UsageError
from rightcall.loop.replay import retrace
from rightcall.record import JsonLinesJournal, MemoryJournal, SqliteJournal, fork
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

SCRIPT = [
    Turn(reply=reply("Let me", call("look", place="attic")), breaks=Break(after=4)),
    reply(
        "Look.", call("look", place="attic"), call("look", place=7), call("nowhere"), call("model", n=1)
    ),
    reply(call("pay", amount=5)),
    "Done.",
]


class World:
    """Tools that note what they did."""

    def __init__(self, word: str = "dust") -> None:
        self.acts: list[str] = []
        self._word = word

    def tools(self) -> list[rc.Tool]:
        @rc.tool(effect="read")
        def look(place: str) -> str:
            self.acts.append(f"look {place}")
            return f"{self._word} in the {place}"

        @rc.tool(effect="pure")
        def model(n: int) -> int:
            self.acts.append(f"model {n}")
            return n + 1

        @rc.tool(approval=True)
        def pay(amount: int) -> str:
            self.acts.append(f"pay {amount}")
            return "paid"

        return [look, model, pay]


async def recorded(journal: rc.record.MemoryJournal, *, decided: bool = True) -> rc.RunResult:
    agent = rc.Agent(ScriptedModel(SCRIPT), World().tools(), "Be brief.", journal=journal)
    paused = await agent.run("Go.", run="r")
    assert paused.stop.reason == "pending"
    return await agent.resume(paused, {paused.pending[0].call_id: True}) if decided else paused


@pytest.fixture(params=[MemoryJournal, JsonLinesJournal, SqliteJournal])
def journal(request, tmp_path):
    if request.param is MemoryJournal:
        yield MemoryJournal()
    else:
        with request.param(tmp_path / "journal") as kept:
            yield kept


async def test_a_journal_alone_gives_the_same_run_again(journal):
    whole = await recorded(journal)
    before = list(journal.entries("r"))
    again = await rc.replay(journal, "r")
    assert (again.transcript, again.stop, again.usage) == (whole.transcript, whole.stop, whole.usage)
    assert [(each.name, each.result) for each in again.calls] == [
        (each.name, each.result) for each in whole.calls
    ]
    assert list(journal.entries("r")) == before


async def test_a_run_that_waits_for_a_person_waits_again():
    journal = MemoryJournal()
    paused = await recorded(journal, decided=False)
    again = await rc.replay(journal, "r")
    assert (again.transcript, again.stop) == (paused.transcript, paused.stop)
    assert [each.call_id for each in again.pending] == [each.call_id for each in paused.pending]


async def test_live_tools_are_called_as_the_recorded_model_says():
    journal, world = MemoryJournal(), World("gold")
    whole = await recorded(journal)
    again = await rc.replay(journal, "r", tools=world.tools())
    assert sorted(world.acts) == ["look attic", "model 1", "pay 5"]
    assert again.replies == whole.replies
    changed = [
        (old.text, new.text)
        for before, after in zip(whole.transcript, again.transcript, strict=True)
        if isinstance(before, Results) and isinstance(after, Results)
        for old, new in zip(before.results, after.results, strict=True)
        if old != new
    ]
    assert changed == [("dust in the attic", "gold in the attic")]


async def test_a_live_model_gets_the_recorded_results_of_the_calls_it_repeats():
    journal = MemoryJournal()
    await recorded(journal)
    model = ScriptedModel([reply(call("look", '{ "place" : "attic" }')), "I see."])
    again = await rc.replay(journal, "r", model=model)
    assert [each.result.text for each in again.calls] == ["dust in the attic"]
    assert again.text == "I see."
    assert model.requests[0].system == "Be brief."
    assert [spec.name for spec in model.requests[0].specs] == ["look", "model", "pay"]


async def test_a_live_model_that_calls_something_new_ends_the_replay():
    journal = MemoryJournal()
    await recorded(journal)
    with pytest.raises(ReplayError, match="cellar"):
        await rc.replay(journal, "r", model=ScriptedModel([reply(call("look", place="cellar"))]))


async def test_a_journal_that_breaks_off_says_what_it_lacks():
    journal = MemoryJournal()
    await recorded(journal)
    fork(journal, "r", "cut", at=3)
    with pytest.raises(ReplayError) as caught:
        await rc.replay(journal, "cut")
    assert caught.value.key == "t1.0.look"


async def test_a_run_that_nobody_recorded_cannot_be_replayed():
    with pytest.raises(UsageError, match="no run 'x'"):
        await rc.replay(MemoryJournal(), "x")


async def test_a_fork_from_any_entry_goes_on_by_itself_and_leaves_the_first_run_alone():
    journal = MemoryJournal()
    whole = await recorded(journal)
    entries = list(journal.entries("r"))
    for at in range(1, len(entries) + 1):
        fork(journal, "r", f"fork {at}", at=at)
        begun = next(iter(journal.entries(f"fork {at}")))
        assert isinstance(begun, RunStarted)
        assert begun.parent == "r"
        seen = sum(type(entry).__name__ == "ReplyReceived" for entry in entries[:at])
        agent = rc.Agent(ScriptedModel(SCRIPT[seen:]), World().tools(), journal=journal)
        result = await agent.recover(f"fork {at}")
        if result.stop.reason == "pending":
            result = await agent.resume(result, {each.call_id: True for each in result.pending})
        assert result.text == whole.text
    assert list(journal.entries("r")) == entries


@pytest.mark.parametrize("at", [0, 1_000])
async def test_a_fork_begins_at_an_entry_that_there_is(at):
    journal = MemoryJournal()
    await recorded(journal)
    with pytest.raises(UsageError, match="fork after one of them"):
        fork(journal, "r", "new", at=at)


async def test_a_recorded_run_tells_every_request_that_it_made_without_making_one():
    desk = Desk()
    model = ScriptedModel([reply(call("find", what="x")), "Done."])
    journal = MemoryJournal()
    await rc.Agent(model, [desk.tool("find")], "Be kind.", journal=journal).run("Go.", run="r")
    again = await retrace(journal.entries("r"), "r")
    assert again.result.text == "Done."
    assert [request.messages for request in again.requests.values()] == [
        request.messages for request in model.requests
    ]
    assert [request.system for request in again.requests.values()] == ["Be kind."] * 2
    assert desk.done == ["find x"]
    # Cut off after the first reply: what came of it, and what would have been asked next, is told.
    cut = list(journal.entries("r"))[:-2]
    broken = await retrace(cut, "r")
    assert broken.result.stop.reason == "error"
    assert list(broken.requests) == list(again.requests)
