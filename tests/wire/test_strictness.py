"""Which tools are sent strict unasked, why the others are not, and that nothing is lost by it."""

import json
from typing import Any, Literal

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

import rightcall as rc
from effort import often
from later import Later
from rightcall.core.jsontext import dump
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire import anthropic, bedrock, gemini, openai_chat, openai_responses
from rightcall.wire.claude import strict_refusal
from rightcall.wire.strict_schema import OPENAI
from rightcall.wire.strictness import convert_strict, why_not_strict

CLAUDES = Later("anthropic.types")
GPTS = Later("openai.types")

CLAUDE = "claude-opus-4-8"
ON_BEDROCK = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
S, I, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}  # noqa: E741


def obj(required: list[str], **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": required}


def spec(parameters: dict[str, Any], name: str = "t", strict: bool | None = None) -> Spec:
    return Spec(name=name, description="T.", parameters=parameters, strict=strict)


def tools_sent(dialect: Any, model: str, *specs: Spec, **options: Any) -> list[dict[str, Any]]:
    request = Request(messages=(user_text("Hi"),), specs=specs, options={"cache": False, **options})
    return json.loads(dialect.encode(request, model=model, stream=False).body)["tools"]


def strict_names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tools if tool.get("strict")]


TREE = {
    **obj(["root"], root={"$ref": "#/$defs/N"}),
    "$defs": {"N": obj(["v"], v=S, kids={"type": "array", "items": {"$ref": "#/$defs/N"}})},
}
REASONS: dict[str, tuple[dict[str, Any], str | None, str | None]] = {
    # The schema; why OpenAI is not sent it strict; why Anthropic is not.
    "plain": (obj(["a"], a=S), None, None),
    "optional": (obj([], a=S), None, None),
    "bounds are words": (obj(["a"], a={**S, "minLength": 2}, b={**I, "maximum": 9}), None, None),
    "a pattern that looks ahead is words": (obj(["a"], a={**S, "pattern": "(?!x)y"}), None, None),
    "null is the default": (obj([], a={"anyOf": [S, NULL], "default": None}), None, None),
    "null is not the default": (
        obj([], a={"anyOf": [S, NULL], "default": "x"}),
        "$.a: it may be left out or be null",
        None,
    ),
    "null and absent may differ": (obj([], a={"type": ["string", "null"]}), "$.a: it may be", None),
    "a reference that takes null": (
        {**obj([], a={"$ref": "#/$defs/M"}), "$defs": {"M": {"type": ["string", "null"]}}},
        "$.a: it may be",
        None,
    ),
    "open": (
        obj(["a"], a={"type": "object", "additionalProperties": S}),
        "$.a: it takes",
        "$.a: it takes",
    ),
    "anything": (obj(["a"], a={}), "$.a: it takes any value", "$.a: it takes any value"),
    "a tuple": (
        obj(["a"], a={"type": "array", "prefixItems": [S, I]}),
        "$.a: strict schemas have no prefixItems",
        "$.a: strict schemas have no prefixItems",
    ),
    "not": (obj(["a"], a={**S, "not": {"const": "x"}}), "no not", "no not"),
    "recursion": (TREE, None, "leads back to itself"),
    "an enum of objects": (obj(["a"], a={"enum": [{"x": 1}]}), "it takes members", "it lists objects"),
    "too deep": (
        obj(["a"], a=[x := S, *[x := obj(["a"], a=x) for _ in range(10)]][-1]),
        "levels of objects are more than the 10",
        None,
    ),
}


@pytest.mark.parametrize(("parameters", "openai", "claude"), REASONS.values(), ids=REASONS)
def test_a_tool_is_strict_where_nothing_is_lost_and_else_there_is_a_reason(parameters, openai, claude):
    tool = spec(parameters)
    for dialect, reason in (
        ("openai_chat", openai),
        ("openai_responses", openai),
        ("anthropic", claude),
        ("bedrock", claude),
    ):
        why = why_not_strict(tool, dialect)
        assert why is None if reason is None else reason in (why or ""), (dialect, why)
    assert strict_names(tools_sent(openai_responses, "gpt-5", tool)) == ([] if openai else ["t"])
    assert strict_names(tools_sent(anthropic, CLAUDE, tool)) == ([] if claude else ["t"])
    if openai is not None and convert_strict(parameters, OPENAI).schema is None:
        with pytest.raises(EncodeError, match=r"tool 't' at \$"):
            tools_sent(openai_responses, "gpt-5", spec(parameters, strict=True))


