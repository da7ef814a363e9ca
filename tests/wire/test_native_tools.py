"""Tools that go out as a vendor's own, and the calls of them that come back."""

import json
from importlib import import_module

import pytest
from pydantic import TypeAdapter

from rightcall import builtin
from rightcall.builtin.files.patch_tool import apply_patch
from rightcall.core.events import CallDelta, CallEnd, CallStart, ReplyEnd
from rightcall.core.message import Reasoning, Reply, Results, Unknown, user_text
from rightcall.core.parts import Call, Media, Result, Text
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import anthropic, gemini, openai_chat, openai_responses
from wire.openai_responses.test_decode import (
    CREATED,
    added,
    call_item,
    completed,
    done,
    incomplete,
    response,
    sse,
)
from wire.recorded import assert_events_tell_the_reply, fed, reply_of, same_at_every_cut

NAME = openai_responses.name
HELLO = (user_text("Hi"),)
MARK = {"cache_control": {"type": "ephemeral"}}
OPEN = {"type": "object", "properties": {"any": {"type": "object"}}}
"""Parameters that no strict mode takes."""
PLAIN = Spec(name="plain", description="Ours.", parameters={"type": "object", "properties": {}})
BASH = {"type": "bash_20250124", "name": "bash"}
EDITOR = {
    "type": "text_editor_20250728",
    "name": "str_replace_based_edit_tool",
    "max_characters": 40_000,
}
MEMORY = {"type": "memory_20250818", "name": "memory"}
SHELL = {"type": "shell", "environment": {"type": "local"}}
PATCH = {"type": "apply_patch"}
BETA = "context-management-2025-06-27"


def native(name: str, dialect: str, definition: dict) -> Spec:
    return Spec(name=name, description="", parameters=OPEN, native={dialect: definition})


def ask(*specs: Spec, messages=HELLO, cache=False, **more) -> Request:
    options = {"cache": cache, **more.pop("options", {})}
    return Request(messages=messages, specs=specs, options=options, **more)


def sent(dialect, request: Request) -> dict:
    return json.loads(dialect.encode(request, model="m", stream=False).body)


SHIPPED = {
    "bash": ("anthropic", lambda root: builtin.shell(cwd=root, signature="anthropic"), BASH),
    "editor": ("anthropic", builtin.text_editor, EDITOR),
    "memory": ("anthropic", builtin.memory, MEMORY),
    "shell": ("openai_responses", lambda root: builtin.shell(cwd=root, signature="openai"), SHELL),
    "patch": ("openai_responses", apply_patch, PATCH),
}
DIALECTS = (anthropic, gemini, openai_chat, openai_responses)
PARAMETERS = {
    "bash_20250124": ("anthropic", "ToolBash20250124Param"),
    "text_editor_20250728": ("anthropic", "ToolTextEditor20250728Param"),
    "memory_20250818": ("anthropic", "MemoryTool20250818Param"),
    "shell": ("openai", "FunctionShellToolParam"),
    "apply_patch": ("openai", "ApplyPatchToolParam"),
}


def assert_the_sdk_takes(vendor: str, kind: str, value: dict) -> None:
    """The value has all that the vendor's SDK asks of it, and nothing that this does not know."""
    home = "anthropic.types" if vendor == "anthropic" else "openai.types.responses"
    module, _, name = f"{home}.{kind}".rpartition(".")
    adapter = TypeAdapter(getattr(import_module(module), name))
    assert json.loads(adapter.dump_json(adapter.validate_python(value))) == value


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_shipped_tool_is_the_vendors_own_to_one_vendor_and_a_function_to_the_others(
    dialect, name, tmp_path
):
    vendor, make, definition = SHIPPED[name]
    spec = make(tmp_path).spec
    tools = sent(dialect, ask(spec))["tools"]
    if dialect.name == vendor:
        assert tools == [definition]
        assert_the_sdk_takes(*PARAMETERS[definition["type"]], definition)
    else:
        unaware = Spec(**{key: getattr(spec, key) for key in spec.__struct_fields__ if key != "native"})
        assert tools == sent(dialect, ask(unaware))["tools"]
        assert spec.name in json.dumps(tools)


