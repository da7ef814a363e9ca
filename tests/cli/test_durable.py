"""``rightcall runs worker`` and ``rightcall runs``: durable runs from a shell."""

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import get_args

import pytest

import rightcall as rc
from cli.kit import command
from rightcall.cli.commands.runs import STATUSES
from rightcall.cli.main import main
from rightcall.durable.app import RunStatus

SHOP = '''
import rightcall as rc
from rightcall.core.message import Reply
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="write", approval=True)
def refund(order: int) -> str:
    """Refund an order."""
    return "refunded"


def said(request):
    is_first = not any(isinstance(message, Reply) for message in request.messages)
    return reply(call("refund", order=17)) if is_first else reply("It is refunded.")


support = rc.Agent(ScriptedModel(said), tools=[refund], name="support")
app = rc.durable.App("sqlite:///runs.db", agents=[support])
nothing = 3
'''
RUNS = "sqlite:///runs.db"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.delitem(sys.modules, "shop", raising=False)


def submitted(run: str) -> None:
    async def submit() -> None:
        async with rc.durable.App(RUNS) as app:
            await app.submit("support", "Refund order 17", run=run)

    asyncio.run(submit())


def until_status(run: str, status: str) -> None:
    async def look() -> None:
        async with rc.durable.App(RUNS) as app, asyncio.timeout(90):
            while (await app.show(run)).info.status != status:
                await asyncio.sleep(0.1)

    asyncio.run(look())


def until_waiting(capsys, run: str) -> None:
    for _ in range(100):
        capsys.readouterr()
        assert main(["runs", "list", RUNS, "--json", "--status", "waiting"]) == 0
        if run in [json.loads(line)["run"] for line in capsys.readouterr().out.splitlines()]:
            return
        time.sleep(0.5)
    raise AssertionError(f"{run} did not come to wait")


def test_a_run_is_worked_on_and_looked_after(shop, capsys):
    submitted("order-17")
    words = command("worker", "shop.py:app", "--concurrency", "3")
    worker = subprocess.Popen(words, stderr=subprocess.PIPE)
    try:
        until_waiting(capsys, "order-17")
        assert main(["runs", "show", RUNS, "order-17"]) == 0
        out = capsys.readouterr().out
        assert "waits for a yes: call_1_0  refund {'order': 17}" in out
        assert out.splitlines()[-1].endswith("0  t1.model")
        assert main(["runs", "approve", RUNS, "order-17", "call_9"]) == 2
        assert "waits for refund (call_1_0), and not for call_9" in capsys.readouterr().err
        assert main(["runs", "approve", RUNS, "order-17"]) == 0
        assert capsys.readouterr().err.splitlines() == [
            "order-17: refund (call_1_0) is approved",
            "order-17: queued again; a worker goes on with it",
        ]
        assert main(["runs", "approve", RUNS, "order-17", "call_1_0"]) == 0
        assert "answered so already" in capsys.readouterr().err
        assert main(["runs", "watch", "shop.py:app", "order-17"]) == 0
        seen = capsys.readouterr()
        assert seen.err.splitlines()[-1] == "order-17: end"
        assert seen.out == "It is refunded.\n"
        assert main(["runs", "approve", RUNS, "order-17"]) == 2
        assert "has no pending calls: it is done" in capsys.readouterr().err
        assert main(["runs", "watch", RUNS, "order-17"]) == 0
        assert capsys.readouterr().out == "It is refunded.\n", "of a run that was over, too"
        assert main(["watch", RUNS, "order-17"]) == 0
        assert capsys.readouterr().out == "It is refunded.\n", "by the command for journals, too"
        assert main(["watch", RUNS]) == 2
        assert "by its whole name" in capsys.readouterr().err
        assert main(["runs", "show", RUNS, "order-17"]) == 0
        assert capsys.readouterr().out.endswith("  1  t2.model\n\nIt is refunded.\n")
        assert main(["runs", "show", RUNS, "order-17", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["text"] == "It is refunded."
        assert main(["runs", "fork", RUNS, "order-17", "--at", "t1.model", "--new", "again"]) == 0
        until_waiting(capsys, "again")
        assert main(["runs", "deny", RUNS, "again", "call_1_0", "--reason", "no money"]) == 0
        assert "again: refund (call_1_0) is denied" in capsys.readouterr().err
        assert main(["runs", "watch", RUNS, "again", "--json"]) == 0
        last = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert last["event"] == {"type": "RunEnd", "stop": "end", "text": "It is refunded."}
        assert main(["runs", "cancel", RUNS, "again"]) == 1
        assert "is over already" in capsys.readouterr().err
        time.sleep(1.1)  # SQLite's clock counts whole seconds
        assert main(["runs", "gc", RUNS, "--older", "0"]) == 0
        assert capsys.readouterr().err == "2 runs forgotten\n"
    finally:
        worker.send_signal(signal.SIGTERM)
        _, said = worker.communicate(timeout=30)
    assert said.decode().splitlines() == [
        "rightcall: working on default at sqlite:///runs.db, with support; Ctrl-C ends it",
        (
            "rightcall: taking no more runs; waiting up to 30 s for those under way; "
            "Ctrl-C again leaves them to others now"
        ),
    ]
    assert worker.returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["worker", "shop.py:nothing"], "is not an rc.durable.App"),
        (["worker", "shop.py:gone"], "gone"),
        (["runs", "list", "shop.py:nothing"], "is not an rc.durable.App"),
        (["runs", "list", "runs.db"], "say sqlite:///runs.db for a file"),
        (["runs", "list", "mysql://x/y"], "names no engine"),
        (["runs", "list", "postgresql://me:secret@/runs?host=/nowhere"], "runs at postgresql:///runs"),
        (
            ["runs", "list", "sqlite:///shop.py"],
            "the runs at sqlite:///shop.py cannot be opened: file is",
        ),
        (["runs", "list", "sqlite:///"], "a database in memory"),
    ],
)
def test_what_cannot_be_done_is_told(shop, capsys, words, told):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") <= 2, "no traceback, and nothing of the engine's own"
    assert "secret" not in said


