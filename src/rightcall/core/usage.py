"""What a model's work cost."""

from msgspec import Struct


class Usage(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Tokens and money. Cached and reasoning tokens are parts of input and output, not on top."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that the vendor had in its cache."""
    cache_written_tokens: int = 0
    """Input tokens that the vendor put into its cache."""
    reasoning_tokens: int = 0
    cost: float | None = None
    """US dollars, where the price is known."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=sum(known) if known else None,
        )
