"""A model's prices and context window, from the price tables of ``genai-prices``.

A model has one rate for each kind of token, or one for each size of request. The rates are read once, so
that the cost of a reply is a sum of four products; they are read again when the tables are updated, and
every time for a model whose rates depend on the hour.
"""

from bisect import bisect_left
from functools import cache
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from rightcall.core.message import Reply
from rightcall.core.parts import Usage

_MANY = 1_000_000
_MOST_MODELS = 500
"""How many models' prices are kept, where somebody asks for names without end."""


class _Rates(Struct, frozen=True):
    """Dollars for one token of each kind."""

    input: float
    cached: float
    written: float
    output: float

    def cost(self, usage: Usage) -> float:
        fresh = max(usage.input_tokens - usage.cached_tokens - usage.cache_written_tokens, 0)
        return (
            fresh * self.input
            + usage.cached_tokens * self.cached
            + usage.cache_written_tokens * self.written
            + usage.output_tokens * self.output
        )


class Prices:
    """The prices of one provider's model. Raises LookupError if the tables do not have it."""

    def __init__(self, provider: str, model: str) -> None:
        library = _library()
        self._told = library.Usage
        self._tables = library.data_snapshot.get_snapshot
        self._provider = provider
        self._model = model
        self._look_up()

    def _look_up(self) -> None:
        self._seen = self._tables()
        one = self._told(input_tokens=1)
        found = self._seen.calc(one, self._model, self._provider, None, None)
        self.context_window: int | None = found.model.context_window
        self._read(found.model.prices)

    def cost(self, reply: Reply) -> float:
        """The cost of a reply in US dollars, including other models' share."""
        own = reply.usage
        others = 0.0
        for name, usage in reply.elsewhere.items():
            # Models not in the tables are priced like this one, and so are inconsistent counts.
            prices = prices_of(self._provider, name)
            if prices is not None and _is_part(usage, own):
                own = own - usage
                others = others + prices.cost(Reply((), usage=usage))
        return self._cost(own) + others

    def _cost(self, usage: Usage) -> float:
        if self._tables() is not self._seen:
            self._look_up()
        if self._rates:
            return self._rates[bisect_left(self._starts, usage.input_tokens)].cost(usage)
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_written_tokens, usage.input_tokens - cached)
        return self._dollars(usage.input_tokens, cached, written, usage.output_tokens)

    def _dollars(self, read: int, cached: int, written: int, output: int) -> float:
        told = self._told(
            input_tokens=read, output_tokens=output, cache_read_tokens=cached, cache_write_tokens=written
        )
        return float(self._seen.calc(told, self._model, self._provider, None, None).total_price)

    def _read(self, prices: Any) -> None:
        """Store the rates for each kind of token, for each range of request sizes."""
        from genai_prices.types import ModelPrice, TieredPrices  # noqa: PLC0415 - an optional extra

        self._rates: list[_Rates] = []
        self._starts: list[int] = []
        if not isinstance(prices, ModelPrice) or self._dollars(0, 0, 0, 0):
            return
        tiers = [each.tiers for each in vars(prices).values() if isinstance(each, TieredPrices)]
        self._starts = sorted({tier.start for each in tiers for tier in each})
        # Each start is the last size at the previous rates; beyond the last start, any size will do.
        sizes = [*self._starts, max([_MANY, *self._starts]) + 1]
        for size in sizes:
            fresh = self._dollars(size, 0, 0, 0)
            rates = _Rates(
                input=fresh / size,
                cached=self._dollars(size, size, 0, 0) / size,
                written=self._dollars(size, 0, size, 0) / size,
                output=(self._dollars(size, 0, 0, _MANY) - fresh) / _MANY,
            )
            self._rates.append(rates)


def _is_part(usage: Usage, whole: Usage) -> bool:
    rest = whole - usage
    counts = [usage.input_tokens, usage.cached_tokens, usage.cache_written_tokens, usage.output_tokens]
    left = [rest.input_tokens, rest.cached_tokens, rest.cache_written_tokens, rest.output_tokens]
    return min(counts + left) >= 0


_found: dict[tuple[str, str], Prices | None] = {}
"""The models that were looked up, which takes as long as a turn."""
_found_in: object = None
"""The state of the tables that they were looked up in."""


def prices_of(provider: str, model: str) -> Prices | None:
    """The prices of a model; None if there are no tables, or if they do not have it."""
    global _found_in  # noqa: PLW0603 - the tables may be updated while the program runs
    library = _library() if provider else None
    if library is None:
        return None
    tables = library.data_snapshot.get_snapshot()
    if tables is not _found_in or len(_found) >= _MOST_MODELS:
        _found.clear()
        _found_in = tables
    key = (provider, model)
    if key not in _found:
        try:
            _found[key] = Prices(provider, model)
        except LookupError:
            _found[key] = None
    return _found[key]


@cache
def _library() -> Any:
    """The library with the tables, an optional extra; None if it is not installed."""
    if find_spec("genai_prices") is None:
        return None
    import genai_prices.data_snapshot  # noqa: PLC0415 - an optional extra

    return genai_prices