def test_what_somebody_said_goes_before_that():
    can, cannot = obj(["a"], a=S), REASONS["not"][0]
    both = (spec(can, "can", strict=False), spec(cannot, "lossy", strict=True))
    assert strict_names(tools_sent(openai_responses, "gpt-5", *both)) == ["lossy"]
    assert strict_names(tools_sent(anthropic, "claude-3-5-haiku", *both, strict="auto")) == ["lossy"]
    assert strict_names(tools_sent(anthropic, CLAUDE, spec(can), strict=False)) == []
    assert why_not_strict(both[0], "anthropic") == "strict=False was said of it."
    assert why_not_strict(both[1], "anthropic") is None
    assert "at $.a" in f"at {why_not_strict(spec(obj(['a'], a={}), strict=True), 'anthropic')}"
    native = Spec(name="bash", description="", parameters=can, native={"anthropic": {"type": "bash"}})
    assert why_not_strict(native, "anthropic") == "it is sent as the vendor's own definition."


def test_gemini_has_one_mode_for_all_which_has_to_be_asked_for():
    assert "VALIDATED" in (why_not_strict(spec(obj([])), "gemini") or "")
    request = Request(messages=(user_text("Hi"),), specs=(spec(obj([])),), options={"strict": "auto"})
    assert b"VALIDATED" not in gemini.encode(request, model="gemini-3-pro", stream=False).body


HOSTS = {
    "https://api.openai.com/v1": True,
    "https://me.openai.azure.com/openai/v1": True,
    "https://me.services.ai.azure.com/openai/v1": False,
    "https://api.groq.com/openai/v1": False,
    "https://api.deepseek.com": False,
    "https://openrouter.ai/api/v1": False,
    "http://localhost:11434/v1": False,
}


def test_only_hosts_that_are_known_to_hold_models_are_sent_strict_tools_unasked():
    tool = spec(obj([], a=S))
    for url, is_held in HOSTS.items():
        dialect = openai_chat.dialect_at(url)
        (sent,) = tools_sent(dialect, "m", tool)
        assert ("strict" in sent["function"]) is is_held, url
        assert (why_not_strict(tool, "openai_chat", url=url) is None) is is_held
        (sent,) = tools_sent(dialect, "m", tool, strict=True)
        assert sent["function"]["strict"] is True


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-opus-4-8", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-fable-5", True),
        ("claude-opus-4-1-20250805", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-3-7-sonnet-latest", False),
        ("claude-sonnet-4-5@20250929", False),
        (ON_BEDROCK, True),
        ("us.anthropic.claude-opus-4-8-v1:0", False),
        ("amazon.nova-pro-v1:0", False),
        ("MiniMax-M2", False),
    ],
)
def test_models_that_take_strict_tools_are_known_by_their_names(model, takes):
    assert (strict_refusal(model) == "") is takes
    assert (why_not_strict(spec(obj([])), "bedrock", model=model) is None) is takes


def test_ceilings_choose_by_order_what_was_asked_for_first_and_never_fail_a_request():
    one = obj([], **{f"o{n}": S for n in range(10)})
    many = [spec(dict(one), f"t{n}") for n in range(4)] + [spec(obj(["a"], a=S), "small")]
    assert strict_names(tools_sent(anthropic, CLAUDE, *many)) == ["t0", "t1", "small"]
    # A tool more at the end changes nothing for those before it: what was cached stays so.
    assert strict_names(tools_sent(anthropic, CLAUDE, *many[:3])) == ["t0", "t1"]
    many[3] = spec(dict(one), "t3", strict=True)
    assert strict_names(tools_sent(anthropic, CLAUDE, *many)) == ["t0", "t3", "small"]
    plain = [spec(obj(["a"], a=S), f"p{n}") for n in range(25)]
    assert strict_names(tools_sent(anthropic, CLAUDE, *plain)) == [f"p{n}" for n in range(20)]
    request = Request(messages=(user_text("Hi"),), specs=tuple(many), output=one)
    held = bedrock.encode(request, model=ON_BEDROCK, stream=False).held
    assert list(held.reasons) == ["t0", "t1", "t2"]
    assert "24 optional parameters" in held.reasons["t0"]
    assert held.forced == frozenset()


def test_what_is_sent_is_what_the_vendors_own_types_say():
    tool = spec(obj(["a"], a=S, b=I))
    (chat,) = tools_sent(openai_chat, "gpt-5", tool)
    TypeAdapter(GPTS.chat.ChatCompletionFunctionToolParam).validate_python(chat, strict=True)
    (responses,) = tools_sent(openai_responses, "gpt-5", tool)
    TypeAdapter(GPTS.responses.FunctionToolParam).validate_python(responses, strict=True)
    (claudes,) = tools_sent(anthropic, CLAUDE, tool)
    TypeAdapter(CLAUDES.ToolParam).validate_python(claudes, strict=True)
    assert chat["function"]["strict"] is responses["strict"] is claudes["strict"] is True
    assert chat["function"]["parameters"] == responses["parameters"]


