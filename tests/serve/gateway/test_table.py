"""Every vendor's own SDK in front, every dialect behind: the same conversation, streamed and whole."""

import pytest

from rightcall.core.message import Results
from rightcall.core.parts import Usage
from rightcall.testing.scripted_model import ScriptedModel, call, reply
from serve.gateway.kit import PROVIDERS, chain, gateway
from serve.gateway.sdks import SDKS

# Google's SDK makes a class that its HTTP library advises against.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

ANSWER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
SOME = [*zip(SDKS, [*[*PROVIDERS][1:], *[*PROVIDERS][:1]], strict=True), ("anthropic", "anthropic")]
"""Each dialect in front once and behind once, and one that is its own; ``make test WHAT=clients`` asks them all."""
COST = Usage(input_tokens=21, output_tokens=9)


def script():
    return [
        reply(
            "Let me see.",
            call("weather", id="call_0", city="Paris"),
            call("weather", id="call_1", city='Rome "Tor"'),
            usage=COST,
        ),
        reply("Sunny in Paris, wet in Rome.", usage=COST),
    ]


async def converse(sdk, *, stream):
    """Ask for two cities at once, answer, and ask on."""
    sdk.say("Weather in Paris and Rome?")
    first = await sdk.ask(stream=stream)
    sdk.answer(first, ["sunny", "wet"])
    return first, await sdk.ask(stream=stream)


def check(first, second, model):
    assert first.text == "Let me see."
    assert [(name, dict(arguments)) for _, name, arguments in first.calls] == [
        ("weather", {"city": "Paris"}),
        ("weather", {"city": 'Rome "Tor"'}),
    ]
    assert (first.stop, first.usage) == ("calls", (21, 9))
    assert len({identity for identity, _, _ in first.calls}) == 2
    assert (second.text, second.calls, second.stop) == ("Sunny in Paris, wet in Rome.", (), "end")
    asked = model.requests[1]
    (results,) = [message for message in asked.messages if isinstance(message, Results)]
    assert ["sunny" in results.results[0].text, "wet" in results.results[1].text] == [True, True]
    assert asked.system == "Be brief."
    assert [spec.name for spec in asked.specs] == ["weather"]


@pytest.mark.parametrize("behind", PROVIDERS)
@pytest.mark.parametrize("front", SDKS)
async def test_a_streamed_conversation_with_parallel_calls(front, behind):
    model = ScriptedModel(script())
    async with chain(behind, model) as (_, base), SDKS[front](base) as sdk:
        first, second = await converse(sdk, stream=True)
    check(first, second, model)


@pytest.mark.parametrize(("front", "behind"), SOME)
async def test_a_whole_conversation_with_parallel_calls(front, behind):
    model = ScriptedModel(script())
    async with chain(behind, model) as (_, base), SDKS[front](base) as sdk:
        first, second = await converse(sdk, stream=False)
    check(first, second, model)


@pytest.mark.parametrize("front", SDKS)
async def test_a_raw_model_behind_every_sdk(front):
    model = ScriptedModel(script())
    async with gateway({"m": model}) as (_, base), SDKS[front](base) as sdk:
        first, second = await converse(sdk, stream=True)
    check(first, second, model)


@pytest.mark.parametrize(("front", "behind"), SOME)
async def test_structured_output_reaches_the_model(front, behind):
    model = ScriptedModel([reply('{"n": 3}')])
    async with chain(behind, model) as (_, base), SDKS[front](base) as sdk:
        sdk.say("How many?")
        told = await sdk.ask(stream=False, tools=False, schema=ANSWER)
    assert told.text == '{"n": 3}'
    assert model.requests[0].output is not None
    assert model.requests[0].output["properties"] == {"n": {"type": "integer"}}
