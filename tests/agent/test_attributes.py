"""An agent's attributes count when they are set later, and steps and journals are taken as they are."""

import rightcall as rc
from rightcall.core.entry import RunStarted
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
async def look(n: int) -> int:
    """Look."""
    return n


def agent(**options):
    script = [reply(call("look", n=turn)) for turn in range(3)]
    return rc.Agent(ScriptedModel([*script, "Done."]), [look], **options)


async def test_a_budget_that_is_set_later_holds():
    made = agent()
    made.budget = rc.Budget(calls=1)
    result = await made.run("Look.")
    assert (result.stop.reason, result.stop.limit, len(result.calls)) == ("limit", "calls", 2)
    assert [each.outcome for each in result.calls] == ["returned", "cancelled"]


async def test_a_name_that_is_set_later_is_recorded():
    journal = MemoryJournal()
    made = agent(journal=journal)
    made.name = "bob"
    await made.run("Look.", run="r")
    (start,) = [entry for entry in journal.entries("r") if isinstance(entry, RunStarted)]
    assert (made.name, start.agent) == ("bob", "bob")


class EmptySteps:
    """Steps that are false as long as nothing is recorded, as a list would be."""

    def __init__(self):
        self.keys = []

    def __len__(self):
        return len(self.keys)

    async def step(self, key, body):
        self.keys.append(key)
        return await body()

    async def note(self, key, entry):
        return True

    def was_started(self, key):
        return False


async def test_steps_that_are_empty_at_first_are_taken():
    steps = EmptySteps()
    await agent().run("Look.", steps=steps)
    assert steps.keys[:2] == ["t1.model", "t1.0.look"]


class HoldlessJournal(MemoryJournal):
    """A journal of somebody's own that holds nothing."""

    def hold(self, run, /):
        return None


async def test_a_journal_that_gives_no_hold_is_used_without_one():
    journal = HoldlessJournal()
    result = await agent(journal=journal).run("Look.", run="r")
    assert result.stop.reason == "end"
    assert len(journal.entries("r")) > 4


async def test_an_executor_of_somebodys_own_is_of_its_class_in_every_run():
    class Own(rc.gate.Executor):
        pass

    assert type(Own().for_run()) is Own
