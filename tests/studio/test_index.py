"""Lists and searches: what is found, page by page, and how the index keeps up with a journal."""

import json
import os

import pytest

import rightcall as rc
from rightcall.core.entry import RunResumed, RunStarted
from rightcall.core.message import user_text
from rightcall.errors import UsageError
from rightcall.serve.studio.run_reader import NoRun, RunReader
from rightcall.serve.studio.runs_as_tools import RunTools, address_of
from rightcall.serve.studio.search import RunFilter, find, match_of
from rightcall.serve.studio.sources import source_of
from rightcall.testing import ScriptedModel, call
from studio import stories


@pytest.fixture(params=["runs.jsonl", "runs.sqlite"])
def journal(request, tmp_path):
    kind = rc.record.JsonLinesJournal if request.param.endswith("jsonl") else rc.record.SqliteJournal
    with kind(tmp_path / request.param) as journal:
        yield journal


async def some(journal):
    """Four runs that differ in everything that can be filtered by."""
    await stories.looked(journal, "looked")
    await stories.paused(journal, "paused")
    await stories.tricked(journal, "tricked")
    free = stories.agent(
        (call("look", what="Zürich"), call("lok")), ("Nothing.",), name="", journal=journal
    )
    await free.run("Look at Zürich.", run="unknown", budget=rc.Budget(cost=5.0))


async def names(journal, **wanted):
    reader = RunReader(journal)
    await reader.catch_up_fully()
    found = find(reader.index, RunFilter(**wanted), frozenset())
    await reader.close()
    return [facts.run for facts in (*found.live, *found.runs)]


async def test_a_run_that_was_resumed_after_its_end_has_ended(journal):
    await stories.looked(journal, "looked")
    journal.append("looked", RunResumed(decisions={}))
    reader = RunReader(journal)
    await reader.catch_up_fully()
    found = await reader.state("looked")
    await reader.close()
    assert found == "ended"


async def test_runs_are_filtered_and_searched(journal):
    await some(journal)
    assert await names(journal) == ["paused", "unknown", "tricked", "looked"]
    assert await names(journal, agents=("shop",)) == ["paused", "tricked", "looked"]
    assert await names(journal, tools=("look",)) == ["unknown", "looked"]
    assert await names(journal, outcomes=("denied",)) == ["tricked"]
    assert await names(journal, outcomes=("unknown",)) == ["unknown"]
    assert await names(journal, tools=("look",), outcomes=("unknown",)) == []
    assert await names(journal, states=("paused",)) == ["paused"]
    assert await names(journal, stops=("end", "paused")) == ["paused", "unknown", "tricked", "looked"]
    assert await names(journal, min_cost=0.005) == ["tricked"]
    assert await names(journal, max_cost=0.003) == ["paused"]
    assert await names(journal, since=4e9) == []
    assert await names(journal, q="zurich") == ["unknown"]
    assert await names(journal, q="cak") == ["looked"]
    assert await names(journal, q='"tea and cake"') == ["looked"]
    assert await names(journal, q='"cake and tea"') == []
    assert await names(journal, q="eve@evil.example") == ["tricked"]
    assert await names(journal, q="look", states=("paused",)) == []


async def test_pages_follow_upon_each_other(journal):
    for number in range(7):
        journal.append(f"run {number}", RunStarted(messages=(user_text("x"),), budget=rc.Budget()))
        journal.append(f"run {number}", rc.record.entry.RunEnded(stop=rc.record.Stop("end")))
    reader, seen, before = RunReader(journal), [], None
    await reader.catch_up_fully()
    while True:
        found = find(reader.index, RunFilter(count=3, before=before), frozenset())
        seen += [facts.run for facts in found.runs]
        before = found.next
        if before is None:
            break
    await reader.close()
    assert seen == [f"run {number}" for number in range(6, -1, -1)]
    assert (found.total, found.is_exact) == (7, True)


async def test_an_index_is_brought_up_to_date_and_not_made_again(journal, tmp_path):
    await stories.paused(journal)
    first = RunReader(journal.path, cache=tmp_path / "cache")
    await first.catch_up_fully()
    entries = first.index.progress().entries
    await first.close()
    assert next((tmp_path / "cache").iterdir()).stat().st_mode & 0o077 == 0
    pending = await rc.replay(journal, "paused")
    await stories.agent(("Paid.",), journal=journal).resume(pending, {"call_1_0": True})
    again = RunReader(journal.path, cache=tmp_path / "cache")
    assert again.index.progress().entries == entries
    batch = await again.source.read(again.index.cursor, 1000)
    assert len(batch.written) == len(journal.entries("paused")) - entries
    await again.catch_up_fully()
    facts = await again.facts("paused")
    assert (facts.state, facts.turns, facts.calls, facts.pending) == ("ended", 2, 1, 0)
    assert (await again.read("paused")).entries == tuple(journal.entries("paused"))
    await again.close()


