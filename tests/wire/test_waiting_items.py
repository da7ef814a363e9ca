"""Items of Responses that wait for the client: none ends a run, and each gets the answer it wants."""

import json
from importlib import import_module

import pytest
from pydantic import TypeAdapter

import rightcall as rc
from request.server import serving, streamed
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.transport.http import HttpTransport
from rightcall.wire import openai_responses as dialect
from wire.openai_responses.test_decode import CREATED, added, completed, done, message_item, sse
from wire.recorded import assert_events_tell_the_reply, reply_of, same_at_every_cut

NAME = dialect.name
APPROVAL = {
    "id": "mcpr_1",
    "type": "mcp_approval_request",
    "server_label": "wiki",
    "name": "ask",
    "arguments": '{"question":"why?"}',
}
LOCAL = {
    "id": "lsh_1",
    "type": "local_shell_call",
    "call_id": "c1",
    "status": "completed",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
}
SEARCH = {
    "id": "tsc_1",
    "type": "tool_search_call",
    "call_id": "c1",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "weather"},
}
FUNCTION = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "c1",
    "status": "completed",
    "name": "look",
    "arguments": "{}",
    "caller": {"type": "program", "caller_id": "prog_1"},
}
WEATHER = {"type": "function", "name": "weather", "parameters": {}, "strict": False}
OPEN = {"type": "object", "properties": {}}


def streams(item: dict) -> bytes:
    return sse(CREATED, added(0, item), done(0, item), completed(item))


def native(kind: str) -> Spec:
    definition = {"type": kind, **({"execution": "client"} if kind == "tool_search" else {})}
    return Spec(name=kind, description="", parameters=OPEN, native={NAME: definition})


def check_with_sdk(item: dict) -> None:
    """One of the input items that the vendor's SDK knows, and no other member than it has."""
    types = import_module("openai.types.responses.response_input_item_param")
    names = {
        "mcp_approval_response": "McpApprovalResponse",
        "local_shell_call_output": "LocalShellCallOutput",
        "tool_search_output": "ResponseToolSearchOutputItemParamParam",
        "function_call_output": "FunctionCallOutput",
    }
    declared = getattr(types, names[item["type"]])
    TypeAdapter(declared).validate_python(item)
    assert item.keys() <= declared.__annotations__.keys() | {"call_id"}


ITEMS = {
    "approval": (
        APPROVAL,
        "mcp_approval_request",
        {"server": "wiki", "tool": "ask", "arguments": {"question": "why?"}},
        "approved",
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ),
    "no approval": (
        APPROVAL,
        "mcp_approval_request",
        {"server": "wiki", "tool": "ask", "arguments": {"question": "why?"}},
        "not today",
        {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            "approve": False,
            "reason": "not today",
        },
    ),
    "local shell": (
        LOCAL,
        "local_shell",
        LOCAL["action"],
        "a.txt",
        {"type": "local_shell_call_output", "call_id": "c1", "id": "c1", "output": "a.txt"},
    ),
    "tool search": (
        SEARCH,
        "tool_search",
        {"query": "weather"},
        json.dumps([WEATHER]),
        {
            "type": "tool_search_output",
            "call_id": "c1",
            "execution": "client",
            "status": "completed",
            "tools": [WEATHER],
        },
    ),
    "a program's call": (
        FUNCTION,
        "look",
        {},
        "sun",
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": "sun",
            "caller": {"type": "program", "caller_id": "prog_1"},
        },
    ),
}


@pytest.mark.parametrize(("item", "name", "arguments", "text", "answer"), ITEMS.values(), ids=ITEMS)
def test_an_item_that_waits_is_a_call_and_its_result_goes_back_in_its_own_form(
    item, name, arguments, text, answer
):
    events = same_at_every_cut(dialect, streams(item))
    assert_events_tell_the_reply(events)
    reply = reply_of(events)
    (call,) = reply.calls
    assert (reply.stop, call.name, json.loads(call.arguments)) == ("calls", name, arguments)
    result = Result(call_id=call.id, name=name, outcome="returned", content=(Text(text),))
    specs = () if name in ("mcp_approval_request", "look") else (native(name),)
    request = Request(messages=(user_text("Hi"), reply, Results((result,))), specs=specs)
    sent = json.loads(dialect.encode(request, model="m", stream=True).body)["input"]
    assert sent[1:] == [item, answer]
    check_with_sdk(answer)
    again = rc.wire.from_messages(sent[1:], dialect=NAME)
    assert again.messages[0].calls == reply.calls
    assert [
        r.text if name != "tool_search" else json.loads(r.text) for r in again.messages[1].results
    ] == [text if name != "tool_search" else [WEATHER]]


def test_what_a_local_shell_could_not_do_says_so_in_front():
    reply = dialect.decode(json.dumps(completed(LOCAL)["response"]).encode())
    (call,) = reply.calls
    result = Result(call_id=call.id, name=call.name, outcome="failed", content=(Text("No disk."),))
    request = Request(messages=(reply, Results((result,))), specs=(native("local_shell"),))
    sent = json.loads(dialect.encode(request, model="m", stream=True).body)["input"]
    assert sent[-1]["output"] == "Error: No disk."


