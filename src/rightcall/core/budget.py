"""The limits of a run, and why a run ended."""

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from rightcall.core.options import TypeCheckedMeta
from rightcall.errors import UsageError

LimitName: TypeAlias = Literal["turns", "calls", "seconds", "tokens", "cost", "repeats"]
_AMOUNTS = (*get_args(LimitName), "failures")

DEFAULT_COST = 10.0
"""US dollars. The default limit, which applies only if prices are known."""


class Budget(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, metaclass=TypeCheckedMeta):
    """Limits of one run. Every run has these by default; None lifts a limit."""

    turns: int | None = 32
    """How often the model may be asked."""
    calls: int | None = 128
    """How many calls may run."""
    seconds: float | None = 600.0
    """Wall time in the model and in tools. A run that is paused for approval spends none."""
    tokens: int | None = 2_000_000
    """Input and output tokens of all turns, including subagents."""
    cost: float | None = DEFAULT_COST
    """US dollars, if prices are known: ``pip install 'rightcall[prices]'``. If you set a limit and the
    model's price is unknown, the limit cannot be enforced, and a warning is logged."""
    repeats: int | None = 3
    """How often the same calls, or the same cycle of calls, may come in a row before the model is
    warned; if it continues, the run stops."""
    failures: int | None = 8
    """How often in a row a tool may fail before the run leaves it alone: later calls of it are not run.
    Only a call that returns ends the row; a refusal in a tool's own words is not counted."""
    strict: bool = False
    """Refuse to run a model with an unknown price, instead of warning that ``cost`` is not enforced."""

    def __post_init__(self) -> None:
        for name in _AMOUNTS:
            amount = getattr(self, name)
            # Written so that it also refuses nan, which no amount would ever exceed.
            if amount is not None and not amount >= 0:
                raise UsageError(
                    f"rc.Budget: {name} must not be less than 0, not {amount!r}; None lifts it"
                )


StopWord: TypeAlias = Literal[
    "end",
    "stop_sequence",
    "length",
    "refusal",
    "filtered",
    "error",
    "output",
    "no_output",
    "limit",
    "veto",
    "pending",
    "stopped",
]


class Stop(Struct, frozen=True, gc=False, omit_defaults=True):
    """Why a run ended.

    - ``end``: the model answered.
    - ``output``: the model gave the output that was asked for.
    - ``stop_sequence``: the model wrote one of the stop sequences of ``options``.
    - ``length``: the reply reached the most tokens that it may have.
    - ``refusal``: the model declined to answer.
    - ``filtered``: a filter of the vendor's withheld the reply.
    - ``error``: the vendor says that its model failed, or the reply broke off.
    - ``no_output``: the model did not give the output asked for, as often as it was allowed to try.
    - ``limit``: the budget ended the run, and ``limit`` says which part of it.
    - ``veto``: a hook said no.
    - ``pending``: the run waits for a person's decisions; ``agent.resume`` goes on with it.
    - ``stopped``: ``run.stop()`` ended it, with what there was.
    """

    reason: StopWord
    limit: LimitName | None = None
    detail: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether the model finished its answer."""
        return self.reason in {"end", "stop_sequence", "output"}

    def __str__(self) -> str:
        return " ".join(filter(None, (self.reason, self.limit, self.detail)))