def test_a_schema_is_judged_once_however_often_it_is_sent():
    parameters = obj([], a=S)
    assert convert_strict(parameters, OPENAI) is convert_strict(parameters, OPENAI)
    (first,) = tools_sent(openai_responses, "gpt-5", spec(parameters))
    assert first == tools_sent(openai_responses, "gpt-5", spec(parameters))[0]


# What comes back.


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = 1.0


class Square(BaseModel):
    kind: Literal["square"]
    label: str | None = None
    side: int = Field(default=2, ge=1)


def draw(shape: Circle | Square, times: int = 3, note: str | None = None) -> str:
    """Draw."""
    return f"{shape!r} {times} {note}"


def test_nulls_that_strict_mode_forced_are_left_out_for_that_call_alone():
    tool = rc.tool(draw)
    text = '{"shape":{"kind":"square","label":null,"side":null},"times":null,"note":null}'
    plain = rc.gate.check(rc.Call(id="1", name="draw", arguments=text), tool)
    assert not isinstance(plain, rc.gate.CheckedCall)
    checked = rc.gate.check(rc.Call(id="1", name="draw", arguments=text, nulls=True), tool)
    assert isinstance(checked, rc.gate.CheckedCall)
    assert checked.arguments == {"shape": {"kind": "square", "label": None}, "note": None}
    assert checked.bound["times"] == 3
    assert checked.bound["shape"] == Square(kind="square")
    assert sorted(repair.path for repair in checked.repairs) == ["$.shape.side", "$.times"]
    # What is null and must not be, is not made good.
    wrong = rc.Call(id="1", name="draw", arguments='{"shape":null,"times":null}', nulls=True)
    verdict = rc.gate.check(wrong, tool)
    assert "$.shape" in str(verdict)
    assert not isinstance(verdict, rc.gate.CheckedCall)


KINDS = st.sampled_from(
    [S, I, {"type": "boolean"}, {"enum": ["x", "y"]}, {"const": 1}, {**I, "minimum": 0}]
)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    def wider(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        nullable = inner.map(lambda each: {"anyOf": [each, NULL], "default": None})
        items = inner.map(lambda each: {"type": "array", "items": each})
        return nullable | items | objects(inner) | st.tuples(KINDS, objects(inner)).map(union)

    return objects(st.recursive(KINDS, wider, max_leaves=4))


def union(pair: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    return {"anyOf": list(pair)}


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    members = st.dictionaries(st.sampled_from("abc"), st.tuples(inner, st.booleans()), max_size=3)
    return members.map(
        lambda found: obj(
            [name for name, (_, needed) in found.items() if needed],
            **{name: schema for name, (schema, _) in found.items()},
        )
    )


def answers(draw: Any, schema: dict[str, Any]) -> tuple[Any, Any]:
    """A value as it is meant, and the same as a strict schema has it written."""
    if "anyOf" in schema:
        return answers(draw, draw(st.sampled_from(schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        value = draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
        return value, value
    match schema["type"]:
        case "null":
            return None, None
        case "array":
            pairs = [answers(draw, schema["items"]) for _ in range(draw(st.integers(0, 2)))]
            return [meant for meant, _ in pairs], [written for _, written in pairs]
        case "object":
            meant, written = {}, {}
            for name, member in schema["properties"].items():
                if name in schema["required"] or draw(st.booleans()):
                    meant[name], written[name] = answers(draw, member)
                else:
                    written[name] = None
                    if "default" in member:
                        # Null is what it is when it is left out.
                        meant[name] = None
            return meant, written
        case kind:
            value = draw(
                {"string": st.text(max_size=2), "integer": st.integers(0, 9)}.get(kind, st.booleans())
            )
            return value, value


@settings(max_examples=often(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_a_tool_takes_can_be_written_strictly_and_means_the_same(data):
    schema = data.draw(schemas())
    found = convert_strict(schema, OPENAI)
    assert not found.reason, found.explanation
    meant, written = answers(data.draw, schema)
    assert jsonschema_rs.is_valid(found.schema, written)
    call = rc.Call(id="1", name="t", arguments=dump(written), nulls=found.nulled)
    checked = rc.gate.check(call, rc.Tool("t", "T.", schema))
    assert isinstance(checked, rc.gate.CheckedCall), checked
    assert checked.arguments == meant