def test_a_tool_that_only_reads_is_not_sent_as_one_that_writes(tmp_path):
    for make in (builtin.text_editor, builtin.memory):
        tool = make(tmp_path, read_only=True)
        (sent_tool,) = sent(anthropic, ask(tool.spec))["tools"]
        assert sent_tool["input_schema"]["properties"]["command"]["enum"] == ["view"]


@pytest.mark.parametrize(
    ("dialect", "definition", "named"),
    [
        (anthropic, BASH, "'bash'"),
        (anthropic, {"type": "bash_20250124"}, "'bash_20250124'"),
        (openai_responses, PATCH, "'apply_patch'"),
        (openai_responses, {"type": "custom", "name": "other"}, "'other'"),
    ],
)
def test_a_definition_for_another_name_is_the_developers_mistake(dialect, definition, named):
    with pytest.raises(EncodeError) as caught:
        sent(dialect, ask(native("mine", dialect.name, definition)))
    assert f"is for {named}" in str(caught.value)
    assert "'mine'" in str(caught.value)


BASH_SPEC = native("bash", "anthropic", BASH)


def test_anthropics_own_tool_stands_among_the_others_in_order_and_carries_the_mark():
    search = {"type": "web_search_20250305", "name": "web_search"}
    specs = (PLAIN, BASH_SPEC)
    given = sent(anthropic, ask(*specs, cache=True, options={"vendor_tools": [search]}))
    ours = {"name": "plain", "description": "Ours.", "input_schema": PLAIN.parameters}
    assert given["tools"] == [search, ours, {**BASH, **MARK}]
    assert BASH_SPEC.native == {"anthropic": BASH}


def test_anthropics_own_tool_can_be_chosen():
    given = sent(anthropic, ask(PLAIN, BASH_SPEC, choice=Named("bash")))
    assert given["tool_choice"] == {"type": "tool", "name": "bash"}


def test_anthropics_own_tool_is_neither_made_strict_nor_counted_as_that():
    many = tuple(
        Spec(name=f"t{number}", description="", parameters={"type": "object", "properties": {}})
        for number in range(20)
    )
    output = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for more in ({}, {"output": output}):
        given = sent(anthropic, ask(*many, BASH_SPEC, options={"strict": True}, **more))
        assert [tool.get("strict") for tool in given["tools"]] == [True] * 20 + [None]
        assert given["tools"][-1] == BASH
    with pytest.raises(EncodeError, match="21 strict tools"):
        sent(anthropic, ask(*many, PLAIN, BASH_SPEC, options={"strict": True}))


@pytest.mark.parametrize(
    ("betas", "header"),
    [
        (None, BETA),
        (["a-1", "b-2"], f"a-1,b-2,{BETA}"),
        ("a-1, b-2", f"a-1,b-2,{BETA}"),
        ([BETA, "a-1"], f"{BETA},a-1"),
        ("", BETA),
    ],
)
def test_the_memorys_beta_joins_those_that_were_given(betas, header):
    options = {} if betas is None else {"extra": {"betas": betas}}
    request = ask(native("memory", "anthropic", MEMORY), BASH_SPEC, options=options)
    outgoing = anthropic.encode(request, model="m", stream=False)
    assert outgoing.headers["anthropic-beta"] == header


def test_a_tool_out_of_beta_asks_for_none():
    headers = anthropic.encode(ask(BASH_SPEC), model="m", stream=False).headers
    assert "anthropic-beta" not in headers


ACTION = {"commands": ["ls", "echo \u2028é"], "max_output_length": 4096, "timeout_ms": None}
OPERATION = {"type": "update_file", "diff": "@@\n-a\n+b\n", "path": "x.py"}
LOCAL = {"environment": {"type": "local"}}
HOSTED = {"environment": {"type": "container_reference", "container_id": "cntr_1"}}


def shell_item(status: str = "completed", **more) -> dict:
    item = {"id": "sh_1", "type": "shell_call", "status": status, "call_id": "call_s", "action": ACTION}
    return {**item, **LOCAL, **more}


def patch_item(status: str = "completed", **more) -> dict:
    item = {"id": "apc_1", "type": "apply_patch_call", "status": status, "call_id": "call_p"}
    return {**item, "operation": OPERATION, **more}


