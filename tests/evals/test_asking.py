"""Questions to a model: nothing runs, replies are recorded, and the record gives the same again."""

import json

import pytest

import rightcall as rc
from examples.vendor import vendor
from rightcall.errors import UsageError, VendorError
from rightcall.evals import Case, Expected, evaluate, load_catalogue, with_distractors
from rightcall.evals.report import lines_of
from rightcall.testing import Break, ScriptedModel, Turn, call, reply


@rc.tool
def get_weather(city: str) -> str:
    """Tell the weather."""
    raise AssertionError("an eval runs nothing")


@rc.tool
def send_mail(to: str) -> str:
    """Send a mail."""
    raise AssertionError("an eval runs nothing")


TOOLS = [get_weather, send_mail]


def weather(case_id: str, city: str) -> Case:
    expected = Expected(names=("get_weather",), arguments={"city": city})
    return Case(id=case_id, question=f"Weather in {city}?", calls=(expected,))


CASES = [
    weather("bern", "Bern"),
    weather("oslo", "Oslo"),
    Case(id="mail", question="Write to Bo.", calls=(Expected(names=("send_mail",)),)),
    Case(id="talk", question="Hello!"),
]
SAID = {
    "Weather in Bern?": reply(call("get_weather", city="Bern")),
    "Weather in Oslo?": reply(call("get_weather", city="oslo")),
    "Write to Bo.": reply(call("mail_send", to="Bo")),
    "Hello!": reply("Hello."),
}


def scripted(**changes) -> ScriptedModel:
    return ScriptedModel(lambda request: {**SAID, **changes}[request.messages[-1].text])


async def test_the_figures_of_a_model():
    scores = await evaluate(CASES, scripted(), TOOLS, name="m")
    assert "\n".join(lines_of(scores, wrong=True)) == (
        "m: 4 questions, 2 tools offered\n"
        "  choice       3/4   75%  [30%, 95%]\n"
        "  arguments    1/2   50%  [9%, 91%]\n"
        "  by tool\n"
        "    get_weather  2/2  100%  [34%, 100%]   arguments 1/2\n"
        "    send_mail    0/1    0%  [0%, 79%]\n"
        "    none         1/1  100%  [21%, 100%]\n"
        "  expected, and called in its place\n"
        "    send_mail -> mail_send: 1\n"
        "  invented names: 1: mail_send (1)\n"
        "  tokens: 40 in, 20 out, 15 a question\n"
        "  oslo: Weather in Oslo?\n"
        '      expected get_weather, got get_weather {"city":"oslo"}\n'
        "  mail: Write to Bo.\n"
        '      expected send_mail, got mail_send {"to":"Bo"}'
    )


async def test_the_journal_gives_the_same_without_a_model(tmp_path):
    journal = rc.record.JsonLinesJournal(tmp_path / "evals.jsonl")
    first = await evaluate(CASES, scripted(), TOOLS, name="m", journal=journal)
    silent = ScriptedModel([])
    assert await evaluate(CASES, silent, TOOLS, name="m", journal=journal) == first
    assert await evaluate(CASES, None, TOOLS, name="m", journal=journal) == first
    assert silent.requests == []
    with pytest.raises(UsageError, match="by the model's name, too"):
        await evaluate(CASES, silent, TOOLS, journal=journal)
    assert len(journal.runs()) == len(CASES)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"tools": [get_weather.replace(description="Say what the sky does."), send_mail]},
        {"system": "Be brief."},
        {"max_tokens": 5},
        {"options": {"temperature": 0.5}},
        {"choice": "required"},
        {"cases": [CASES[0], weather("rome", "Rome")]},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_whatever_changes_the_request_is_not_recorded(change):
    journal = rc.record.MemoryJournal()
    given = {"cases": CASES[:2], "tools": TOOLS, "name": "m"}
    await evaluate(model=scripted(), journal=journal, **given)
    with pytest.raises(UsageError, match=r"\d of 2 questions are not recorded"):
        await evaluate(model=None, journal=journal, **{**given, **change})


async def test_a_reply_that_broke_off_is_wrong_and_asked_again():
    journal = rc.record.MemoryJournal()
    broken = Turn(breaks=Break(0, VendorError("overloaded")))
    ended = Turn(reply=reply("Hel"), breaks=Break(1))
    model = scripted(**{"Hello!": broken, "Write to Bo.": ended})
    scores = await evaluate(CASES, model, TOOLS, name="m", journal=journal)
    assert [(each.id, each.error) for each in scores.errors] == [
        ("mail", "the reply has no end"),
        ("talk", "overloaded"),
    ]
    assert scores.by_tool["none"].right == 0
    again = await evaluate(CASES, scripted(), TOOLS, name="m", journal=journal)
    assert (again.errors, again.by_tool["none"].right) == ([], 1)


async def test_when_no_question_gets_a_reply_the_reason_is_raised():
    refusing = ScriptedModel(lambda _: Turn(breaks=Break(0, VendorError("no such key"))))
    with pytest.raises(VendorError, match="no such key"):
        await evaluate(CASES, refusing, TOOLS)


