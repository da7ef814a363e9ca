"""A raw model on an engine, behind every dialect: its own template, grammar and parser, calls not run."""

import pytest

from local.kit import ScriptedEngine
from local.test_local_model import HERMES
from rightcall.local.local_model import LocalModel
from serve.gateway.kit import gateway
from serve.gateway.sdks import SDKS

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

CALLS = "".join(
    f'<tool_call>\n{{"name": "weather", "arguments": {{"city": "{city}"}}}}\n</tool_call>\n'
    for city in ("Paris", "Rome")
)
ANSWER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("front", SDKS)
async def test_a_raw_model_calls_thinks_and_answers(front, stream):
    engine = ScriptedEngine(
        f"<think>Two cities.</think>{CALLS}", "Sunny and wet.", '{"n": 2}', template=HERMES
    )
    async with gateway({"m": LocalModel(engine)}) as (_, base), SDKS[front](base) as sdk:
        sdk.say("Weather in Paris and Rome?")
        first = await sdk.ask(stream=stream)
        sdk.answer(first, ["sunny", "wet"])
        second = await sdk.ask(stream=stream)
        sdk.history.clear()
        sdk.say("How many?")
        third = await sdk.ask(stream=stream, tools=False, schema=ANSWER)
    assert [(name, dict(given)) for _, name, given in first.calls] == [
        ("weather", {"city": "Paris"}),
        ("weather", {"city": "Rome"}),
    ]
    assert len({identity for identity, _, _ in first.calls}) == 2
    assert (first.stop, second.text, second.stop) == ("calls", "Sunny and wet.", "end")
    assert third.text == '{"n": 2}'
    asked = engine.asked
    assert '"name": "weather"' in asked[0].prompt
    assert asked[0].grammar is not None
    assert "sunny" in asked[1].prompt
    assert asked[2].grammar is not None
