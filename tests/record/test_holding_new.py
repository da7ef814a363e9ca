"""A run whose name was just made up has no record, and none is looked for."""

import pytest

import rightcall as rc
from rightcall.errors import UsageError
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel


class Asked(MemoryJournal):
    """Notes which runs were read."""

    def __init__(self):
        super().__init__()
        self.read = []

    def entries(self, run, /):
        self.read.append(run)
        return super().entries(run)


async def test_only_a_run_that_was_named_is_looked_for():
    journal = Asked()
    agent = rc.Agent(ScriptedModel(["Yes."] * 3), journal=journal)
    await agent.run("Go.")
    assert journal.read == []
    await agent.run("Go.", run="mine")
    assert journal.read == ["mine"]
    with pytest.raises(UsageError, match="holds a run 'mine' already"):
        await agent.run("Go.", run="mine")