def text_of(value: dict) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def shell_call(status: str = "completed", **more) -> Call:
    bag = {"id": "sh_1", "type": "shell_call", "status": status, **LOCAL}
    return Call(id="call_s", name="shell", arguments=text_of(ACTION), vendor={NAME: bag}, **more)


def patch_call(status: str = "completed", **more) -> Call:
    bag = {"id": "apc_1", "type": "apply_patch_call", "status": status}
    return Call(
        id="call_p", name="apply_patch", arguments=text_of(OPERATION), vendor={NAME: bag}, **more
    )


def begun(item: dict) -> dict:
    """The item as its stream begins with it."""
    if item["type"] == "shell_call":
        return {**item, "action": {"commands": [], "max_output_length": None, "timeout_ms": None}}
    return {**item, "operation": {**item["operation"], "diff": ""}}


def commands(at: int) -> list[dict]:
    place = {"output_index": at, "command_index": 0}
    return [
        {"type": "response.shell_call_command.added", "command": "", **place},
        {"type": "response.shell_call_command.delta", "delta": "ls", **place},
        {"type": "response.shell_call_command.done", "command": "ls", **place},
    ]


def diffs(at: int, item: dict) -> list[dict]:
    kind, place = "response.apply_patch_call_operation_diff", {"output_index": at, "item_id": item["id"]}
    return [
        {"type": f"{kind}.delta", "delta": "@@\n-a\n", **place},
        {"type": f"{kind}.delta", "delta": "+b\n", **place},
        {"type": f"{kind}.done", "diff": OPERATION["diff"], **place},
    ]


def streamed(*items: dict, end: dict | None = None) -> bytes:
    frames = [CREATED]
    for at, item in enumerate(items):
        pieces = {"shell_call": commands(at), "apply_patch_call": diffs(at, item)}.get(item["type"], [])
        frames += [added(at, begun(item) if pieces else item), *pieces, done(at, item)]
    return sse(*frames, end or completed(*items))


@pytest.mark.parametrize(
    ("items", "calls"),
    [
        ((shell_item(),), (shell_call(),)),
        ((patch_item(),), (patch_call(),)),
        ((shell_item(), patch_item()), (shell_call(), patch_call())),
        # OpenAI leaves a local shell's call open until it has its output.
        ((shell_item("in_progress"),), (shell_call("in_progress"),)),
    ],
    ids=["shell", "patch", "both", "in progress"],
)
def test_openais_own_calls_are_calls_at_every_cut(items, calls):
    events = same_at_every_cut(openai_responses, streamed(*items))
    assert_events_tell_the_reply(events)
    reply = reply_of(events)
    assert (reply.content, reply.stop) == (calls, "calls")
    assert reply == openai_responses.decode(json.dumps(response(*items)).encode())


def test_a_host_that_leaves_the_items_out_at_the_end_gives_the_same_calls():
    items = (shell_item(), patch_item())
    events = same_at_every_cut(openai_responses, streamed(*items, end=completed()))
    assert_events_tell_the_reply(events)
    assert reply_of(events).calls == (shell_call(), patch_call())


def test_a_call_begins_when_it_is_announced_and_ends_with_the_response():
    events = fed(openai_responses.decoder(), streamed(patch_item()))
    assert [(e.index, e.text) if isinstance(e, CallDelta) else e for e in events] == [
        CallStart(0, "apply_patch", "call_p"),
        (0, text_of(OPERATION)),
        CallEnd(0, patch_call()),
        ReplyEnd(reply_of(events)),
    ]
    decoder = openai_responses.decoder()
    before = streamed(patch_item()).partition(b"event: response.completed")[0]
    assert [type(event) for event in decoder.feed(before)] == [CallStart, CallDelta]


