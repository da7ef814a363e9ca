import pytest

from local.kit import CHATML, ScriptedEngine, spent
from rightcall.core.events import CallEnd, CallStart, ReasoningDelta, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning, Reply, Results, user_text
from rightcall.core.parts import Call, Result, Text, Usage
from rightcall.core.request import Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import UsageError
from rightcall.local.engine import Finish
from rightcall.local.local_model import LocalModel
from rightcall.local.template.chat_template import ChatTemplate

ADD = Spec(
    name="add",
    description="Add numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    },
)
HERMES = (
    "{% if tools %}<|im_start|>system\n<tools>{% for t in tools %}{{ t | tojson }}{% endfor %}</tools>"
    'Answer in <tool_call>{"name": …, "arguments": …}</tool_call><|im_end|>\n{% endif %}'
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'


async def events_of(engine: ScriptedEngine, request: Request, **how: object) -> list:
    return [event async for event in LocalModel(engine, **how).stream(request)]


def asking(text: str = "What is 1 + 1?", **more: object) -> Request:
    return Request(**{"messages": (user_text(text),), "specs": (ADD,), **more})


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
async def test_a_reply_becomes_thoughts_text_and_calls(size):
    text = f"<think>Hm.</think>Let me see. {CALL}"
    engine = ScriptedEngine(text, template=HERMES, size=size)
    events = await events_of(engine, asking())
    call = Call(id="", name="add", arguments='{"a": 1}')
    assert events[-1] == ReplyEnd(
        Reply(
            (Reasoning("Hm."), Text("Let me see. "), call),
            "calls",
            usage=spent(text),
            model="scripted",
        )
    )
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "Let me see. "
    assert "".join(each.text for each in events if isinstance(each, ReasoningDelta)) == "Hm."
    assert CallStart(0, "add") in events
    assert CallEnd(0, call) in events


async def test_auto_is_free_until_the_marker_and_forced_is_held_from_the_start():
    engine = ScriptedEngine(CALL, CALL, "No.", template=HERMES)
    for choice in ("auto", Named("add"), "none"):
        await events_of(engine, asking(choice=choice))
    auto, forced, none = engine.asked
    assert auto.grammar is not None
    assert auto.grammar.triggers
    assert forced.grammar is not None
    assert forced.grammar.triggers == ()
    assert none.grammar is None
    assert "<tools>" not in none.prompt


async def test_strict_can_be_turned_off():
    engine = ScriptedEngine(CALL, template=HERMES)
    events = await events_of(engine, asking(options={"strict": False}))
    assert engine.asked[0].grammar is None
    assert events[-1].reply.calls[0].name == "add"


async def test_a_template_that_ignores_tools_has_them_told_in_words():
    engine = ScriptedEngine('{"name": "add", "arguments": {"a": 1}}', template=CHATML)
    events = await events_of(engine, asking())
    assert "add: Add numbers." in engine.asked[0].prompt
    assert events[-1].reply.calls == (Call(id="", name="add", arguments='{"a": 1}'),)


async def test_a_conversation_with_calls_and_results_is_rendered():
    history = (
        user_text("What is 1 + 1?"),
        Reply((Call(id="c1", name="add", arguments='{"a": 1}'),), "calls"),
        Results((Result(call_id="c1", name="add", outcome="returned", content=(Text("2"),)),)),
    )
    engine = ScriptedEngine("It is 2.", template=HERMES)
    await events_of(engine, asking(messages=history))
    assert CALL in engine.asked[0].prompt
    assert "<|im_start|>tool\n2<|im_end|>" in engine.asked[0].prompt


async def test_a_call_that_is_cut_off_is_marked():
    engine = ScriptedEngine((CALL[:40], Finish("length", Usage())), template=HERMES)
    reply = (await events_of(engine, asking()))[-1].reply
    assert reply.stop == "length"
    assert reply.calls[0].truncated


async def test_the_family_and_the_template_can_be_given():
    engine = ScriptedEngine('[TOOL_CALLS]add[ARGS]{"a": 1}', template="")
    model = {"family": "mistral", "template": ChatTemplate(HERMES)}
    reply = (await events_of(engine, asking(), **model))[-1].reply
    assert reply.calls == (Call(id="", name="add", arguments='{"a": 1}'),)


def test_a_family_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'hermes'"):
        LocalModel(ScriptedEngine(), family="hermez")


async def test_an_answer_can_be_held_to_a_schema_and_loses_its_fence():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    engine = ScriptedEngine('```json\n{"n": 1}\n```', template=CHATML)
    reply = (await events_of(engine, asking(specs=(), output=schema)))[-1].reply
    assert reply.text.strip() == '{"n": 1}'
    assert engine.asked[0].grammar is not None


async def test_leaving_early_closes_the_completion():
    engine = ScriptedEngine("A very long answer", template=HERMES)
    stream = LocalModel(engine).stream(asking())
    async for _ in stream:
        break
    await stream.aclose()
    assert engine.asked[0].was_closed


async def test_closing_the_model_closes_the_engine():
    engine = ScriptedEngine()
    await LocalModel(engine).close()
    assert engine.is_closed
