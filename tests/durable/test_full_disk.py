"""A disk that is full for a while: runs wait for room, and none fails of it."""

import asyncio
import logging
import sqlite3

import pytest
import sqlalchemy as sa

import rightcall as rc
from durable import cast
from durable.conftest import until
from rightcall.core.message import Reply
from rightcall.durable import database
from rightcall.testing import ScriptedModel, call, reply

LONG = 300_000


@pytest.fixture
def disk(monkeypatch):
    """Every SQLite connection of an app; full once ``disk["full"]`` is set."""
    state, made = {"full": False}, database._sqlite

    def bounded(url):
        opened = made(url)

        @sa.event.listens_for(opened.engine, "checkout")
        def bound(connection, *_):
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={pages if state['full'] else 2**30}")

        return opened

    monkeypatch.setattr(database, "_sqlite", bounded)
    monkeypatch.setattr(database, "PAUSE", 0.05)
    return state


def agent(disk):
    @rc.tool(effect="read")
    def fill() -> str:
        """Give a long text, and fill the disk."""
        disk["full"] = True
        return "x" * LONG

    @rc.tool(effect="write")
    def pay() -> str:
        """Pay."""
        cast.log("pay")
        return "paid"

    def answer(request: rc.models.Request) -> Reply:
        # By what was said in that very run: two of them ask in no order.
        turns = [reply(call("fill")), reply(call("pay")), reply("y" * LONG)]
        asked = request.messages[0]
        return turns[len(request.messages) // 2] if "fill it" in str(asked) else reply("Done.")

    return rc.Agent(ScriptedModel(answer), tools=[fill, pay], name="worker")


async def test_a_run_waits_for_room_and_does_nothing_twice(tmp_path, run, disk, caplog):
    with caplog.at_level(logging.WARNING, "rightcall"):
        address = f"sqlite:///{tmp_path / 'runs.db'}"
        async with rc.durable.App(address, agents=[agent(disk)]) as app:
            handle = await app.submit("worker", "fill it", run=run)
            await until(lambda: "is full; waiting until there is room" in caplog.text)
            await asyncio.sleep(0.3)
            assert (await app.show(run)).info.status == "running"
            submitting = asyncio.create_task(app.submit("worker", "z" * LONG, run=f"{run} too"))
            await asyncio.sleep(0.2)
            assert not submitting.done(), "it waits like everybody else"
            disk["full"] = False
            result = await handle.result()
            await (await submitting).result()
    assert result.text == "y" * LONG
    assert cast.logged() == ["pay"]
    assert caplog.text.count("is full; waiting") < 4, "said once by each who waits, and not at every try"


async def test_a_cancel_waits_for_room_too(tmp_path, run, disk, monkeypatch):
    async with rc.durable.App(f"sqlite:///{tmp_path / 'runs.db'}") as app:
        await app.submit("worker", "nobody takes it", run=run)
        client, tries = app._engine._client, []
        cancel = client.cancel_workflows

        def full_at_first(*given, **options):
            tries.append(given)
            if len(tries) < 3:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise sa.exc.OperationalError("update", {}, error)
            return cancel(*given, **options)

        monkeypatch.setattr(client, "cancel_workflows", full_at_first)
        assert await app.cancel(run)
        assert (len(tries), (await app.show(run)).info.status) == (3, "cancelled")


async def test_another_error_of_the_database_is_not_waited_for():
    # Another thread writes: a pool would keep its connection, which only that thread may close.
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.NullPool)

    def write() -> None:
        with engine.begin() as connection:
            connection.execute(sa.text("insert into nowhere values (1)"))

    with pytest.raises(sa.exc.OperationalError, match="no such table"):
        await database.when_there_is_room(write)
    engine.dispose()
