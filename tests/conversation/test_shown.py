"""What the studio and the command line show of compactions, and of calls that are answered later."""

import io
import json

import rightcall as rc
from conversation.test_compaction import Kept, agent_of, pages
from conversation.test_later import Shop, orders
from rightcall.cli.views import JsonLinesView, PlainView
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel
from studio.kit import serving


async def test_the_studio_shows_a_compaction_and_what_was_sent():
    journal, model = MemoryJournal(), ScriptedModel(pages)
    agent = agent_of(model, Kept(), journal=journal)
    await agent.run("Read the book.", run="r")
    async with serving(journal) as studio:
        found = await studio.get("/api/run", run="r")
        turns = [item for item in found["items"] if item["kind"] == "turn"]
        events = [item for item in found["items"] if item.get("event") == "summary"]
        assert events[0]["text"] == "Summary number 1."
        assert events[0]["title"].endswith("earlier messages were summarised")
        assert events[0]["data"]["before"] > events[0]["data"]["after"]
        assert [each["sent_messages"] for each in turns] == [len(r.messages) for r in model.requests]
        assert turns[-1]["is_cut"]
        listed = await studio.get("/api/runs")
    assert (listed["runs"][0]["state"], listed["runs"][0]["calls"]) == ("ended", 12)


async def test_the_studio_shows_an_answer_that_came_later_in_place_of_what_was_said_until_then():
    journal = MemoryJournal()
    agent = rc.Agent(orders("tea"), Shop().tools, journal=journal)
    paused = await agent.run("Order tea.", run="r")
    async with serving(journal) as studio:
        (row,) = (await studio.get("/api/runs"))["live"]
        assert (row["state"], row["calls"]) == ("paused", 0)
        await agent.resume(paused, {paused.pending[0].call_id: rc.Answer("It came.")})
        (row,) = (await studio.get("/api/runs"))["runs"]
        assert (row["state"], row["calls"]) == ("ended", 1)
        found = await studio.get("/api/run", run="r")
    (turn, _) = [item for item in found["items"] if item["kind"] == "turn"]
    assert turn["calls"][0]["result"]["parts"][0]["text"] == "It came."


async def test_the_command_line_tells_of_a_compaction():
    out, people, lines = io.StringIO(), io.StringIO(), io.StringIO()
    plain, machine = PlainView(out, people, loading="loading"), JsonLinesView(lines, people)
    async for event in agent_of(ScriptedModel(pages), Kept()).stream("Read the book."):
        plain.show(event)
        machine.show(event)
    assert "earlier messages were shortened: " in people.getvalue()
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert "compaction_start" in [each["event"] for each in told]
    (first, *_) = [each for each in told if each["event"] == "compaction_end"]
    assert first["before"] > first["after"]
    assert "Summary number 1." in first["text"]
