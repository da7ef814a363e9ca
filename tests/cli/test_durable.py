"""``rightcall worker`` and ``rightcall runs``: durable runs from a shell."""

import asyncio
import json
import signal
import subprocess
import sys
import time

import pytest

import rightcall as rc
from cli.kit import COMMAND
from rightcall.cli.main import main

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
    command = [*COMMAND, "worker", "shop.py:app", "--concurrency", "3"]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        until_waiting(capsys, "order-17")
        assert main(["runs", "show", RUNS, "order-17"]) == 0
        out = capsys.readouterr().out
        assert "waits for a yes: call_1_0  refund {'order': 17}" in out
        assert out.splitlines()[-1].endswith("0  t1.model")
        assert main(["runs", "approve", RUNS, "order-17"]) == 0
        assert main(["runs", "watch", "shop.py:app", "order-17"]) == 0
        assert capsys.readouterr().err.splitlines()[-1] == "order-17: end"
        assert main(["runs", "fork", RUNS, "order-17", "--at", "t1.model", "--new", "again"]) == 0
        until_waiting(capsys, "again")
        assert main(["runs", "deny", RUNS, "again", "call_1_0", "--reason", "no money"]) == 0
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
        "rightcall: taking no more runs; waiting up to 30 s for those under way",
    ]
    assert worker.returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["worker", "shop.py:nothing"], "is not an rc.durable.App"),
        (["worker", "shop.py:gone"], "gone"),
        (["runs", "list", "shop.py:nothing"], "is not an rc.durable.App"),
        (["runs", "show", RUNS, "nobody"], "there is no run 'nobody'"),
        (["runs", "list", "mysql://x/y"], "names no engine"),
    ],
)
def test_what_cannot_be_done_is_told(shop, capsys, words, told):
    assert main(words) == 2
    assert told in capsys.readouterr().err