async def test_another_journal_in_the_same_place_is_looked_at_anew(tmp_path):
    path, cache = tmp_path / "runs.jsonl", tmp_path / "cache"
    for run in ("old", "new"):
        path.unlink(missing_ok=True)
        with rc.record.JsonLinesJournal(path) as journal:
            await stories.looked(journal, run)
        reader = RunReader(path, cache=cache)
        await reader.catch_up_fully()
        assert [each[0] for each in reader.index.query("SELECT run FROM runs")] == [run]
        await reader.close()


async def test_a_run_that_was_trimmed_away_is_forgotten(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        for number in range(8):
            await stories.looked(journal, f"run {number}")
        reader = RunReader(journal.path)
        await reader.catch_up_fully()
        journal.trim(runs=4, size=10**9)
        with pytest.raises(NoRun):
            await reader.read("run 0")
        await reader.catch_up_fully()
        left = [each[0] for each in reader.index.query("SELECT run FROM runs ORDER BY id")]
        assert left == list(journal.runs())
        await reader.close()


async def test_a_damaged_line_troubles_its_own_run_alone(tmp_path):
    path = tmp_path / "runs.jsonl"
    with rc.record.JsonLinesJournal(path) as journal:
        await stories.looked(journal, "sound")
        await stories.looked(journal, "harmed")
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"harmed"' in line and b"reply_received" in line)
    lines[at] = lines[at][:-40] + b"\n"
    path.write_bytes(b"".join(lines))
    reader = RunReader(path)
    await reader.catch_up_fully()
    assert (await reader.read("sound")).version == 12
    with pytest.raises(rc.errors.JournalError, match="damaged"):
        await reader.read("harmed")
    assert (await reader.row("harmed"))["stop"] == "damaged"
    await reader.close()


async def test_a_line_without_its_end_is_not_read_before_it_has_one(tmp_path):
    path = tmp_path / "runs.jsonl"
    with rc.record.JsonLinesJournal(path) as journal:
        await stories.looked(journal)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    reader = RunReader(path)
    await reader.catch_up_fully()
    assert (await reader.facts("looked")).state == "open"
    path.write_bytes(whole)
    await reader.catch_up_fully()
    assert (await reader.facts("looked")).state == "ended"
    await reader.close()


async def test_reading_touches_neither_the_journal_nor_its_locks(journal):
    await stories.paused(journal)
    journal.close()
    folder = journal.path.parent
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}
    reader = RunReader(journal.path)
    await reader.catch_up_fully()
    await reader.trust_verdicts(await reader.read("paused"))
    after = {
        path: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix == journal.path.suffix
    }
    assert {path: before[path] for path in after} == after
    await reader.close()


async def test_a_run_that_somebody_holds_is_told_with_its_holder(journal):
    journal.append("held", RunStarted(messages=(user_text("x"),), budget=rc.Budget()))
    reader = RunReader(journal)
    await reader.catch_up_fully()
    hold = journal.hold("held")
    row = await reader.row("held")
    assert (row["state"], f"process {os.getpid()}" in row["holder"]) == ("running", True)
    assert [
        facts.run
        for facts in find(reader.index, RunFilter(states=("running",)), reader.held_locks()).live
    ] == ["held"]
    hold.release()
    assert (await reader.row("held"))["holder"] == ""
    await reader.close()


def test_a_journal_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(UsageError, match="there is no journal"):
        source_of(tmp_path / "none.sqlite")


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("tea", '"tea"*'),
        ("tea ", '"tea"'),
        ("tea cake", '"tea" "cake"*'),
        ('"tea and cake"', '"tea and cake"'),
        ('"tea', '"tea"*'),
        ("a@b.example", '"a b example"*'),
        ("NOT (x OR y)*", '"NOT" "x" "OR" "y"*'),
        ("  ", None),
        ("'\"--", None),
    ],
)
def test_what_is_typed_is_words_and_never_an_order_to_the_index(typed, asked):
    assert match_of(typed) == asked


async def test_a_snippet_shows_where_the_words_were_found(journal):
    await stories.looked(journal)
    reader = RunReader(journal)
    await reader.catch_up_fully()
    found = find(reader.index, RunFilter(q="CAK"), frozenset())
    await reader.close()
    (pieces,) = found.snippets.values()
    assert pieces[:2] == [["Is there tea and ", False], ["cake", True]]
    assert {text for text, is_match in pieces if is_match} == {"cake"}


