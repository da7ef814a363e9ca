"""What the command line says of what went wrong, and how much more of it with ``--verbose``."""

import json
import logging
import re

import pytest

from cli.kit import Terminal, run
from request.server import serving, streamed, whole
from rightcall.cli.main import main

TOOLS = '''
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool
def look() -> str:
    """Look."""
    raise ValueError("no account 7 \\x1b[2J")


model = ScriptedModel([reply(call("look")), "Done."])
'''
RAISED = "rightcall: look raised ValueError: no account 7 ␛[2J"


@pytest.fixture
def tools(home):
    (home / "broken.py").write_text(TOOLS)
    return home


def ask(*options):
    return main(["ask", "--model", "broken.py:model", "--tool", "broken.py", *options, "Go."])


def test_a_tool_that_raised_is_one_line(tools, capsys):
    assert ask() == 0
    said = capsys.readouterr()
    assert said.out == "Done.\n"
    assert RAISED in said.err.splitlines()
    assert "Traceback" not in said.err


def test_verbose_tells_turns_calls_and_tracebacks(tools, capsys):
    assert ask("-v") == 0
    said = capsys.readouterr()
    assert said.out == "Done.\n"
    assert RAISED in said.err.splitlines()
    for words in ("Traceback (most recent call last):", "look: failed in", ": ended with end"):
        assert words in said.err
    assert "\x1b" not in said.err


@pytest.mark.parametrize(("options", "shown"), [(["--quiet"], False), (["--quiet", "--verbose"], True)])
def test_quiet_is_quiet_unless_more_is_asked_for(tools, capsys, options, shown):
    assert ask(*options) == 0
    lines = capsys.readouterr().err.splitlines()
    assert (RAISED in lines) is shown
    assert shown or lines == []


def test_the_log_is_left_as_it_was(tools):
    logger = logging.getLogger("rightcall")
    before = (logger.level, list(logger.handlers))
    ask("-vv")
    assert (logger.level, logger.handlers) == before


def test_call_shows_what_was_raised_once(tools, capsys):
    assert main(["call", "broken.py", "look"]) == 1
    said = capsys.readouterr()
    assert said.err.count("ValueError: no account 7") == 1
    assert main(["call", "-v", "broken.py", "look"]) == 1
    assert "look: failed in" in capsys.readouterr().err


BUSY = whole(b'{"error": {"message": "Busy"}}', 429, retry_after="0.01", x_request_id="req_1")
OK = streamed(b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n')
RETRYING = re.compile(
    r"rightcall: 127\.0\.0\.1: HTTP 429: Busy \(retry after 0\.01 s; request req_1\); "
    r"retrying in \d\.\d s \(attempt 2 of 4\)"
)


async def asked(home, *options):
    import asyncio  # noqa: PLC0415

    async with serving(BUSY, OK) as server:
        name = f"{server.url}/v1|m"
        return await asyncio.to_thread(run, home, "ask", "--model", name, *options, "Go.")


async def test_a_request_that_is_sent_again_is_a_line(home):
    ran = await asked(home)
    assert (ran.code, ran.out) == (0, "Hi\n")
    assert RETRYING.search(ran.err)


async def test_debug_tells_requests(home):
    ran = await asked(home, "-vv")
    assert re.search(
        r"rightcall: POST http://127\.0\.0\.1:\d+/v1/chat/completions: model m, 1 messages", ran.err
    )
    assert "HTTP 429, request req_1" in ran.err


async def test_programs_get_it_as_an_event(home):
    ran = await asked(home, "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    (told,) = [each for each in events if each["event"] == "retry_start"]
    assert (told["attempt"], told["kind"]) == (2, "rate_limit")
    assert told["reason"] == "127.0.0.1: HTTP 429: Busy (retry after 0.01 s; request req_1)"
    assert told["seconds"] > 0


def test_a_line_does_not_tear_what_a_terminal_shows(tools):
    with Terminal(tools, "ask", "--model", "broken.py:model", "--tool", "broken.py", "Go.") as terminal:
        assert terminal.end() == 0
        shown = terminal.text
    assert "look raised ValueError: no account 7" in shown
    assert "Done." in shown