async def test_a_vendor_is_asked_over_http_and_a_wrong_key_is_raised():
    def script(body):
        asked = body["messages"][-1]["content"]
        return [("get_weather", {"city": "Bern"})] if "Bern" in asked else "Hello."

    async with vendor(script) as found:
        async with rc.connect(f"{found.url}/v1|m", api_key="k") as model:
            scores = await evaluate([CASES[0], CASES[3]], model, TOOLS)
        assert [each.right for each in scores.verdicts] == [True, True]
        assert len(found.requests) == 2
    async with (
        vendor(script, status=401) as found,
        rc.connect(f"{found.url}/v1|m", api_key="k") as model,
    ):
        with pytest.raises(VendorError, match="authentication_error"):
            await evaluate(CASES, model, TOOLS)


async def test_the_same_question_is_asked_once():
    model = scripted()
    twice = [CASES[0], weather("again", "Bern")]
    scores = await evaluate(twice, model, TOOLS)
    assert (len(model.requests), scores.choice.right) == (1, 2)


async def test_to_ask_none_at_once_is_refused_and_does_not_wait_forever():
    with pytest.raises(UsageError, match="at_once=0 asks nothing"):
        await evaluate(CASES, scripted(), TOOLS, at_once=0)


@pytest.mark.parametrize(
    ("said", "words"),
    [({"choice": "requird"}, "did you mean 'required'"), ({"tilte": "x"}, "did you mean 'title'")],
)
async def test_what_is_misspelt_is_not_measured_without_it(said, words):
    with pytest.raises(UsageError, match=words):
        await evaluate(CASES, scripted(), TOOLS, **said)


async def test_a_case_whose_tool_is_not_offered_is_refused():
    with pytest.raises(UsageError, match="case bern: no tool 'get_weather' is offered; there is send"):
        await evaluate(CASES, scripted(), [send_mail])
    either = Case(id="1", question="Hello!", calls=(Expected(names=("get_wether", "sky")),))
    with pytest.raises(
        UsageError, match="no tool 'get_wether' or 'sky' is offered; did you mean 'get_w"
    ):
        await evaluate([either], scripted(), TOOLS)
    fair = Case(id="1", question="Weather in Bern?", calls=(Expected(names=("sky", "get_weather")),))
    assert (await evaluate([fair], scripted(), TOOLS)).choice.right == 1


def spec(name: str) -> rc.tools.Spec:
    return rc.tools.Spec(name=name, description="", parameters={"type": "object"})


async def test_distractors_are_drawn_the_same_and_smaller_draws_are_part_of_larger():
    own = [tool.spec for tool in TOOLS]
    catalogue = [spec(f"t{at}") for at in range(40)] + [spec("get_weather")]
    draws = {n: {each.name for each in with_distractors(own, n, catalogue)} for n in (2, 5, 15)}
    assert {n: len(names) for n, names in draws.items()} == {2: 2, 5: 5, 15: 15}
    assert draws[2] < draws[5] < draws[15]
    assert with_distractors(own, 15, catalogue) == with_distractors(own, 15, catalogue)
    assert with_distractors(own, 15, catalogue) != with_distractors(own, 15, catalogue, seed=1)
    model = scripted()
    scores = await evaluate(CASES, model, TOOLS, size=15, catalogue=catalogue)
    assert scores.tools == len(model.requests[0].specs) == 15
    with pytest.raises(UsageError, match="1 tools cannot hold the 2"):
        with_distractors(own, 1, catalogue)
    with pytest.raises(UsageError, match="98 others, and the catalogue has 40"):
        with_distractors(own, 100, catalogue)


PLAIN = {"type": "object", "properties": {"x": {"type": "string"}}}
SHAPES = [
    [{"type": "function", "function": {"name": "a.b", "description": "Do.", "parameters": PLAIN}}],
    {"tools": [{"name": "a.b", "description": "Do.", "inputSchema": PLAIN}]},
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a.b", "inputSchema": PLAIN}]}},
    [{"package": "x", "tools": [{"name": "a.b", "inputSchema": PLAIN}, {"name": "a.b"}]}],
    {"functionDeclarations": [{"name": "a.b", "parameters": PLAIN}]},
]


@pytest.mark.parametrize("shape", SHAPES, ids=("openai", "mcp", "rpc", "servers", "gemini"))
def test_a_catalogue_comes_in_any_shape(tmp_path, shape):
    (tmp_path / "c.json").write_text(json.dumps(shape))
    (found,) = load_catalogue(tmp_path / "c.json")
    assert (found.name, found.parameters) == ("a_b", PLAIN)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "stops before"),
        ("[]", "no tool def"),
        ("[1]", "holds objects"),
        ("[{}]", "has a name, and this has no members"),
    ],
)
def test_what_is_no_catalogue_is_refused(tmp_path, text, words):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(UsageError, match=words):
        load_catalogue(tmp_path / "c.json")


@rc.tool(examples=[{"minutes": 10}], questions=["Wake me in 10 minutes."])
def set_timer(minutes: int) -> str:
    """Set a timer for so many minutes."""
    raise AssertionError("an eval runs nothing")


async def test_the_embedded_model_is_asked_for_real():
    expected = Expected(names=("set_timer",), arguments={"minutes": 25})
    case = Case(id="timer", question="Set a timer for 25 minutes.", calls=(expected,))
    model = rc.connect("embedded")
    scores = await evaluate([case], model, [set_timer], choice="required", max_tokens=32)
    assert (scores.choice.right, scores.arguments.right) == (1, 1)
    # The number stands in the question, and there is one tool: words decide, and nothing is generated.
    assert scores.usage.output_tokens == 0
