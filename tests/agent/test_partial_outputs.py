"""Answers while they are written: the same from every dialect, mode and family, and never taken back."""

from asyncio import get_running_loop, sleep
from dataclasses import dataclass, field
from gc import collect
from time import process_time
from typing import TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Field

from local.kit import ScriptedEngine
from rightcall import Agent, Output
from rightcall.core.events import CallStart, OutputDelta, SubagentEvent, TextDelta
from rightcall.core.jsontext import parse
from rightcall.core.request import Profile
from rightcall.errors import NoOutput
from rightcall.local import LocalModel
from rightcall.loop.result import RunEnd
from rightcall.testing import ScriptedModel, Turn, call, reply
from rightcall.wire.dialects import load
from wire.streams import STREAMS

pytestmark = pytest.mark.usefixtures("nothing_is_left")


class Line(BaseModel):
    name: str
    count: int = 1


class Order(BaseModel):
    """An order."""

    number: int
    customer: str
    lines: list[Line] = []
    paid: bool | None = None
    note: str | None = Field(None, alias="remark")


SAID = (
    '{"number": 1705, "customer": "Zoë \\"Z\\" 😀", "lines": [{"name": "pen"}, '
    '{"name": "cup", "count": 20}], "paid": true, "remark": "a\\nb"}'
)
WHOLE = Order.model_validate_json(SAID)


class Replayed:
    """A model whose vendor sent these bytes."""

    def __init__(self, dialect, mode, pieces, *, at_once=False):
        self._at_once = at_once
        kind = "arguments" if mode == "tool" else "text"
        sent = [each.replace(b'"f"', b'"final_answer"') for each in STREAMS[dialect, kind](pieces)]
        self._decoder = load(dialect).Decoder
        self._sent = sent
        self.profile = Profile(structured=mode)

    async def stream(self, request):
        decoder = self._decoder()
        for each in self._sent:
            for event in decoder.feed(each):
                yield event
            for _ in range(0 if self._at_once else 3):
                # So that each piece is seen before the next comes: a view is of now.
                await sleep(0)
        for event in decoder.finish():
            yield event


def is_part_of(before, after) -> bool:
    """Whether nothing of a JSON value has gone: texts, lists and objects have only grown."""
    match before, after:
        case str(), str():
            return after.startswith(before)
        case dict(), dict():
            return all(key in after and is_part_of(before[key], after[key]) for key in before)
        case list(), list():
            return len(before) <= len(after) and all(map(is_part_of, before, after))
        case _:
            return type(before) is type(after) and before == after


async def seen(model, output=Order, **options):
    """What a stream's deltas showed, each as JSON, and its other events."""
    shown = []
    rest = []
    async for event in Agent(model, output=output, **options).stream("Which?"):
        if isinstance(event, OutputDelta):
            value = event.so_far.json.value
            shown.append(msgspec.json.decode(msgspec.json.encode(value)))
        else:
            rest.append(event)
    return shown, rest


DIALECTS = ["anthropic", "openai_chat", "openai_responses", "gemini", "gemini_interactions", "bedrock"]
KINDS = {dialect: [kind for name, kind in STREAMS if name == dialect] for dialect in DIALECTS}
WAYS = [
    (dialect, mode)
    for dialect in DIALECTS
    for mode in ("native", "tool", "text", "json")
    # Bedrock's frames have checksums, which another tool's name would break.
    if ("text" if mode != "tool" else "arguments" if dialect != "bedrock" else "") in KINDS[dialect]
]


@pytest.mark.parametrize(("dialect", "mode"), WAYS)
async def test_an_answer_only_grows_and_ends_as_the_output(dialect, mode):
    shown, rest = await seen(Replayed(dialect, mode, list(SAID)))
    told = [each for each in shown if each is not None]
    assert all(map(is_part_of, told, told[1:]))
    assert told[-1] == parse(SAID)
    assert len({msgspec.json.encode(each) for each in told}) > 25
    assert not [event for event in rest if isinstance(event, TextDelta)]
    assert rest[-1].result.output == WHOLE


@pytest.mark.parametrize(("dialect", "mode"), [way for way in WAYS if way[1] in ("native", "tool")])
async def test_an_answer_may_be_cut_anywhere(dialect, mode):
    for at in range(1, len(SAID), 3):
        (first, last), rest = await seen(Replayed(dialect, mode, [SAID[:at], SAID[at:]]))
        assert is_part_of(first, last)
        assert (last, rest[-1].result.output) == (parse(SAID), WHOLE)


@pytest.mark.parametrize("family", ["hermes", "generic", "xlam", "qwen3_coder", "lfm2", "olmo3"])
@pytest.mark.parametrize("mode", ["native", "text"])
async def test_a_local_family_shows_the_same(family, mode):
    engine = ScriptedEngine(SAID)
    async with LocalModel(engine, family=family) as model:
        shown, rest = await seen(model, output=Output(Order, mode=mode))
    told = [each for each in shown if each is not None]
    assert (told[-1], rest[-1].result.output) == (parse(SAID), WHOLE)
    assert all(map(is_part_of, told, told[1:]))
    assert not [event for event in rest if isinstance(event, TextDelta)]


async def test_a_part_has_the_attributes_of_its_type():
    parts = []
    agent = Agent(Replayed("anthropic", "tool", list(SAID)), output=Order)
    stream = agent.stream("Which?")
    async for order in stream.outputs():
        assert order.number in (None, 1705)
        if isinstance(order, Order):
            break
        names = [line.name for line in order.lines or []]
        parts.append((order.customer, names, order.note))
        with pytest.raises(AttributeError, match="Order has no field 'numbr'"):
            _ = order.numbr
    assert (None, [], None) in parts
    assert ("Zo", [], None) in parts
    assert ('Zoë "Z" 😀', ["pen", "c"], None) in parts
    assert parts[-1] == ('Zoë "Z" 😀', ["pen", "cup"], "a\nb")
    assert (order, stream.result.output) == (WHOLE, WHOLE)