def test_a_search_that_gives_words_finds_no_tools_and_says_so_beside():
    reply = dialect.decode(json.dumps(completed(SEARCH)["response"]).encode())
    (call,) = reply.calls
    result = Result(call_id=call.id, name=call.name, outcome="failed", content=(Text("Down."),))
    request = Request(messages=(reply, Results((result,))), specs=(native("tool_search"),))
    sent = json.loads(dialect.encode(request, model="m", stream=True).body)["input"]
    assert (sent[1]["tools"], sent[2]["content"]) == ([], "Down.")


def test_the_vendors_own_search_is_the_vendors():
    item = {**SEARCH, "execution": "server", "call_id": None}
    reply = dialect.decode(json.dumps(completed(item, message_item("Ok."))["response"]).encode())
    assert (reply.calls, reply.stop) == ((), "end")


@pytest.fixture
async def transport():
    carrier = HttpTransport()
    yield carrier
    await carrier.close()


@pytest.mark.parametrize(
    ("decision", "approve"),
    [
        (True, True),
        (rc.Deny("no"), False),
        (rc.Rewrite({"server": "x", "tool": "y", "arguments": 1}), False),
    ],
    ids=["yes", "no", "changed"],
)
async def test_a_run_waits_for_a_person_before_the_vendor_calls_its_server(decision, approve, transport):
    answers = [streamed(streams(APPROVAL)), streamed(streams(message_item("Done.")))]
    async with serving(*answers) as server:
        model = rc.connect("openai-responses:m", base_url=server.url, api_key="k", transport=transport)
        tools = [{"type": "mcp", "server_label": "wiki", "server_url": "https://wiki"}]
        agent = rc.Agent(model, options={"vendor_tools": tools})
        result = await agent.run("Go.")
        (proposal,) = result.pending
        assert (result.stop.reason, proposal.name, proposal.arguments["tool"]) == (
            "pending",
            "mcp_approval_request",
            "ask",
        )
        result = await agent.resume(result, {proposal.call_id: decision})
        last = json.loads(server.requests[-1][2])["input"][-1]
    assert (result.text, last["type"], last["approve"]) == ("Done.", "mcp_approval_response", approve)
    check_with_sdk(last)


async def test_neither_a_policys_answer_nor_a_dry_run_is_a_yes(transport):
    async with serving(
        *[streamed(streams(item)) for item in (APPROVAL, message_item("Done."))] * 2
    ) as server:
        model = rc.connect("openai-responses:m", base_url=server.url, api_key="k", transport=transport)
        await rc.Agent(model, policy=lambda _: rc.Answer("fine")).run("Go.")
        await rc.Agent(model).run("Go.", dry_run=True)
        lasts = [json.loads(body)["input"][-1] for _, _, body in server.requests]
    assert [last["approve"] for last in lasts if "approve" in last] == [False, False]


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "local_shell"},
        {"type": "computer_use_preview"},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "tool_search", "execution": "client"},
    ],
    ids=lambda definition: definition["type"],
)
async def test_a_vendors_tool_that_nobody_here_runs_is_refused_before_anything_is_sent(definition):
    agent = rc.Agent(rc.testing.ScriptedModel([]), options={"vendor_tools": [definition]})
    with pytest.raises(rc.errors.UsageError, match=f"'{definition['type']}', whose calls are this"):
        await agent.run("Go.")


async def test_what_the_vendor_runs_and_what_is_declared_may_be_given():
    own = [{"type": "shell", "environment": {"type": "container_auto"}}, {"type": "tool_search"}]
    agent = rc.Agent(
        rc.testing.ScriptedModel(["Hi."]),
        [rc.Tool("local_shell", "Run.", OPEN)],
        options={"vendor_tools": [*own, {"type": "local_shell"}]},
    )
    assert (await agent.run("Go.")).text == "Hi."


async def test_the_shell_that_ships_runs_a_local_shell_call(tmp_path):
    tool = rc.builtin.shell(cwd=tmp_path, signature="openai_local", approval=False)
    (tmp_path / "in").mkdir()
    action = {
        "type": "exec",
        "command": ["sh", "-c", 'printf "%s %s" "$A" "$PWD"'],
        "env": {"A": "a; b"},
        "working_directory": "in",
        "user": None,
    }
    reply = dialect.decode(json.dumps(completed({**LOCAL, "action": action})["response"]).encode())
    (done,) = await rc.run_calls(reply.calls, [tool])
    assert done.outcome.value == f"Exit code: 0\n\na; b {tmp_path}/in"
    action["user"] = "root"
    (done,) = await rc.run_calls([rc.Call(id="c", name=tool.name, arguments=json.dumps(action))], [tool])
    assert done.outcome.kind == "failed"
    request = Request(messages=(user_text("Hi"),), specs=(tool.spec,))
    sent = json.loads(dialect.encode(request, model="m", stream=True).body)
    assert sent["tools"] == [{"type": "local_shell"}]


def test_another_vendor_reads_a_request_for_approval_as_a_call():
    reply = Reply((Call(id="a", name="mcp_approval_request", arguments="{}", form="approval"),))
    result = Result(call_id="a", name="x", outcome="returned", content=(Text("approved"),))
    request = Request(messages=(user_text("Hi"), reply, Results((result,))))
    sent = json.loads(dialect.encode(request, model="m", stream=True).body)["input"]
    assert [item["type"] for item in sent[1:]] == ["function_call", "function_call_output"]