@pytest.mark.parametrize(
    "where", ["sqlite:///gone.db", "sqlite:///no/such/folder.db", "sqlite:///other.db"]
)
def test_looking_makes_nothing(shop, tmp_path, capsys, where):
    with closing(sqlite3.connect("other.db")) as other:
        other.execute("create table theirs (x)")
    before, theirs = sorted(tmp_path.rglob("*")), (tmp_path / "other.db").read_bytes()
    assert main(["runs", "list", where]) == 2
    assert f"there are no runs at {where}" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "other.db").read_bytes() == theirs


def test_an_odd_name_stays_on_its_line(shop, capsys):
    submitted("two\nlines")
    assert main(["runs", "list", RUNS]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["runs", "show", RUNS, "nobody"]) == 2
    assert "there is no run 'nobody'" in capsys.readouterr().err
    assert main(["runs", "gc", RUNS, "--older", "-1"]) == 2
    assert "--older is in days, 0 or more, and not -1" in capsys.readouterr().err


def test_a_cancelled_run_is_said_to_be(shop, capsys):
    submitted("order-18")
    assert main(["runs", "cancel", RUNS, "order-18"]) == 0
    assert capsys.readouterr().err == "order-18: cancelled\n"
    assert main(["runs", "show", RUNS, "order-18", "--json"]) == 0
    assert "text" not in json.loads(capsys.readouterr().out), "it has no answer"


def test_parked_runs_are_tried_again(shop, capsys):
    for name in ("order-19", "order-20"):
        submitted(name)
    with closing(sqlite3.connect("runs.db")) as database:
        database.execute(
            "update workflow_status set status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', queue_name = null,"
            " recovery_attempts = 7, executor_id = 'w1' where workflow_uuid = 'order-19/0'"
        )
        database.commit()
    assert main(["runs", "list", RUNS, "--status", "parked"]) == 0
    assert "7 processes died while they executed 'order-19', the last" in capsys.readouterr().out
    assert main(["runs", "retry", RUNS, "order-20", "order-19"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "rightcall: the run 'order-20' is queued, and only a parked one is retried",
        "order-19: queued again; a worker goes on with it",
    ]
    assert main(["runs", "list", RUNS, "--status", "queued", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["runs", "retry", RUNS, "order-21"]) == 1
    assert "there is no run 'order-21'" in capsys.readouterr().err


def test_every_status_can_be_asked_for():
    assert get_args(RunStatus) == STATUSES


SLOW = """
import asyncio
from pathlib import Path
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(effect="read")
async def look() -> str:
    "Look for long."
    Path("begun").touch()
    await asyncio.sleep(60)


slow = rc.Agent(ScriptedModel(lambda request: reply(call("look"))), tools=[look], name="support")
app = rc.durable.App("sqlite:///runs.db", agents=[slow])
"""


def test_a_second_interrupt_leaves_runs_to_others_at_once(shop, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    submitted("slow")
    # It would wait for longer than this test does.
    words = command("worker", "slow.py:app", "--patience", "900")
    worker = subprocess.Popen(words, stderr=subprocess.PIPE)
    try:
        while not (tmp_path / "begun").exists():
            assert worker.poll() is None
            time.sleep(0.05)
        worker.send_signal(signal.SIGINT)
        assert worker.stderr is not None
        for line in worker.stderr:
            if b"taking no more" in line:
                break
        worker.send_signal(signal.SIGINT)
        assert worker.wait(90) == 0
    finally:
        worker.kill()
        worker.communicate()
    until_status("slow", "queued")
