"""``rightcall studio`` and ``rightcall runs watch``, as processes."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

import rightcall as rc
from cli.kit import command, environment, within
from rightcall.core.entry import CallFinished, RequestSent, RunEnded, RunResumed
from studio import stories

AGENT = """
import sys
sys.path.insert(0, {tests!r})
from studio import stories
shop = stories.agent(("Paid.",))
"""


@pytest.fixture
def journal(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        yield journal


async def test_a_studio_starts_with_an_agent_and_ends_at_ctrl_c(journal, tmp_path):
    await stories.paused(journal)
    (tmp_path / "shop.py").write_text(AGENT.format(tests=str(Path(__file__).parents[1])))
    process = subprocess.Popen(
        [
            *command(),
            "studio",
            "--journal",
            "runs.sqlite",
            "--agent",
            "shop.py:shop",
            "--write",
            "--no-open",
        ],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    try:
        line = await asyncio.to_thread(process.stderr.readline)
        address = line.split()[-1]
        assert line.startswith("rightcall: the studio is at http://127.0.0.1:")
        async with aiohttp.ClientSession() as session, session.get(f"{address}api/session") as response:
            told = await response.json()
        assert (told["journal"], told["can_write"], told["agents"]) == ("runs.sqlite", True, ["shop"])
        async with aiohttp.ClientSession() as session, session.get(f"{address}api/pending") as response:
            assert (await response.json())["count"] == 1
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 15) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert list((tmp_path / ".cache" / "rightcall" / "studio").iterdir()), "the index is kept"


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        (["--journal", "none.sqlite"], "there is no journal none.sqlite"),
        (["--journal", "runs.txt"], "must end in .jsonl, .sqlite or .db"),
        ([], "ask and chat have kept nothing yet"),
        (["--journal", "runs.sqlite", "--host", "0.0.0.0"], "under which name"),
        (["--journal", "runs.sqlite", "--port", "99999"], "cannot listen"),
    ],
)
def test_what_cannot_be_shown_is_said_so(journal, tmp_path, monkeypatch, words, trouble):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    ran = within(tmp_path, "studio", "--no-open", *words)
    assert (ran.code, trouble in ran.err) == (2, True), ran.err


def test_a_run_that_is_over_is_shown_with_its_answer(journal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asyncio.run(stories.looked(journal))
    ran = within(tmp_path, "watch", "runs.sqlite", "look")
    assert (ran.code, ran.out) == (0, "Both are there.\n")
    assert 'call: look {"what":"tea"}' in ran.err
    assert "returned: look" in ran.err


def test_a_run_that_was_resumed_after_its_end_is_over(journal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asyncio.run(stories.looked(journal))
    journal.append("looked", RunResumed(decisions={}))
    ran = within(tmp_path, "watch", "runs.sqlite", "look")
    assert (ran.code, ran.out) == (0, "Both are there.\n")


def test_a_run_that_waits_is_shown_with_what_it_waits_for(journal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asyncio.run(stories.paused(journal))
    ran = within(tmp_path, "watch", "runs.sqlite")
    assert ran.code == 1
    assert "The model wants to run pay with\n  | amount: 120" in ran.err


async def test_a_run_is_watched_while_it_goes_on(journal, tmp_path):
    await stories.looked(journal, "whole")
    entries = journal.entries("whole")
    at = next(n for n, entry in enumerate(entries) if isinstance(entry, CallFinished))
    for entry in entries[:at]:
        journal.append("grows", entry)
    process = subprocess.Popen(
        command("watch", "runs.sqlite", "grows"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    try:
        seen = ""
        while "cake" not in seen or "call: look" not in seen:
            seen += await asyncio.to_thread(process.stderr.readline)
        assert "returned" not in seen
        for entry in entries[at:]:
            journal.append("grows", entry)
        out, err = await asyncio.to_thread(process.communicate, None, 20)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out) == (0, "Both are there.\n")
    assert "returned: look" in err
    assert isinstance(entries[-1], RunEnded)
    assert isinstance(entries[1], RequestSent)


def test_help_loads_nothing_heavy(tmp_path):
    code = "import sys; from rightcall.cli.main import main\n"
    code += "try: main(['studio', '--help'])\nexcept SystemExit: pass\n"
    code += (
        "print([name for name in ('starlette', 'uvicorn', 'rightcall.agent') if name in sys.modules])"
    )
    env = {**os.environ, "COLUMNS": "100"}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert told.stdout.endswith("[]\n")
