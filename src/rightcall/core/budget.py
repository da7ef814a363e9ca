"""What a run may use, and why one ended."""

from typing import Literal, TypeAlias

from msgspec import Struct

LimitName: TypeAlias = Literal["turns", "calls", "seconds", "tokens", "cost", "repeats"]


class Budget(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What one run may use. Every run has a budget from birth; None lifts a limit."""

    turns: int | None = 32
    """How often the model may be asked."""
    calls: int | None = 128
    """How many calls may run."""
    seconds: float | None = 600.0
    """Wall time in the model and in tools; a run that is paused for a person spends none."""
    tokens: int | None = 2_000_000
    """Input and output tokens of all turns together, subagents' included."""
    cost: float | None = 10.0
    """US dollars, as far as prices are known: ``pip install 'rightcall[prices]'``."""
    repeats: int | None = 3
    """How often the same calls, or the same cycle of calls, may come in a row before the model is told;
    if it goes on, the run stops."""


StopWord: TypeAlias = Literal[
    "end",
    "stop_sequence",
    "length",
    "refusal",
    "filtered",
    "error",
    "output",
    "limit",
    "veto",
    "pending",
]


class Stop(Struct, frozen=True, gc=False, omit_defaults=True):
    """Why a run ended.

    ``end``: the model answered. ``output``: it gave the output asked for, or failed to, and ``detail``
    says so. ``limit``: the budget ended it, and ``limit`` says which part. ``pending``: it waits for
    decisions. ``veto``: a hook said no. The rest are the model's own reasons.
    """

    reason: StopWord
    limit: LimitName | None = None
    detail: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether the model said what it had to say."""
        return self.reason in {"end", "stop_sequence"} or (self.reason == "output" and not self.detail)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.reason, self.limit, self.detail)))
