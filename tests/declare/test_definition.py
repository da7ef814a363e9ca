"""The vendors' shapes of a tool's definition, each into the same tool."""

import json
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

import rightcall as rc
from later import Later
from rightcall.core.request import Request
from rightcall.errors import DeclarationError, EncodeError
from rightcall.testing import ScriptedModel, call, reply
from rightcall.wire.dialects import DIALECTS, load

google = Later("google.genai.types")
mcp = Later("mcp_types")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
GOOGLES = {
    "type": "OBJECT",
    "properties": {"city": {"type": "STRING"}, "days": {"type": "INTEGER", "nullable": True}},
    "required": ["city", "days"],
    "propertyOrdering": ["city", "days"],
}
WORDS = {"name": "get_weather", "description": "The weather."}
SHAPES: dict[str, Any] = {
    "Chat": {"type": "function", "function": {**WORDS, "parameters": SCHEMA, "strict": True}},
    "Responses": {"type": "function", **WORDS, "parameters": SCHEMA, "strict": True},
    "Anthropic": {**WORDS, "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
    "Anthropic, custom": {"type": "custom", **WORDS, "input_schema": SCHEMA, "strict": False},
    "Gemini": {"functionDeclarations": [{**WORDS, "parameters": GOOGLES}]},
    "Gemini, JSON Schema": {"function_declarations": [{**WORDS, "parametersJsonSchema": SCHEMA}]},
    "Gemini's SDK": lambda: google.Tool(
        function_declarations=[google.FunctionDeclaration(**WORDS, parameters=google.Schema(**GOOGLES))]
    ),
    "Bedrock": {"toolSpec": {**WORDS, "inputSchema": {"json": SCHEMA}, "strict": True}},
    "MCP": {**WORDS, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    "MCP's SDK": lambda: mcp.Tool(
        **WORDS, input_schema=SCHEMA, annotations=mcp.ToolAnnotations(read_only_hint=True)
    ),
    "a bare function": {**WORDS, "parameters": SCHEMA},
}
STRICT = {"Chat": True, "Responses": True, "Bedrock": True, "Anthropic, custom": False}


def of_shape(name: str) -> Any:
    shape = SHAPES[name]
    return shape() if callable(shape) else shape


def weather(city: str, days: int | None) -> str:
    return f"{city}: sunny for {days}"


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_definition_with_a_handler_is_a_tool(shape):
    made = rc.tool(of_shape(shape), handler=weather, effect="pure")
    assert (made.name, made.description, made.effect) == ("get_weather", "The weather.", "pure")
    assert made.strict is STRICT.get(shape)
    expected = (
        SCHEMA
        if "additionalProperties" in made.parameters
        else {key: value for key, value in SCHEMA.items() if key != "additionalProperties"}
    )
    assert made.parameters == expected
    calls = [
        rc.Call(id="a", name="get_weather", arguments='{"city": "Bern", "days": null}'),
        rc.Call(id="b", name="get_weather", arguments='{"city": 1, "days": 2}'),
    ]
    good, bad = await rc.run_calls(calls, made)
    assert good.result.text == "Bern: sunny for None"
    assert bad.result.outcome == "invalid"


@pytest.mark.parametrize("shape", SHAPES)
async def test_wherever_tools_are_taken_a_definition_is(shape):
    assert rc.Toolbox(of_shape(shape)).names() == ("get_weather",)
    model = ScriptedModel([reply(call("get_weather", city="Bern", days=2)), "Sunny."])
    agent = rc.Agent(model, [weather, of_shape(shape)])
    paused = await agent.run("Weather in Bern?")
    # Nobody here can run it, so whoever asked does, and gives the result.
    (pending,) = paused.pending
    assert (pending.name, pending.arguments) == ("get_weather", {"city": "Bern", "days": 2})
    done = await agent.resume(paused, {pending.call_id: rc.Answer("sunny")})
    assert done.text == "Sunny."
    assert done.calls[0].result.text == "sunny"


async def test_a_yes_does_not_run_what_nobody_here_can_run():
    async def approve(_: rc.gate.Proposal) -> bool:
        return True

    async def answer(proposal: rc.gate.Proposal) -> rc.Answer:
        return rc.Answer(f"{proposal.arguments['city']}: rain")

    given = [rc.Call(id="a", name="get_weather", arguments='{"city": "Bern", "days": 1}')]
    (execution,) = await rc.run_calls(given, SHAPES["Chat"], approve=approve)
    assert execution.result.text == (
        "get_weather is not run by this program, and nobody has given its result."
    )
    (execution,) = await rc.run_calls(given, SHAPES["Chat"], approve=answer)
    assert execution.result.text == "Bern: rain"


def test_the_effect_and_the_examples_are_kept():
    assert rc.Toolbox(SHAPES["MCP"])["get_weather"].effect == "read"
    made = rc.tool({**WORDS, "input_schema": SCHEMA, "input_examples": [{"city": "Bern", "days": 1}]})
    assert made.examples == [{"city": "Bern", "days": 1}]


def test_several_declarations_are_several_tools_and_no_single_one():
    two = {"functionDeclarations": [{**WORDS}, {**WORDS, "name": "other"}]}
    assert rc.Toolbox(two).names() == ("get_weather", "other")
    with pytest.raises(DeclarationError, match="2 functions in one definition"):
        rc.tool(two, handler=weather)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"type": "web_search"}, "'web_search': no shape of a function"),
        ({"type": "bash_20250124", "name": "bash"}, "vendor_tools"),
        ({"type": "custom", "name": "code", "format": {"type": "text"}}, "no shape of a function"),
        ({"googleSearch": {}}, "members googleSearch"),
        ({}, "no members"),
        ({"parameters": SCHEMA}, "it has no name"),
        ({"name": "x", "parameters": "string"}, "a schema is an object"),
        ({"toolSpec": {"name": "x", "inputSchema": {"json": "{}"}}}, "a schema is an object"),
        ({"name": "x", "parameters": {"type": "array"}}, "arguments are an object"),
        ({"name": "no spaces", "parameters": SCHEMA}, "1 to 64 letters"),
    ],
)
def test_what_is_no_function_is_refused_in_words(definition, words):
    with pytest.raises(DeclarationError, match=words):
        rc.Toolbox(definition)