@pytest.mark.parametrize("make", [shell_item, patch_item], ids=["shell", "patch"])
def test_half_a_command_is_never_run_whatever_the_host_calls_it(make):
    last, call = make(), shell_call() if make is shell_item else patch_call()
    cut = Call(**{key: getattr(call, key) for key in call.__struct_fields__} | {"truncated": True})
    end = incomplete("max_output_tokens", call_item(0, "{}"), last)
    events = same_at_every_cut(openai_responses, streamed(call_item(0, "{}"), last, end=end))
    assert_events_tell_the_reply(events)
    assert [call.truncated for call in reply_of(events).calls] == [False, True]
    assert reply_of(events).calls[1] == cut
    # With something after it, it was whole.
    end = incomplete("max_output_tokens", last, call_item(0, '{"a'))
    events = fed(openai_responses.decoder(), streamed(last, call_item(0, '{"a'), end=end))
    assert [call.truncated for call in reply_of(events).calls] == [False, True]


def test_a_call_that_was_only_announced_is_truncated():
    body = sse(CREATED, added(0, begun(patch_item())), *diffs(0, patch_item()), completed())
    events = same_at_every_cut(openai_responses, body)
    (call,) = reply_of(events).calls
    assert (call.name, call.truncated) == ("apply_patch", True)
    assert not [event for event in events if isinstance(event, CallEnd)]


def test_a_shell_in_the_vendors_own_container_is_not_ours_to_run():
    output = {"type": "shell_call_output", "id": "sho_1", "call_id": "call_s", "output": []}
    items = (shell_item(**HOSTED), output)
    events = same_at_every_cut(openai_responses, streamed(*items))
    assert [type(event) for event in events] == [ReplyEnd]
    reply = reply_of(events)
    assert reply.content == (Unknown({NAME: items[0]}), Unknown({NAME: items[1]}))
    assert reply.stop == "end"
    again = sent(openai_responses, ask(messages=(user_text("Hi"), reply, user_text("On"))))
    assert again["input"][1:-1] == list(items)


def test_a_shell_that_turns_out_to_be_ours_only_at_the_end_is_still_a_call():
    body = sse(CREATED, done(0, shell_item(**HOSTED)), completed(shell_item()))
    events = same_at_every_cut(openai_responses, body)
    assert_events_tell_the_reply(events)
    assert reply_of(events).calls == (shell_call(),)


SHELL_SPEC, PATCH_SPEC = native("shell", NAME, SHELL), native("apply_patch", NAME, PATCH)


def answered(call: Call, *content, outcome="returned", **more) -> Results:
    result = Result(call_id=call.id, name=call.name, outcome=outcome, content=content, **more)
    return Results((result,))


def given_back(call: Call, results: Results, *specs: Spec, **more) -> list[dict]:
    messages = (user_text("Hi"), Reply((call,), "calls"), results)
    return sent(openai_responses, ask(*specs, messages=messages, **more))["input"][1:]


def exit_of(code: int) -> dict:
    return {"type": "exit", "exit_code": code}


