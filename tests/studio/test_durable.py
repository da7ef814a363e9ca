"""Durable runs in the studio: listed, shown and decided, while workers go on with them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rightcall as rc
from rightcall.cli.conversations import open_journal
from rightcall.errors import RunStopped, UsageError
from rightcall.serve.studio.runs_as_tools import RunTools
from rightcall.serve.studio.sources import source_of
from rightcall.testing import ScriptedModel, call, reply
from studio.kit import serving

pytest.importorskip("dbos")


@rc.tool(effect="write", approval=True)
def refund(order: int) -> str:
    """Refund an order."""
    return f"refunded {order}"


@rc.tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@rc.tool(effect="read")
def look(item: str) -> str:
    """Look something up."""
    return f"{item}: <script>3</script>"


def app_at(path: Path) -> rc.durable.App:
    both = reply(call("add", a=1, b=2), call("look", item="tea"))
    script = [both, reply(call("refund", order=17)), "Order 17 is refunded."]
    helper = rc.Agent(
        ScriptedModel([reply(call("add", a=2, b=2)), reply(call("refund", order=4)), "Helped."]),
        tools=[add, refund],
        name="helper",
    ).as_tool(description="Helps.")
    boss = ScriptedModel([reply(call("helper", task="Refund order 4")), "It is done."])
    agents = [
        rc.Agent(
            ScriptedModel(script * 2), tools=[refund, add, look], name="support", instructions="Be kind."
        ),
        rc.Agent(boss, tools=[helper], name="boss"),
        rc.Agent(ScriptedModel([reply(call("look", item="tea"))]), tools=[look], name="failing"),
    ]
    return rc.durable.App(f"sqlite:///{path}", agents)


async def waiting(app: rc.durable.App, agent: str, run: str) -> Any:
    return await (await app.submit(agent, f"Refund for {agent}", run=run)).result()


async def test_a_durable_run_is_shown_and_decided_from_the_studio(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    async with app_at(file) as app:
        await waiting(app, "support", "order-17")
        with pytest.raises(RunStopped):
            await waiting(app, "failing", "broken")
        async with serving(f"sqlite:///{file}", write=True) as studio:
            await studio.until("order-17", "paused")
            await studio.until("broken", "failed")
            rows = await studio.get("/api/runs", q="refund")
            assert {row["run"] for row in (*rows["live"], *rows["runs"])} == {"order-17", "broken"}
            (pending,) = (await studio.get("/api/pending"))["pending"]
            assert (pending["name"], pending["arguments"], pending["can_decide"]) == (
                "refund",
                {"order": 17},
                True,
            )
            decided = {"run": "order-17", "pause": pending["pause"]}
            allow = {pending["call_id"]: {"kind": "allow", "scope": "once"}}
            assert (await studio.post("/api/run/decide", {**decided, "decisions": allow}))[0] == 200
            await studio.until("order-17", "ended")
            shown = await studio.get("/api/run", run="order-17")
            text = str(shown["items"])
            assert "Order 17 is refunded." in text
            assert "refunded 17" in text
            sent = await studio.get("/api/run/sent", run="order-17", key="t3.model", form="anthropic")
            assert "Be kind." in str(sent)
            assert '"3"' in str(sent) or "'3'" in str(sent)

            deny = {pending["call_id"]: {"kind": "deny", "reason": "no"}}
            status, told = await studio.post("/api/run/decide", {**decided, "decisions": deny})
            assert (status, told["error"]["code"]) == (409, "already_decided")


async def test_a_call_that_waits_inside_an_agent_is_decided(tmp_path: Path) -> None:
    async with app_at(tmp_path / "runs.db") as app:
        await waiting(app, "boss", "b")
        async with serving(app, write=True) as studio:
            await studio.until("b", "paused")
            (pending,) = (await studio.get("/api/pending"))["pending"]
            assert (pending["name"], pending["arguments"]) == ("refund", {"order": 4})
            body = {
                "run": "b",
                "pause": pending["pause"],
                "decisions": {pending["call_id"]: {"kind": "allow"}},
            }
            assert (await studio.post("/api/run/decide", body))[1]["state"] == "resumed"
            await studio.until("b", "ended")
            assert (await app.result("b")).text == "It is done."


async def test_durable_runs_are_replayed_and_offered_to_agents(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    async with app_at(file) as app:
        paused = await waiting(app, "support", "order-17")
        await app.decide("order-17", {paused.pending[0].call_id: True})
        await app.result("order-17")
        async with serving(file, write=True) as studio:
            await studio.until("order-17", "ended")
            status, told = await studio.post("/api/run/replay", {"run": "order-17"})
            assert (status, told["same"]) == (200, True)
        runs = RunTools(str(file))
        assert "Order 17 is refunded." in await runs.show("order-17")
        await runs.close()


async def test_a_durable_run_is_forked_from_a_turn_and_its_agent_talked_to(tmp_path: Path) -> None:
    async with app_at(tmp_path / "runs.db") as app:
        paused = await waiting(app, "support", "order-17")
        await app.decide("order-17", {paused.pending[0].call_id: True})
        await app.result("order-17")
        async with serving(app, write=True) as studio:
            await studio.until("order-17", "ended")
            fork = {"run": "order-17", "before_turn": 2}
            status, told = await studio.post("/api/run/fork", fork)
            assert (status, told["state"]) == (200, "queued")
            await studio.until(told["run"], "paused")
            assert (await app.show(told["run"])).info.forked_from == "order-17/0"

            said = {"agent": "support", "prompt": "And now?", "after": "order-17"}
            status, told = await studio.post("/api/chat", said)
            assert status == 200
            assert (await app.result(told["run"])).text == "Order 17 is refunded."
            await studio.until(told["run"], "ended")
            shown = str((await studio.get("/api/run", run=told["run"]))["items"])
            assert "Refund for support" in shown, "it goes on from the run before"


@pytest.mark.parametrize(
    "change",
    [{"before_turn": None}, {"message": {"index": 0, "text": "x"}}, {"say": "x"}, {"model": "openai:x"}],
)
async def test_what_workers_cannot_fork_is_said(tmp_path: Path, change: dict[str, Any]) -> None:
    async with app_at(tmp_path / "runs.db") as app:
        await waiting(app, "support", "order-17")
        async with serving(app, write=True) as studio:
            await studio.until("order-17", "paused")
            fork = {"run": "order-17", "before_turn": 2, **change}
            status, told = await studio.post("/api/run/fork", fork)
            assert (status, told["error"]["code"]) == (400, "bad_request")
            assert "from before a turn, and with nothing changed" in told["error"]["message"]
            said = {"agent": "support", "prompt": "x", "model": "openai:x"}
            assert (await studio.post("/api/chat", said))[0] == 400


async def test_a_run_that_goes_on_elsewhere_is_seen_to_grow(tmp_path: Path) -> None:
    async with app_at(tmp_path / "runs.db") as app, serving(app) as studio:
        paused = await waiting(app, "support", "order-17")
        await studio.until("order-17", "paused")
        await app.decide("order-17", {paused.pending[0].call_id: False})
        await studio.until("order-17", "ended")
        await waiting(app, "support", "order-18")
        await studio.until("order-18", "paused")
        await app.cancel("order-18")
        assert (await studio.until("order-18", "failed"))["stop"]


@pytest.mark.parametrize("place", ["sqlite:///{}/none.db", "sqlite:///{}/journal.sqlite"])
def test_no_store_is_made_where_there_is_none(tmp_path: Path, place: str) -> None:
    journal = rc.record.SqliteJournal(tmp_path / "journal.sqlite")
    journal.close()
    before = (tmp_path / "journal.sqlite").read_bytes()
    with pytest.raises(UsageError, match="no store of durable runs"):
        source_of(place.format(tmp_path))
    assert (tmp_path / "journal.sqlite").read_bytes() == before
    assert not (tmp_path / "none.db").exists()


def test_a_password_is_not_shown() -> None:
    name = source_of("postgresql://bob:secret@host/runs").name
    assert name == "postgresql://host/runs"


async def test_a_store_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    async with app_at(file):
        pass
    with pytest.raises(UsageError, match="rightcall runs"), open_journal(str(file)):
        pass
    with closing(sqlite3.connect(file)) as database:
        assert not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'entries'").fetchall()
