"""What replies cost: the tables' own sums, and how often the tables are asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

genai_prices = pytest.importorskip("genai_prices")

from genai_prices import data_snapshot  # noqa: E402

from rightcall.core.message import Reply  # noqa: E402
from rightcall.core.parts import Usage  # noqa: E402
from rightcall.models.prices import Prices, prices_of  # noqa: E402

MODELS = [
    ("openai", "gpt-5"),
    ("anthropic", "claude-opus-4-8"),
    ("google", "gemini-2.5-pro"),
    ("deepseek", "deepseek-chat"),
    ("groq", "llama-3.3-70b-versatile"),
]
counts = st.integers(0, 400_000) | st.sampled_from([0, 199_999, 200_000, 200_001])


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_a_reply_costs_what_the_tables_say(provider, model):
    prices = Prices(provider, model)

    @given(counts, counts, counts, counts)
    def holds(fresh, cached, written, output):
        read = fresh + cached + written
        told = genai_prices.Usage(
            input_tokens=read,
            output_tokens=output,
            cache_read_tokens=cached,
            cache_write_tokens=written,
        )
        theirs = genai_prices.calc_price(told, model_ref=model, provider_id=provider).total_price
        usage = Usage(
            input_tokens=read,
            output_tokens=output,
            cached_tokens=cached,
            cache_written_tokens=written,
        )
        assert prices.cost(Reply((), usage=usage)) == pytest.approx(float(theirs), rel=1e-9, abs=1e-12)

    holds()


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_counts_that_cannot_be_are_priced_and_do_not_raise(provider, model):
    usage = Usage(input_tokens=5, cached_tokens=10, cache_written_tokens=7, output_tokens=1)
    assert Prices(provider, model).cost(Reply((), usage=usage)) > 0


def test_the_tables_are_not_asked_for_a_reply_until_they_are_brought_up_to_date(monkeypatch):
    asked = []
    real = data_snapshot.get_snapshot()

    class Tables:
        def calc(self, *given):
            asked.append(given)
            return real.calc(*given)

    first, second = Tables(), Tables()
    now = [first]
    monkeypatch.setattr(data_snapshot, "get_snapshot", lambda: now[0])
    prices = Prices("openai", "gpt-5")
    spent = Reply((), usage=Usage(input_tokens=1_000_000))
    before, cost = len(asked), prices.cost(spent)
    assert (len(asked), cost) == (before, 1.25)
    now[0] = second
    assert (prices.cost(spent), len(asked) > before) == (cost, True)


def test_a_model_that_the_tables_do_not_have_has_no_prices():
    assert (prices_of("openai", "no-such-model"), prices_of("", "gpt-5")) == (None, None)


def test_what_an_advisor_took_costs_what_the_advisor_costs():
    own, advice = (
        Usage(input_tokens=1_000, output_tokens=100),
        Usage(input_tokens=500, output_tokens=900),
    )
    asked, advisor = Prices("anthropic", "claude-haiku-4-5"), Prices("anthropic", "claude-opus-4-8")
    reply = Reply((), usage=own + advice, elsewhere={"claude-opus-4-8": advice})
    apart = asked.cost(Reply((), usage=own)) + advisor.cost(Reply((), usage=advice))
    assert asked.cost(reply) == pytest.approx(apart)
    assert asked.cost(reply) > asked.cost(Reply((), usage=own + advice))
    lies = {"nobody-9": advice, "claude-opus-4-8": Usage(input_tokens=-9), "claude-opus-4-7": own + own}
    for name, usage in lies.items():
        reply = Reply((), usage=own + advice, elsewhere={name: usage})
        assert asked.cost(reply) == asked.cost(Reply((), usage=own + advice))


def test_a_model_is_looked_up_once_and_again_when_the_tables_are_updated(monkeypatch):
    real = data_snapshot.get_snapshot()

    class Tables:
        def __init__(self, known):
            self.known = known
            self.asked = 0

        def calc(self, usage, model, *rest):
            self.asked += 1
            return real.calc(usage, self.known[model], *rest)

    old = Tables({"gpt-5": "gpt-5"})
    new = Tables({"gpt-5": "gpt-5", "gpt-5-next": "gpt-5"})
    now = [old]
    monkeypatch.setattr(data_snapshot, "get_snapshot", lambda: now[0])
    prices = prices_of("openai", "gpt-5")
    assert prices_of("openai", "gpt-5-next") is None
    asked = old.asked
    assert prices_of("openai", "gpt-5") is prices
    assert prices_of("openai", "gpt-5-next") is None
    assert old.asked == asked
    now[0] = new
    assert prices_of("openai", "gpt-5-next").context_window == prices.context_window
    assert prices_of("openai", "gpt-5") is not prices
