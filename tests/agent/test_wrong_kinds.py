"""What newcomers hand over in place of the right thing, and the words they are told."""

from pathlib import Path
from typing import Any

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool(approval=True)
def pay(euros: int) -> str:
    """Pay."""
    return "paid"


async def paused() -> tuple[rc.Agent, rc.RunResult]:
    agent = rc.Agent(ScriptedModel([reply(call("pay", euros=4)), "Done."]), [pay])
    return agent, await agent.run("Pay.")


async def test_a_bare_yes_is_no_decision():
    agent, waiting = await paused()
    with pytest.raises(rc.errors.UsageError, match=r"by call id, as in \{call_id: True\}.* type bool"):
        await agent.resume(waiting, True)  # type: ignore[arg-type]


async def test_a_runs_name_is_no_result():
    agent, waiting = await paused()
    with pytest.raises(rc.errors.UsageError, match="takes a RunResult that waits, not a str"):
        await agent.resume(waiting.run, {"x": True})  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["runs.jsonl", Path("runs.jsonl")])
async def test_a_path_is_no_journal(path: Any):
    with pytest.raises(rc.errors.UsageError, match=r"rc\.record\.JsonLinesJournal\('runs\.jsonl'\)"):
        await rc.replay(path, "a")


def test_a_path_is_no_agents_journal():
    with pytest.raises(rc.errors.UsageError, match=r'as in rc\.record\.SqliteJournal\("runs\.db"\)'):
        rc.Agent(ScriptedModel([]), journal="runs.db")  # type: ignore[arg-type]


def test_a_file_is_no_group_of_servers():
    with pytest.raises(rc.errors.UsageError, match=r"rc\.mcp\.load_config\(file\) reads them"):
        rc.mcp.connect_all("mcp.json")  # type: ignore[arg-type]


async def test_a_result_is_no_transcript():
    agent, waiting = await paused()
    with pytest.raises(rc.errors.UsageError, match=r"as in result\.transcript, and not RunResult"):
        rc.wire.to_messages(waiting, "openai_chat")  # type: ignore[arg-type]
    with pytest.raises(rc.errors.UsageError, match=r"history=result\.transcript; an empty one is \(\)"):
        await agent.run("More.", history=waiting)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"{}", "nope", b""])
def test_other_json_is_no_result(data: Any):
    with pytest.raises(rc.errors.UsageError, match=r"not what RunResult.to_json wrote: "):
        rc.RunResult.from_json(data)


async def test_messages_are_no_prompt():
    with pytest.raises(rc.errors.UsageError, match="not dict; earlier messages go into history="):
        await rc.Agent(ScriptedModel(["Hi"])).run(["Hi", {"role": "user", "content": "Hi"}])


def test_an_agent_is_no_tool_as_it_is():
    inner = rc.Agent(ScriptedModel([]), name="inner")
    with pytest.raises(rc.errors.DeclarationError, match=r"becomes a tool by as_tool\(\)"):
        rc.Agent(ScriptedModel([]), [inner])  # type: ignore[list-item]


def test_a_hook_has_one_of_four_names():
    with pytest.raises(rc.errors.UsageError, match=r'rc\.Hooks takes no "before_tools" \(did you mean'):
        rc.Hooks(before_tools=print)  # type: ignore[call-arg]


def test_tries_of_a_connection_are_its_retry():
    with pytest.raises(
        rc.errors.UsageError, match=r"retry=rc\.models\.Retry\(attempts=…\) of rc\.connect"
    ):
        rc.connect("http://localhost:1/v1|m", max_retries=5)  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [["Be brief.", "Be kind."], 3, b"Be brief.", {"role": "system"}])
def test_instructions_are_a_text_or_a_function(given: Any):
    with pytest.raises(rc.errors.UsageError, match="instructions must be text or a function or None"):
        rc.Agent(ScriptedModel([]), (), given)


@pytest.mark.parametrize("given", ["You are helpful", b"You are helpful"])
def test_instructions_in_the_place_of_tools_are_told_of_their_own(given: Any):
    with pytest.raises(rc.errors.UsageError, match=r"told is instructions=b?'You are helpful'"):
        rc.Agent(ScriptedModel([]), given)


@pytest.mark.parametrize("prompt", ["", "  \n", []])
async def test_a_prompt_that_says_nothing_is_refused_where_nothing_was_said_before(prompt):
    with pytest.raises(rc.errors.UsageError, match="the prompt is empty: it is what the user says"):
        await rc.Agent(ScriptedModel([])).run(prompt)
    result = await rc.Agent(ScriptedModel(["Go on."])).run(
        prompt, history=[{"role": "user", "content": "Hi."}]
    )
    assert result.text == "Go on."
