"""Calls and thoughts that a server leaves in its text, read as those of a family."""

import json

import pytest

import rightcall as rc
from request.server import serving, streamed, whole
from rightcall.core.events import CallDelta, CallEnd, CallStart, ReasoningDelta, ReplyEnd, TextDelta
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.errors import UsageError, VendorError
from rightcall.local.families.call_text import write
from rightcall.local.families.family_list import FAMILIES
from rightcall.request.retry import Retry

ADD = Spec(
    name="add",
    description="Adds.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
)
ASKED = Request(messages=(user_text("What is 1 and 2?"),), specs=(ADD,))
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
NOT_FOUND = whole(b'{"detail": "Not Found"}', status=404)
VLLM_SAYS = (
    b'{"object": "error", "message": "\\"auto\\" tool choice requires --enable-auto-tool-choice and '
    b'--tool-call-parser to be set", "type": "BadRequestError", "code": 400}'
)


def event(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "r", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def reply(*texts, reason="stop"):
    """A chat server's stream of these pieces of text."""
    return streamed(
        *(event({"content": text}) for text in texts), event({}, reason), b"data: [DONE]\n\n"
    )


async def read(model, request=ASKED):
    """The events of a reply, and its parts."""
    events = [event async for event in model.stream(request)]
    assert isinstance(events[-1], ReplyEnd)
    return events, events[-1].reply


def connected(server, family="qwen3", **options):
    return rc.connect(f"{server.url}/v1|m", family=family, **options)


TEXT = f"<think>\nhm\n</think>\n\nLet me see. {CALL}"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_calls_and_thoughts_are_read_out_of_the_text_however_it_is_cut(size):
    pieces = [TEXT[at : at + size] for at in range(0, len(TEXT), size)]
    async with serving(reply(*pieces)) as server, connected(server) as model:
        events, found = await read(model)
    call = Call(id="", name="add", arguments='{"a": 1}')
    assert (found.reasoning.strip(), found.content[1:]) == ("hm", (Text("Let me see. "), call))
    assert found.stop == "calls"
    assert [each for each in events if isinstance(each, CallStart)] == [CallStart(0, "add")]
    assert "".join(each.text for each in events if isinstance(each, CallDelta)) == '{"a": 1}'
    assert [each for each in events if isinstance(each, CallEnd)] == [CallEnd(0, call)]
    # The request offers the tools as it would without a family.
    body = json.loads(server.requests[0][2])
    assert (body["tools"][0]["function"]["name"], "tool_choice" in body) == ("add", False)


async def test_a_marked_call_of_another_tool_is_one_but_none_where_no_tools_were_offered():
    text = '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'
    async with serving(reply(text), reply(CALL)) as server, connected(server) as model:
        _, other = await read(model)
        _, none = await read(model, Request(messages=(user_text("Hi"),)))
    assert (other.content, other.stop) == ((Call(id="", name="rm", arguments="{}"),), "calls")
    assert none.content == (Text(CALL),)


async def test_calls_that_the_server_has_parsed_pass_as_they_are():
    told = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    parsed = event({"tool_calls": [told]})
    answer = streamed(parsed, event({"content": CALL}), event({}, "tool_calls"), b"data: [DONE]\n\n")
    async with serving(answer) as server, connected(server) as model:
        events, found = await read(model)
    assert [(call.id, call.arguments) for call in found.calls] == [("c1", "{}"), ("", '{"a": 1}')]
    assert [each.index for each in events if isinstance(each, CallStart)] == [0, 1]


async def test_vllm_without_a_parser_is_shown_the_tools_and_told_not_to_parse():
    refused = whole(VLLM_SAYS, status=400)
    async with serving(refused, reply(CALL), reply(CALL)) as server, connected(server) as model:
        for _ in range(2):
            _, found = await read(model)
            assert [call.name for call in found.calls] == ["add"]
    bodies = [json.loads(body) for _, _, body in server.requests]
    # Once refused, it is not asked in that way again.
    assert [body.get("tool_choice") for body in bodies] == [None, "none", "none"]
    assert all(body["tools"] for body in bodies)
    assert "skip_special_tokens" not in bodies[1]


async def test_vllm_is_asked_to_leave_special_tokens_in_the_text_where_the_family_has_them():
    text = "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{}"
    async with (
        serving(whole(VLLM_SAYS, status=400), reply(text)) as server,
        connected(server, "kimi_k2") as model,
    ):
        _, found = await read(model)
    assert [call.name for call in found.calls] == ["add"]
    assert json.loads(server.requests[1][2])["skip_special_tokens"] is False


async def test_a_server_that_takes_no_tools_is_told_of_them_in_words():
    no = whole(
        b'{"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "x"}}',
        status=500,
    )
    earlier = (
        user_text("What is 1 and 2?"),
        Reply((Call(id="c", name="add", arguments='{"a": 1}'),)),
        Results((Result(call_id="c", name="add", outcome="returned", content=(Text("3"),)),)),
    )
    async with (
        serving(no, reply(CALL)) as server,
        connected(server, retry=Retry(attempts=1)) as model,
    ):
        _, found = await read(model, Request(messages=earlier, specs=(ADD,), system="Be brief."))
    assert [call.name for call in found.calls] == ["add"]
    body = json.loads(server.requests[1][2])
    assert "tools" not in body
    system, user, assistant, result = body["messages"]
    assert system["content"].startswith("Be brief.\n\nYou can use tools.")
    assert "<tool_call>" in assistant["content"]
    assert "tool_calls" not in assistant
    assert (user["role"], result["role"], result["content"]) == ("user", "user", "Result of add:\n3")


async def test_any_other_refusal_is_raised_as_it_is():
    no = whole(b'{"error": {"message": "no such model", "type": "t"}}', status=404)
    async with serving(no) as server, connected(server) as model:
        with pytest.raises(VendorError, match="no such model"):
            await read(model)


PYTHON = "[add(a=1)]"


async def test_auto_finds_the_family_in_the_template_that_the_server_tells():
    props = whole(json.dumps({"chat_template": "… [func_name1(params_name1= …"}).encode())
    async with serving(props, reply(PYTHON)) as server, connected(server, "auto") as model:
        _, found = await read(model)
    assert [call.arguments for call in found.calls] == ['{"a": 1}']
    assert [path for path, _, _ in server.requests] == ["/props", "/v1/chat/completions"]


async def test_auto_finds_the_family_in_the_models_name_where_no_template_is_told():
    async with (
        serving(NOT_FOUND, NOT_FOUND, reply(CALL)) as server,
        rc.connect(f"{server.url}/v1|Qwen/Qwen3-8B-AWQ", family="auto") as model,
    ):
        _, found = await read(model)
    assert [call.name for call in found.calls] == ["add"]


async def test_auto_says_what_to_do_where_nothing_tells():
    async with serving(NOT_FOUND, NOT_FOUND) as server, connected(server, "auto") as model:
        with pytest.raises(UsageError, match="family='qwen3'"):
            await read(model)


@pytest.mark.parametrize(
    ("name", "family", "words"),
    [
        ("anthropic:claude", "qwen3", "family= is for local models and for servers"),
        ("http://localhost:1/v1|m", "qwen33", "did you mean"),
    ],
    ids=["another dialect", "a misspelt family"],
)
def test_a_family_that_makes_no_sense_is_refused(name, family, words):
    with pytest.raises(UsageError, match=words):
        rc.connect(name, family=family, api_key="sk-test-0123456789abcdef")


async def test_an_agent_uses_what_is_read():
    @rc.tool(effect="pure")
    def add(a: int) -> int:
        """Adds 2."""
        return a + 2

    async with serving(reply(CALL), reply("It is 3.")) as server, connected(server) as model:
        result = await rc.Agent(model, tools=[add]).run("What is 1 and 2?")
    assert (result.text, [call.name for call in result.calls]) == ("It is 3.", ["add"])
    # The second question holds the call as any other: the server's template writes it.
    assistant = json.loads(server.requests[1][2])["messages"][-2]
    assert assistant["tool_calls"][0]["function"]["name"] == "add"


PARSED = {"index": 0, "id": "c1", "type": "function"}


def parsed(arguments='{"a": 1}'):
    """A call that the server parsed itself."""
    return event({"tool_calls": [{**PARSED, "function": {"name": "add", "arguments": arguments}}]})


@pytest.mark.parametrize("is_text_first", [True, False])
@pytest.mark.parametrize("arguments", ['{"a": 1}', '{"a":1}'])
async def test_a_call_that_the_server_parsed_and_left_in_the_text_too_is_made_once(
    is_text_first, arguments
):
    both = (event({"content": CALL}), parsed(arguments))
    told = both if is_text_first else both[::-1]
    done = streamed(*told, event({}, "tool_calls"), b"data: [DONE]\n\n")
    async with serving(done) as server, connected(server) as model:
        events, found = await read(model)
    assert [(call.name, json.loads(call.arguments)) for call in found.calls] == [("add", {"a": 1})]
    assert [type(each) for each in events] == [CallStart, CallDelta, CallEnd, ReplyEnd]
    assert (events[2].call, found.stop) == (found.calls[0], "calls")


async def test_calls_that_differ_or_come_twice_by_the_same_way_are_all_made():
    done = streamed(
        event({"content": f"{CALL}\n{CALL}"}),
        parsed('{"a": 2}'),
        event({}, "tool_calls"),
        b"data: [DONE]\n\n",
    )
    async with serving(done) as server, connected(server) as model:
        events, found = await read(model)
    assert [json.loads(call.arguments)["a"] for call in found.calls] == [1, 1, 2]
    assert [each.index for each in events if isinstance(each, CallEnd)] == [0, 1, 2]


OPENED = [name for name, family in FAMILIES.items() if family.thinking == "opened"]
THINKING = [name for name, family in FAMILIES.items() if family.thoughts.close]
HEADED = {
    "functionary_v32": ">>>all\nLet me see.",
    "muse_glimmer": " to=user<|message|>Let me see.<|eom|><|start|>assistant",
}


def written(name):
    """A call of ``add`` as models of this family write it."""
    identity = "functions.add:0" if name == "kimi_k2" else "abcdefghi"
    return write(FAMILIES[name], (Call(id=identity, name="add", arguments='{"a": 1}'),), (ADD,))


def answered(thought, *texts, streaming=True):
    """A chat server's reply with a thought in a field of its own."""
    if streaming:
        pieces = [event({"reasoning_content": thought[at : at + 2]}) for at in range(0, len(thought), 2)]
        pieces += [event({"content": text}) for text in texts]
        return streamed(*pieces, event({}, "stop"), b"data: [DONE]\n\n")
    message = {"role": "assistant", "content": "".join(texts)}
    if thought:
        message["reasoning_content"] = thought
    body = {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return whole(json.dumps(body).encode())


def said(events, found):
    """What a reply says: its text, its thoughts and its calls; its events must have said as much."""
    calls = [(call.name, json.loads(call.arguments)) for call in found.calls]
    ends = [each.call for each in events if isinstance(each, CallEnd)]
    assert ends == list(found.calls)
    texts = "".join(each.text for each in events if isinstance(each, TextDelta))
    assert texts == "".join(part.text for part in found.content if isinstance(part, Text))
    return found.text.strip(), found.reasoning.strip(), calls, found.stop


CALLED = ("Let me see.", "hm, so", [("add", {"a": 1})], "calls")


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
async def test_every_family_is_read_where_the_server_keeps_thoughts_apart(name, streaming):
    text = written(name)
    begun = HEADED.get(name, "Let me see.")
    answers = [
        answered("hm, so", begun, "\n", text, streaming=streaming),
        answered("", begun, "\n", text, streaming=streaming),
    ]
    async with serving(*answers) as server, connected(server, name, streaming=streaming) as model:
        assert said(*await read(model)) == CALLED
        # Now it is known how the server does it.
        events, found = await read(model)
    assert said(events, found) == ("Let me see.", "", [("add", {"a": 1})], "calls")
    assert not [each for each in events if isinstance(each, ReasoningDelta)]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("name", "is_opened"), [*((name, True) for name in THINKING), *((name, False) for name in OPENED)]
)
async def test_every_family_is_read_where_thoughts_are_in_the_text(name, is_opened, size, streaming):
    family = FAMILIES[name]
    opened = "".join(family.thoughts.open[:1]) if is_opened else ""
    text = f"{opened}\nhm, so\n{family.thoughts.close[0]}\n\nLet me see.\n"
    text += written(name)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    answer = answered("", *pieces, streaming=streaming)
    async with serving(answer) as server, connected(server, name, streaming=streaming) as model:
        assert said(*await read(model)) == CALLED


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("name", OPENED)
async def test_a_turn_that_ends_without_closing_a_thought_was_its_answer(name, streaming):
    text = written(name)
    answer = answered("", "Let me see.", "\n", text, streaming=streaming)
    only = answered("", "It is 3.", streaming=streaming)
    async with serving(answer, only) as server, connected(server, name, streaming=streaming) as model:
        events, found = await read(model)
        assert said(events, found) == ("Let me see.", "", [("add", {"a": 1})], "calls")
        events, found = await read(model)
        assert said(events, found) == ("It is 3.", "", [], "end")


@pytest.mark.parametrize("name", OPENED)
async def test_a_thought_that_was_cut_off_stays_one(name):
    async with serving(reply("hm, so", reason="length")) as server, connected(server, name) as model:
        assert said(*await read(model)) == ("", "hm, so", [], "length")


@pytest.mark.parametrize("name", OPENED)
async def test_text_before_the_servers_first_thought_is_an_answer(name):
    pieces = [event({"content": "Well. "}), event({"reasoning_content": "hm, so"})]
    pieces += [event({"content": "Let me see."}), event({}, "stop"), b"data: [DONE]\n\n"]
    async with serving(streamed(*pieces)) as server, connected(server, name) as model:
        assert said(*await read(model)) == ("Well. Let me see.", "hm, so", [], "end")


async def test_a_template_that_opens_no_thought_is_believed():
    told = {"chat_template": "]~b]ai <minimax:tool_call>"}
    answers = (NOT_FOUND, whole(json.dumps(told).encode()), reply("It is", " 3."))
    async with serving(*answers) as server, connected(server, "auto") as model:
        events, found = await read(model)
    assert said(events, found) == ("It is 3.", "", [], "end")
    assert not [each for each in events if isinstance(each, ReasoningDelta)]
