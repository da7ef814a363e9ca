"""What tools cost a model: tokens, share, verdicts and money."""

import logging

import pytest

import rightcall as rc
from local.kit import ScriptedEngine
from rightcall.core.message import text_tokens
from rightcall.errors import UsageError
from rightcall.local.local_model import LocalModel
from rightcall.testing import ScriptedModel
from rightcall.tools.token_cost import ESTIMATE, OWN, choice_cost

TEMPLATE = (
    "{% if tools %}TOOLS{% for t in tools %}[{{ t | tojson }}]{% endfor %}END{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
)


def made(name: str, words: int = 1) -> rc.Tool:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return rc.Tool(name, " ".join(["word"] * words), schema)


MODELS = ["anthropic:m", "openai:m", "openai-responses:m", "gemini:m", "bedrock:m", "cohere:m"]


@pytest.mark.parametrize("model", MODELS)
def test_every_dialect_is_asked_for_what_it_sends(model, monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    found = rc.tools.footprint([made("forecast"), made("history", words=400)], model)
    short, long = found.tools
    assert (short.name, long.name, found.counted) == ("forecast", "history", ESTIMATE)
    # Four letters and a space of each word, and as much around the tool whatever its words are.
    assert 498 <= long.tokens - short.tokens <= 501
    assert 25 <= short.tokens <= 90
    assert found.tokens == short.tokens + long.tokens


class CountingEngine(ScriptedEngine):
    async def count_tokens(self, text: str) -> int:
        return len(text)


def test_a_local_model_counts_by_its_own_tokenizer_what_its_template_writes():
    engine = CountingEngine(template=TEMPLATE)
    found = rc.tools.footprint([made("forecast")], LocalModel(engine))
    (weight,) = found.tools
    assert found.counted == OWN
    assert weight.tokens > len('[{"type": "function", "function": {"name": "forecast"}}]')
    twice = rc.tools.footprint([made("forecast"), made("tomorrow")], LocalModel(engine))
    assert [each.tokens for each in twice.tools] == [weight.tokens] * 2


def test_verdicts_rise_with_the_number_and_with_the_share():
    def levels(number, **options):
        return [
            v.level
            for v in rc.tools.footprint([made(f"t{n}") for n in range(number)], **options).verdicts
        ]

    assert [levels(number)[0] for number in (5, 6, 15, 16, 20, 21)] == [
        *("fine", "note", "note", "warning", "warning", "over")
    ]
    assert levels(2, thresholds={"tools": (0, 1, 2)}) == ["warning", "fine"]
    small = ScriptedModel([], profile=rc.models.Profile(context_window=1000))
    shares = [rc.tools.footprint(made("t", words), small).verdicts[1].level for words in (1, 40, 200)]
    assert shares == ["fine", "warning", "over"]
    with pytest.raises(UsageError, match="tools must rise"):
        rc.tools.footprint(made("t"), thresholds={"tools": (9, 5, 1)})
    for odd in ((), (1, 2), (1, 2, "3"), (1, 2, float("nan"))):
        with pytest.raises(UsageError, match="tools are 3 numbers"):
            rc.tools.footprint(made("t"), thresholds={"tools": odd})
    with pytest.raises(UsageError, match='no "tolls"'):
        rc.tools.footprint(made("t"), thresholds={"tolls": (1, 2, 3)})
    with pytest.raises(UsageError, match="a turn at least"):
        rc.tools.footprint(made("t"), turns=0)


def test_sending_them_again_is_counted_with_and_without_a_cache():
    pytest.importorskip("genai_prices")
    found = rc.tools.footprint(made("t", 1000), "anthropic:claude-opus-4-5", turns=20)
    again = found.resent
    assert (again.turns, again.tokens) == (20, 20 * found.tokens)
    assert again.cost == pytest.approx(found.tokens * 20 * 5e-6)
    # Written once at 1.25 times the price, and read nineteen times at a tenth of it.
    assert again.cached_cost == pytest.approx(found.tokens * 5e-6 * (1.25 + 1.9))
    assert f"over 20 turns: {again.tokens:,} tokens, $" in str(found)
    assert "496 tokens a turn, 588 where a call is forced" in str(found)
    assert rc.tools.footprint(made("t")).resent.cost is None


def test_what_an_agent_would_send_is_what_is_counted():
    box = [made(f"tool_{n}", 100) for n in range(30)]
    full, lines = rc.tools.footprint(box), rc.tools.footprint(box, descriptions="lines")
    found = rc.tools.footprint(box, defer=True)
    assert [weight.name for weight in found.tools] == ["search_tools"]
    assert [weight.name for weight in lines.tools] == ["tool_lookup"]
    assert found.tokens < lines.tokens < full.tokens / 2


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("anthropic:claude-opus-4-8", (290, 410)),
        ("claude-opus-4-20250514", (313, 315)),
        ("bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0", (496, 588)),
        ("vertex-anthropic:claude-haiku-4-5@20251001", (496, 588)),
        ("claude-opus-4-99", None),
        ("openai:gpt-5", None),
    ],
)
def test_what_a_vendor_publishes_of_forced_choices_is_known_by_model(model, cost):
    assert choice_cost(model) == cost


MANY = [made(f"tool_{n}") for n in range(21)]


def test_an_agent_warns_once_when_it_is_made(caplog):
    agent = rc.Agent(ScriptedModel(["Yes.", "No."]), MANY)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "21 tools: defer them" in record.getMessage()
    agent.run_sync("Well?")
    rc.Agent(ScriptedModel([]), MANY, footprint="off")
    rc.Agent(ScriptedModel([]), MANY, defer=True)
    rc.Agent(ScriptedModel([]), MANY[:20])
    rc.Agent(ScriptedModel([]), MANY, footprint={"tools": (5, 15, 30)})
    assert caplog.records == [record]


def test_an_agent_refuses_where_it_is_told_to():
    with pytest.raises(UsageError, match="21 tools: defer them"):
        rc.Agent(ScriptedModel([]), MANY, footprint="refuse")
    small = ScriptedModel([], profile=rc.models.Profile(context_window=1000))
    with pytest.raises(UsageError, match="of a context of 1,000"):
        rc.Agent(small, made("t", 200), footprint={"share": (0.1, 0.2), "then": "refuse"})


def test_text_is_counted_as_it_is_sent():
    sent = rc.connect("openai:m", api_key="k").tools_as_sent([made("forecast").spec])
    assert sent["forecast"].startswith('{"type":"function","function":{"name":"forecast"')
    assert rc.tools.footprint(made("forecast"), "openai:m").tokens == text_tokens(sent["forecast"])