OUTCOMES = {
    "returned": (exit_of(0), "completed"),
    "failed": (exit_of(1), "failed"),
    "denied": (exit_of(1), "failed"),
    "invalid": (exit_of(1), "failed"),
    "timed_out": ({"type": "timeout"}, "failed"),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_call_goes_back_as_it_came_with_its_result_in_the_vendors_form(outcome):
    results = answered(shell_call(), Text("said "), Text("this"), outcome=outcome)
    call, output = given_back(shell_call(), results, SHELL_SPEC)
    assert call == shell_item()
    assert output == {
        "type": "shell_call_output",
        "call_id": "call_s",
        "output": [{"stdout": "said this", "stderr": "", "outcome": OUTCOMES[outcome][0]}],
        "max_output_length": 4096,
    }
    assert_the_sdk_takes("openai", "response_input_param.ShellCall", call)
    assert_the_sdk_takes("openai", "response_input_param.ShellCallOutput", output)
    results = answered(patch_call(), Text("said this"), outcome=outcome)
    call, output = given_back(patch_call(), results, PATCH_SPEC)
    assert call == patch_item()
    assert output == {
        "type": "apply_patch_call_output",
        "call_id": "call_p",
        "status": OUTCOMES[outcome][1],
        "output": "said this",
    }
    assert_the_sdk_takes("openai", "response_input_param.ApplyPatchCall", call)
    assert_the_sdk_takes("openai", "response_input_param.ApplyPatchCallOutput", output)


@pytest.mark.parametrize("make", [shell_item, patch_item], ids=["shell", "patch"])
def test_the_sdk_reads_the_items_that_are_read_here(make):
    item = make()
    name = {"shell_call": "FunctionShell", "apply_patch_call": "ApplyPatch"}[item["type"]]
    model = getattr(import_module("openai.types.responses"), f"Response{name}ToolCall")
    assert model.model_validate(item).model_dump(exclude_unset=True) == item


def test_no_limit_on_the_output_is_no_member_and_media_is_named():
    bare = Call(
        id="call_s",
        name="shell",
        arguments='{"commands":["ls"],"max_output_length":null}',
        vendor=shell_call().vendor,
    )
    results = answered(bare, Text("see "), Media(b"png", "image/png", "a.png"))
    _, output = given_back(bare, results, SHELL_SPEC)
    assert "max_output_length" not in output
    assert output["output"][0]["stdout"] == "see [image/png 'a.png', 3 bytes: not shown]"


def test_a_results_own_members_win():
    own = {NAME: {"output": [{"stdout": "", "stderr": "no", "outcome": exit_of(7)}]}}
    _, output = given_back(shell_call(), answered(shell_call(), Text("x"), vendor=own), SHELL_SPEC)
    assert output["output"] == own[NAME]["output"]


FUNCTION = {
    "the request has no such tool": (shell_call(), (PLAIN,), {}),
    "the tool is a function by now": (
        shell_call(),
        (Spec(name="shell", description="", parameters={"type": "object", "properties": {}}),),
        {},
    ),
    "the call was cut off": (shell_call(truncated=True), (SHELL_SPEC,), {}),
    "the call was another vendor's": (
        Call(id="call_s", name="shell", arguments=text_of(ACTION), vendor={"anthropic": {"x": 1}}),
        (SHELL_SPEC,),
        {},
    ),
}


@pytest.mark.parametrize("name", FUNCTION)
def test_a_call_that_cannot_go_back_as_the_vendors_own_is_one_of_a_function(name):
    call, specs, more = FUNCTION[name]
    assert given_back(call, answered(call, Text("ok")), *specs, **more) == [
        {
            "type": "function_call",
            "call_id": "call_s",
            "name": "shell",
            "arguments": text_of(ACTION),
        },
        {"type": "function_call_output", "call_id": "call_s", "output": "ok"},
    ]


@pytest.mark.parametrize("arguments", ["", "[1]", '{"commands"', '{"a":1,"a":2}'])
def test_arguments_that_are_no_object_go_back_as_those_of_a_function(arguments):
    call = Call(id="call_s", name="shell", arguments=arguments, vendor=shell_call().vendor)
    item, output = given_back(call, answered(call, Text("ok")), SHELL_SPEC)
    assert (item["type"], output["type"]) == ("function_call", "function_call_output")
    assert isinstance(json.loads(item["arguments"]), dict)


def test_a_tool_given_among_the_vendors_own_counts_too():
    options = {"vendor_tools": [PATCH]}
    call, output = given_back(patch_call(), answered(patch_call(), Text("ok")), options=options)
    assert (call, output["type"]) == (patch_item(), "apply_patch_call_output")


def test_without_the_thought_before_it_a_call_goes_back_without_its_id():
    thought = Reasoning("hm", {NAME: {"type": "reasoning", "id": "rs_1", "summary": []}})
    messages = (
        user_text("Hi"),
        Reply((thought, patch_call()), "calls"),
        answered(patch_call(), Text("ok")),
    )
    call = sent(openai_responses, ask(PATCH_SPEC, messages=messages))["input"][1]
    assert call == {key: value for key, value in patch_item().items() if key != "id"}
    assert_the_sdk_takes("openai", "response_input_param.ApplyPatchCall", call)


def test_openais_own_tools_can_be_chosen_and_are_not_made_strict():
    given = sent(
        openai_responses,
        ask(PLAIN, SHELL_SPEC, PATCH_SPEC, choice=Named("apply_patch"), options={"strict": True}),
    )
    assert [tool.get("strict") for tool in given["tools"]] == [True, None, None]
    assert given["tools"][1:] == [SHELL, PATCH]
    assert given["tool_choice"] == {"type": "apply_patch"}
