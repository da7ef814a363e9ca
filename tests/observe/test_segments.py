"""A run that waits is one trace for each segment, and each links to those before it."""

import rightcall as rc
from rightcall.core.entry import RunResumed, RunStarted
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(approval=True)
def send(to: str) -> str:
    """Sends."""
    return f"sent to {to}"


def traceparent(span) -> str:
    return named(span.context)


def named(seen) -> str:
    return f"00-{seen.trace_id:032x}-{seen.span_id:016x}-{seen.trace_flags:02x}"


def linked(span) -> list[str]:
    return [named(each.context) for each in span.links]


def agent(kept, journal=None, *scripts):
    model = ScriptedModel([*scripts] or [reply(call("send", id="c1", to="Bob")), "Sent."])
    return rc.Agent(model, [send], journal=journal, observers=[kept.observer()])


def segments(kept):
    return [each for each in kept.spans if each.name == "invoke_agent agent"]


async def test_a_resumed_run_links_to_the_segment_before(kept):
    asking = agent(kept)
    paused = await asking.run("Go.")
    paused = rc.RunResult.from_json(paused.to_json())
    await asking.resume(paused, {"c1": True})
    first, second = segments(kept)
    assert first.attributes["rightcall.stop"] == "pending"
    assert "error.type" not in first.attributes
    assert linked(second) == [traceparent(first)]
    assert first.context.trace_id != second.context.trace_id
    assert first.attributes["rightcall.run"] == second.attributes["rightcall.run"]
    assert second.attributes["gen_ai.usage.input_tokens"] == 10


async def test_the_record_holds_what_the_next_segment_refers_to(kept):
    journal = rc.record.MemoryJournal()
    asking = agent(kept, journal)
    paused = await asking.run("Go.", run="r")
    await asking.resume(paused, {"c1": True})
    first, second = segments(kept)
    entries = [each for each in journal.entries("r") if isinstance(each, RunStarted | RunResumed)]
    assert [each.trace for each in entries] == [traceparent(first), traceparent(second)]


async def test_a_recovered_run_links_to_what_its_journal_tells(kept, tmp_path):
    journal = rc.record.JsonLinesJournal(tmp_path / "runs.jsonl")
    await agent(kept, journal).run("Go.", run="r")
    again = agent(kept, rc.record.JsonLinesJournal(tmp_path / "runs.jsonl"), "Sent.")
    await again.recover("r")
    first, second = segments(kept)
    assert linked(second) == [traceparent(first)]


async def test_without_observers_the_record_is_as_it_was(kept):
    journal = rc.record.MemoryJournal()
    model = ScriptedModel(["Hi."])
    result = await rc.Agent(model, journal=journal).run("Hi?", run="r")
    assert journal.entries("r")[0].trace == ""
    assert b"trace" not in result.to_json()


async def test_an_agent_inside_that_waits_is_told_as_paused_and_links_too(kept):
    inner_model = ScriptedModel([reply(call("send", id="m1", to="Bob")), "Sent."])
    inner = rc.Agent(inner_model, [send], name="writer")
    model = ScriptedModel([reply(call("writer", id="w1", task="Say hi.")), "Done."])
    boss = rc.Agent(model, [inner.as_tool()], name="boss", observers=[kept.observer()])
    paused = await boss.run("Go.")
    waits = kept.span("execute_tool writer")
    assert waits.attributes["rightcall.tool.outcome"] == "paused"
    assert "error.type" not in waits.attributes
    assert "rightcall.tool.calls" not in kept.metrics()
    await boss.resume(paused, {paused.pending[0].call_id: True})
    first, second = [each for each in kept.spans if each.name == "invoke_agent writer"]
    assert linked(second) == [traceparent(first)]


class Remembering:
    """A durable engine in short: goes through a run again, and knows what it noted."""

    def __init__(self):
        self.kept = {}

    async def step(self, key, body):
        if key not in self.kept:
            self.kept[key] = await body()
        return self.kept[key]

    async def note(self, key, entry):
        is_new = key not in self.kept
        self.kept.setdefault(key, entry)
        return is_new

    def was_started(self, key):
        return False

    def recorded(self, key):
        return self.kept.get(key)


async def test_an_engine_that_begins_a_run_again_gets_a_link(kept):
    steps = Remembering()
    await agent(kept).run("Go.", run="r", steps=steps)
    await agent(kept).run("Go.", run="r", steps=steps)
    first, second = segments(kept)
    assert linked(second) == [traceparent(first)]