async def test_agents_read_runs_through_tools_and_resources(journal):
    await some(journal)
    runs = RunTools(journal)
    calls = [
        rc.Call(id="1", name="list_runs", arguments='{"count": 2}'),
        rc.Call(id="2", name="search_runs", arguments='{"words": "cake"}'),
        rc.Call(id="3", name="show_run", arguments='{"run": "looked"}'),
        rc.Call(id="4", name="show_run", arguments='{"run": "nobody"}'),
    ]
    listed, searched, shown, missing = await rc.run_calls(calls, list(runs.tools()))
    told = json.loads(json.loads(listed.result.text)["content"])
    assert [each["run"] for each in told["runs"]] == ["paused", "unknown", "tricked"]
    found = json.loads(json.loads(searched.result.text)["content"])["runs"]
    assert [each["run"] for each in found] == ["looked"]
    assert "was called with" in shown.result.text
    assert (missing.outcome.kind, shown.result.source) == ("failed", "show_run")
    assert dict(await runs.resources())[address_of("looked")] == "looked"
    assert "Both are there." in (await runs.resource(address_of("looked")) or "")
    assert await runs.resource(address_of("nobody")) is None
    assert await runs.resource("file:///etc/passwd") is None
    await runs.close()


async def test_two_studios_of_one_journal_count_every_entry_once(journal, tmp_path):
    await stories.looked(journal)
    one, two = (RunReader(journal.path, cache=tmp_path / "cache") for _ in range(2))
    since = one.index.cursor
    batch = await one.source.read(since, 1000)
    one.index.take(batch, since)
    two.index.take(batch, since)
    await two.catch_up_fully()
    assert (await two.facts("looked")).turns == 2
    assert two.index.progress().entries == 12
    await one.close()
    await two.close()


async def test_an_index_that_is_none_is_made_again(journal, tmp_path):
    await stories.looked(journal)
    first = RunReader(journal.path, cache=tmp_path / "cache")
    await first.close()
    (path,) = [each for each in (tmp_path / "cache").iterdir() if each.suffix == ".sqlite"]
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    again = RunReader(journal.path, cache=tmp_path / "cache")
    await again.catch_up_fully()
    assert (await again.facts("looked")).turns == 2
    await again.close()


async def test_the_newest_runs_are_there_before_the_index_is_whole(journal, monkeypatch):
    for number in range(6):
        await stories.looked(journal, f"run {number}")
    monkeypatch.setattr("rightcall.serve.studio.run_reader._BATCH", 30)
    reader = RunReader(journal)
    await reader.catch_up()
    assert not reader.index.progress().is_ready
    found = find(reader.index, RunFilter(), frozenset())
    assert [facts.run for facts in found.runs][:2] == ["run 5", "run 4"]
    assert (await reader.read("run 5")).version == 12
    await reader.catch_up_fully()
    found = find(reader.index, RunFilter(), frozenset())
    assert [facts.run for facts in found.runs] == [f"run {number}" for number in range(5, -1, -1)]
    assert {(facts.turns, facts.calls, facts.entries) for facts in found.runs} == {(2, 2, 12)}
    assert reader.index.progress().entries == 72
    assert [len(reader.index.places(facts.id)) for facts in found.runs] in ([1] * 6, [0] * 6)
    await reader.close()


async def test_a_run_of_a_conversation_is_seen_with_its_whole_history(journal):
    history: tuple = ()
    for number in range(4):
        agent = stories.agent((f"Answer {number}.",), journal=journal)
        result = await agent.run(f"Question {number}.", history=history, run=f"turn{number}")
        history = result.transcript
    reader = RunReader(journal.path)
    await reader.catch_up_fully()
    reading = await reader.read("turn3")
    assert reading.entries == tuple(journal.entries("turn3"))
    assert reading.start.messages == result.transcript[:-1]
    await reader.close()


async def test_a_line_of_too_many_brackets_is_damage_and_stops_nobody(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"a":' + b"[" * 100_000 + b"\n")
    with rc.record.JsonLinesJournal(path) as journal:
        await rc.Agent(ScriptedModel(["Hi."]), journal=journal).run("Go.", run="later")
        assert "later" in journal.runs()
    reader = RunReader(path)
    await reader.catch_up_fully()
    assert (await reader.row("later"))["state"] in ("ended", "failed")
    await reader.close()