def test_a_model_that_can_be_called_is_a_function_as_before():
    class Greeter(BaseModel):
        greeting: str

        def __call__(self, name: str) -> str:
            return f"{self.greeting} {name}"

    assert list(rc.tool(Greeter(greeting="Hi")).parameters["properties"]) == ["name"]


def test_a_handler_goes_with_a_definition_and_must_take_its_members():
    with pytest.raises(DeclarationError, match="a handler goes with a definition"):
        rc.tool(weather, handler=weather)
    with pytest.raises(DeclarationError, match="no parameter 'days'"):
        rc.tool(SHAPES["Chat"], handler=lambda city: city)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("everywhere", [False, True])
def test_a_definition_that_is_strict_is_sent_so_and_the_others_as_the_agent_says(name, everywhere):
    box = rc.Toolbox(
        SHAPES["Chat"],
        rc.tool(SHAPES["Anthropic, custom"], handler=weather, name="loose"),
        rc.tool(SHAPES["Anthropic"], handler=weather, name="open"),
    )
    specs = tuple(tool.spec for tool in box)
    request = Request(
        messages=(rc.User((rc.models.Text("Hi"),)),), specs=specs, options={"strict": everywhere}
    )
    if name == "ollama":
        with pytest.raises(EncodeError, match="does not hold models"):
            load(name).encode(request, model="m", stream=False)
        return
    body = json.loads(load(name).encode(request, model="m", stream=False).body)
    if name == "gemini":
        assert body["toolConfig"]["functionCallingConfig"]["mode"] == "VALIDATED"
        return
    if name == "gemini_interactions":
        assert body["generation_config"]["tool_choice"] == "validated"
        return
    if name == "cohere":
        # One switch for all tools.
        assert "strict_tools" not in body
        return
    sent = body["toolConfig"]["tools"] if name == "bedrock" else body["tools"]
    tools = [each.get("function", each.get("toolSpec", each)) for each in sent]
    assert [each.get("strict", False) for each in tools] == [True, False, everywhere]


async def test_nulls_that_strict_mode_forces_are_taken_out_for_that_tool_only():
    optional = {"type": "object", "properties": {"city": {"type": "string"}}}

    def look(city: str = "Rome") -> str:
        return city

    box = [
        rc.Tool("held", "", optional, look, strict=True),
        rc.Tool("free", "", optional, look),
    ]
    forced = msgspec.structs.replace(call("held", city=None), nulls=True)
    model = ScriptedModel([reply(forced, call("free", city=None)), "Done."])
    result = await rc.Agent(model, box).run("Look")
    assert [each.outcome for each in result.calls] == ["returned", "invalid"]
