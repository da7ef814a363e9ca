"""A call whose secrets were redacted in the journal is not run from there."""

import rightcall as rc
from rightcall.core.entry import ReplyReceived
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.steps import fork
from rightcall.testing import ScriptedModel, call, reply

WORDS = (
    "log_in was not run; permission was denied: secrets in its arguments were not recorded. "
    "Make the call again if it is needed."
)


async def test_a_call_with_redacted_arguments_is_denied_when_its_run_is_recovered(tmp_path):
    used = []

    @rc.tool(effect="idempotent")
    def log_in(user: str, password: str) -> str:
        used.append(password)
        return "in"

    asked = reply(call("log_in", user="ada", password="hunter2 hunter2"))
    with JsonLinesJournal(tmp_path / "journal") as journal:
        first = rc.Agent(ScriptedModel([asked, "Done."]), [log_in], journal=journal)
        await first.run("Log in.", run="whole")
        entries = list(journal.entries("whole"))
        died_at = next(n for n, entry in enumerate(entries) if isinstance(entry, ReplyReceived)) + 1
        fork(journal, "whole", "cut", at=died_at)
        second = rc.Agent(ScriptedModel(["I need it again."]), [log_in], journal=journal)
        result = await second.recover("cut")

    assert used == ["hunter2 hunter2"]
    assert [(each.outcome, each.result.text) for each in result.calls] == [
        ("denied", WORDS),
    ]
