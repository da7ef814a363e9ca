"""How clients break when a server is careless, and that the gateway is not, whatever its vendor does.

What clients themselves send that is out of the ordinary comes with the rows of the task: messages of
role system (Claude Code, under a name that it does not know), tools in an item of the input (Codex,
gpt-5.6), signatures that are fillers (Gemini CLI), /v1 and /v1beta (Google's SDKs for Python and Node),
snake case and camel case (aider, Google's SDK for Python).
"""

import http.client
import os
from dataclasses import replace

import pytest

from clients.drive import Row
from clients.rows import DIALECTS, SDKS
from clients.scripts import Overflowing, first
from clients.upstream.exchange import Fault, Reply

if "RIGHTCALL_CLIENTS" not in os.environ:
    # A thousand rows that would be skipped one by one are not collected.
    pytest.skip("other people's clients are driven by: make test WHAT=clients", allow_module_level=True)

CLAUDE = Row("claude", "messages")
CODEX = Row("codex", "responses")
GEMINI_CLI = Row("gemini-cli", "gemini", "gemini-2.5-pro")
OPENCODE = [Row("opencode", dialect) for dialect in DIALECTS]
AGENTS = [CLAUDE, CODEX, GEMINI_CLI, *OPENCODE]
STREAMED = [row for row in SDKS if row.streamed]
TURNS = 3
"""Requests with tools that the task takes."""

by_every_dialect = pytest.mark.parametrize("way", DIALECTS)


def translated(rows):
    """Each row by the three dialects that are not its own."""
    pairs = [(row, way) for row in rows for way in DIALECTS if way != row.dialect]
    return pytest.mark.parametrize(("row", "way"), pairs, ids=str)


def before_the_task(said):
    """The task, after one other answer."""
    return lambda task: first(said, task)


def slowly(task):
    """The task by a vendor that thinks for longer than the gateway keeps quiet."""
    return lambda asked: replace(task(asked), silence=3.2) if len(asked.results) == 1 else task(asked)


def strangely(task):
    return lambda asked: replace(task(asked), strange=True)


@by_every_dialect
def test_ids_that_come_again_do_not_send_claude_in_circles(way, attempt):
    tried = attempt(CLAUDE, way, repeat_ids=True, exact=False)
    tried.assert_done()
    assert len(tried.asked) == TURNS, str(tried)


@by_every_dialect
@pytest.mark.parametrize("row", [*AGENTS, *STREAMED], ids=str)
def test_a_wait_is_bridged_by_what_the_client_takes(row, way, attempt):
    tried = attempt(row, way, slowly)
    tried.assert_done()
    assert len(tried.asked) == TURNS, str(tried)


@translated([*AGENTS, *STREAMED])
def test_what_nobody_has_heard_of_reaches_no_client(row, way, attempt):
    tried = attempt(row, way, strangely)
    tried.assert_done()
    assert len(tried.asked) == TURNS, str(tried)


@by_every_dialect
@pytest.mark.parametrize("row", STREAMED, ids=str)
def test_a_stream_that_breaks_off_is_an_error(row, way, attempt):
    tried = attempt(row, way, lambda _: lambda asked: Reply("I write the file, and then", events=5))
    assert tried.done.status != 0 or "error" in tried.done.said, str(tried)
    assert len(tried.vendor.exchanges) == 1, str(tried)


@by_every_dialect
@pytest.mark.parametrize("row", [CLAUDE, CODEX, *OPENCODE[:2]], ids=str)
def test_an_agent_asks_again_when_a_stream_broke_off(row, way, attempt):
    tried = attempt(row, way, before_the_task(Reply("I write the file, and then", events=5)))
    tried.assert_done()
    assert len(tried.asked) <= 2 * TURNS, str(tried)


@by_every_dialect
@pytest.mark.parametrize("row", [*OPENCODE[2:], GEMINI_CLI], ids=str)
def test_an_agent_that_does_not_ask_again_says_that_a_stream_broke_off(row, way, attempt):
    """opencode takes an error event of Messages for final, and Gemini CLI a cut connection."""
    tried = attempt(row, way, before_the_task(Reply("I write the file, and then", events=5)))
    assert tried.task.done() or tried.done.status != 0, str(tried)
    assert len(tried.asked) <= 2 * TURNS, str(tried)


@by_every_dialect
def test_codex_goes_on_after_a_429_that_names_no_time(way, attempt):
    # Three: the gateway itself tries twice.
    refusals = before_the_task(Fault(429, "Rate limit reached."))
    tried = attempt(CODEX, way, lambda task: first(Fault(429, "Slow down."), refusals(task)))
    tried.assert_done()


@by_every_dialect
@pytest.mark.parametrize("row", [CLAUDE, *OPENCODE], ids=str)
def test_a_full_context_is_compacted(row, way, attempt):
    scripts = []

    def full(task):
        scripts.append(Overflowing(task, way))
        return scripts[0]

    tried = attempt(row, way, full)
    tried.assert_done()
    assert scripts[0].compacts, str(tried)


@by_every_dialect
@pytest.mark.parametrize("row", [CODEX, GEMINI_CLI], ids=str)
def test_a_full_context_is_said_where_nothing_is_compacted(row, way, attempt):
    tried = attempt(row, way, lambda task: Overflowing(task, way))
    words = {"codex": "context window", "gemini-cli": "token"}[row.client]
    assert words in tried.done.output + tried.done.errors, str(tried)
    assert tried.done.status != 0, str(tried)
    assert len(tried.asked) == 2, str(tried)


def test_a_websocket_is_refused_so_that_codex_goes_on_at_once(gateways):
    _, _, address = gateways("chat").url.partition("//")
    connection = http.client.HTTPConnection(address, timeout=10)
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    connection.request("GET", "/v1/responses", headers={**headers, "sec-websocket-key": "eA=="})
    assert connection.getresponse().status == 426
    connection.close()
