"""Results as large as a tool may give them, recorded without secrets and labelled: the loop turns."""

import json
import os
import time

import pytest

import rightcall as rc
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Result, Text
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust import Rules
from watchdog import BUSIEST, LONGEST, LONGEST_HELD, hold_of, stall_of, work_of

ROW = {"api_key_name": "key-17", "id": 17, "email": "u17@example.com", "note": "the token of the day"}
ROWS = [{**ROW, "id": number} for number in range(560)]
LINE = "user=x password=hunter2 line of text, api_key=abc, mail a@b.example or call +49 30 123456;\n"
VALUES = {
    "rows": ROWS,
    "rows as text": json.dumps(ROWS),
    "prose": (LINE * 800)[: 64 * 1024],
    "a long text": LINE * 200_000,
    "a picture": b"\x89PNG\r\n\x1a\n" + os.urandom(5_000_000),
    "a file of text": (LINE * 12_000).encode(),
}


@pytest.mark.parametrize("kind", [JsonLinesJournal, SqliteJournal])
@pytest.mark.parametrize("name", VALUES)
async def test_a_large_result_is_recorded_and_labelled_and_the_loop_turns(name, kind, tmp_path):
    @rc.tool(effect="read")
    async def read() -> object:
        return VALUES[name]

    async def scenario() -> None:
        with kind(tmp_path / "journal") as journal:
            model = ScriptedModel([reply(call("read")), "Done."])
            agent = rc.Agent(model, [read], journal=journal, trust=Rules())
            result = await agent.run("Go.")
            assert (result.text, result.calls[0].result.outcome) == ("Done.", "returned")
            runs.append(result.run)

    runs: list[str] = []
    assert await stall_of(scenario) < LONGEST
    with kind(tmp_path / "journal") as journal:
        assert "hunter2" not in str(journal.entries(runs[0]))


FACTS = {
    "a system's": rc.Facts(untrusted=False, private=True, reach="user", targets=()),
    "outsiders'": rc.Facts(untrusted=True, private=True, reach="user", targets=()),
    "partly outsiders'": rc.Facts(untrusted=("note",), private=True, reach="user", targets=()),
}


CASES = [(name, whose, 64 * 1024) for name in ("rows", "prose") for whose in FACTS]


@pytest.mark.parametrize(("name", "whose", "size"), [*CASES, ("prose", "outsiders'", 1024 * 1024)])
async def test_to_label_and_record_a_result_is_no_work_of_the_loop(name, whose, size, tmp_path):
    times = size // (64 * 1024)

    @rc.tool(effect="read", facts=FACTS[whose], limits=rc.Limits(max_output_bytes=size))
    async def read() -> object:
        """What there is."""
        return VALUES[name] * times  # type: ignore[operator]

    async def scenario() -> None:
        with JsonLinesJournal(tmp_path / "journal") as journal:
            model = ScriptedModel([reply(call("read")), "Done."])
            agent = rc.Agent(model, [read], journal=journal, trust=Rules())
            assert (await agent.run("Go.")).text == "Done."

    assert await work_of(scenario, tries=4) < BUSIEST


async def test_a_long_history_is_recorded_and_labelled_and_the_loop_turns(tmp_path):
    history: list[object] = []
    for turn in range(500):
        asked = rc.Call(id=f"c{turn}", name="read", arguments="{}")
        shown = Result(call_id=asked.id, name="read", outcome="returned", content=(Text(LINE * 6),))
        history += [
            user_text(f"Question {turn}?"),
            Reply((asked,), "calls"),
            Results((shown,)),
            reply("So."),
        ]

    @rc.tool(effect="read")
    async def read() -> str:
        return ""

    async def scenario() -> None:
        with SqliteJournal(tmp_path / "journal.db") as journal:
            agent = rc.Agent(ScriptedModel(["Done."]), [read], journal=journal, trust=Rules())
            assert (await agent.run("Go.", history=history)).text == "Done."

    assert await stall_of(scenario) < LONGEST


def people(size: int) -> list[dict[str, object]]:
    """So many characters of what a database knows of people, as JSON."""
    rows: list[dict[str, object]] = []
    while size > 0:
        number = len(rows)
        row: dict[str, object] = {
            "id": number,
            "name": f"Person {number} Adams",
            "email": f"u{number}@example{number % 7}.com",
            "iban": f"GB{10**19 + number * 7919}",
            "amount": number * 1.25,
            "date": f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}",
            "note": f"paid by card, thanks; see https://shop.example/o/{number}",
        }
        rows.append(row)
        size -= len(json.dumps(row))
    return rows


def table(size: int) -> str:
    """The same as lines of values with commas between them."""
    lines = [",".join(map(str, row.values())) for row in people(size * 2)]
    return "\n".join(lines)[:size]


def reading(value: object, facts: rc.Facts = FACTS["a system's"], prompt: str = "Go."):
    """A run that reads a value under trust rules, and then acts."""

    @rc.tool(effect="read", facts=facts, limits=rc.Limits(max_output_bytes=1024 * 1024))
    async def read() -> object:
        """What there is."""
        return value

    @rc.tool(facts=rc.Facts(untrusted=False, private=False, reach="outside", targets=("to",)))
    async def send(to: str) -> str:
        """Send."""
        return to

    async def scenario() -> None:
        script = [reply(call("read")), reply(call("send", to="u1@example1.com")), "Done."]
        agent = rc.Agent(ScriptedModel(script), [read, send], trust=Rules(otherwise="deny"))
        assert (await agent.run(prompt)).text == "Done."

    return scenario


READ = {
    **{f"JSON that is {whose}": reading(people(237_000), FACTS[whose]) for whose in FACTS},
    **{f"a table that is {whose}": reading(table(113_000), FACTS[whose]) for whose in FACTS},
}


@pytest.mark.parametrize("name", READ)
async def test_while_much_is_read_under_trust_rules_others_have_their_turn(name):
    # What is loaded with the first run is not the run's.
    await reading("ok")()
    assert await work_of(READ[name], tries=4) < BUSIEST
    assert await hold_of(READ[name]) < LONGEST_HELD


async def test_while_a_long_table_in_the_prompt_is_read_others_have_their_turn():
    scenario = reading("ok", prompt=f"Write to u1@example1.com:\n{table(360_000)}")
    assert await hold_of(scenario, tries=3) < LONGEST_HELD


@pytest.mark.parametrize("whose", FACTS)
@pytest.mark.parametrize("make", [people, table])
async def test_what_is_three_times_as_long_takes_about_three_times_as_long(make, whose):
    async def seconds(size: int) -> float:
        scenario = reading(make(size), FACTS[whose])
        taken = []
        for _ in range(3):
            begun = time.process_time()
            await scenario()
            taken.append(time.process_time() - begun)
        return min(taken)

    await seconds(1000)
    assert await seconds(150_000) < 6 * await seconds(50_000)