@dataclass
class Place:
    city: str
    near: "list[Place]" = field(default_factory=list)


class Note(msgspec.Struct, rename="camel"):
    short_text: str


class Row(TypedDict):
    key: str


FORMS = [
    (
        Place,
        '{"answer": {"city": "Oslo", "near": [{"city": "Moss"}]}}',
        lambda v: v.near[0].city,
        "Moss",
    ),
    (Note, '{"answer": {"shortText": "hm"}}', lambda v: v.short_text, "hm"),
    (Row, '{"answer": {"key": "a"}}', lambda v: v["key"], "a"),
    (list[Place], '{"answer": [{"city": "Oslo"}, {"city": "Moss"}]}', lambda v: v[-1].city, "Moss"),
    (Place | None, '{"answer": {"city": "Oslo"}}', lambda v: v.city, "Oslo"),
    (list[int], '{"answer": [1, 2]}', list, [1, 2]),
    (str, '{"answer": "hello"}', lambda v: v, "hello"),
    (int, '{"answer": 5 }', lambda v: v, 5),
    (dict[str, int], '{"answer": {"a": 1}}', lambda v: v["a"], 1),
]


@pytest.mark.parametrize(("kind", "said", "look", "value"), FORMS)
async def test_parts_of_every_type_end_as_the_whole(kind, said, look, value):
    outputs = []
    agent = Agent(ScriptedModel([said]), output=Output(kind, mode="text"))
    async for output in agent.stream("?").outputs():
        outputs.append(output)
    assert [look(each) for each in outputs[-2:]] == [value, value]


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "\n```\n {} \n```\n", "\n  {}"])
async def test_a_code_fence_is_neither_answer_nor_text(fence):
    said = fence.replace("{}", SAID)
    shown, rest = await seen(Replayed("openai_chat", "text", list(said)))
    assert shown[-1] == parse(SAID)
    assert not [event for event in rest if isinstance(event, TextDelta)]


@pytest.mark.parametrize("prose", ["Let me see.", "``` no", "`x", "```python\nx", "  "])
async def test_text_that_is_no_answer_stays_text(prose):
    model = ScriptedModel([prose, SAID])
    shown, rest = await seen(model, output=Output(Order, mode="text"))
    said = "".join(event.text for event in rest if isinstance(event, TextDelta))
    assert (said, shown[-1]) == (prose, parse(SAID))


async def test_words_beside_a_call_of_the_answer_tool_stay_text():
    model = ScriptedModel([reply("Here it is.", call("final_answer", answer=5))])
    shown, rest = await seen(model, output=Output(int, mode="tool"))
    assert "".join(event.text for event in rest if isinstance(event, TextDelta)) == "Here it is."
    assert shown[-1] == {"answer": 5}
    assert [event.name for event in rest if isinstance(event, CallStart)] == ["final_answer"]


async def test_an_answer_that_is_refused_is_shown_again_from_its_beginning():
    model = ScriptedModel(['{"answer": "x"}', '{"answer": 7 }'])
    shown, _ = await seen(model, output=Output(int, mode="text"))
    assert shown[-1] == {"answer": 7}
    with pytest.raises(NoOutput):
        async for _ in (
            Agent(ScriptedModel(["No."]), output=Output(int, mode="text", retries=0))
            .stream("?")
            .outputs()
        ):
            pass


async def test_a_subagents_answer_is_shown_as_its_own():
    helper = Agent(ScriptedModel(['{"answer": 5 }']), name="helper", output=Output(int, mode="text"))
    model = ScriptedModel([reply(call("helper", task="count")), "Five."])
    events = [event async for event in Agent(model, [helper.as_tool()]).stream("?")]
    inner = [event.event for event in events if isinstance(event, SubagentEvent)]
    assert [e.partial for e in inner if isinstance(e, OutputDelta)][-1] == 5
    assert isinstance(events[-1], RunEnd)
    assert not [event for event in events if isinstance(event, OutputDelta)]


async def test_a_delta_costs_little_more_than_one_of_text():
    text = '{"answer": "' + "word " * 50_000 + '"}'

    async def spend(output):
        model = Replayed(
            "openai_chat", "text", [text[at : at + 5] for at in range(0, len(text), 5)], at_once=True
        )
        agent = Agent(model, output=output) if output else Agent(model)
        began = process_time()
        count = 0
        async for event in agent.stream("?"):
            count += isinstance(event, TextDelta | OutputDelta)
        assert count >= 50_000
        return process_time() - began

    plain = min([await spend(None) for _ in range(3)])
    with_output = min([await spend(Output(str, mode="text")) for _ in range(3)])
    assert with_output < plain * 1.3


@pytest.mark.parametrize("then", ["outputs", "events"])
async def test_after_a_loop_that_was_left_another_reads_on(then):
    unseen = []
    get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    model = ScriptedModel([Turn(reply=reply(call("final_answer", SAID)), pause=0.0001)])
    stream = Agent(model, output=Output(Order, mode="tool")).stream("?")
    async for _ in stream.outputs():
        break
    rest = [each async for each in (stream.outputs() if then == "outputs" else stream)]
    collect()
    await sleep(0)
    assert (rest[-1] if then == "outputs" else stream.result.output).number == 1705
    assert unseen == []
