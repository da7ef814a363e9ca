"""The cost of tools on every turn: tokens, their share of the context, and money."""

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from inspect import isawaitable
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from rightcall.background import run_sync
from rightcall.core.jsontext import dump
from rightcall.core.options import checked
from rightcall.core.parts import Usage
from rightcall.core.ports import Model
from rightcall.core.tokens import spec_tokens, text_tokens
from rightcall.core.tool import Spec
from rightcall.declare.defer import Descriptions
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.declare.verdicts import LEVELS, Level, Thresholds, Verdict, checked_thresholds, verdicts
from rightcall.errors import UsageError
from rightcall.loop.offering import Deferred, Telling
from rightcall.loop.window import UNKNOWN_CONTEXT
from rightcall.models.connect import connect
from rightcall.models.fallback import Fallback
from rightcall.tools.choice_cost import ChoiceCost, choice_cost

ESTIMATE = "an estimate from its letters, digits and marks"
OWN = "the model's own tokenizer"

_AsSent: TypeAlias = Mapping[str, str]


@runtime_checkable
class _Renders(Protocol):
    def tools_as_sent(self, specs: Sequence[Spec]) -> _AsSent | Awaitable[_AsSent]: ...


@runtime_checkable
class _Counts(Protocol):
    async def count_tokens(self, text: str) -> int | None: ...


@runtime_checkable
class _Prices(Protocol):
    def cost_of(self, usage: Usage) -> float | None: ...


class Weight(Struct, frozen=True):
    """One tool, and its tokens on every turn."""

    name: str
    tokens: int


class Resent(Struct, frozen=True, kw_only=True):
    """The total of sending the same tools with every turn of a run."""

    turns: int
    tokens: int
    cost: float | None = None
    """US dollars, if the price is known."""
    cached_cost: float | None = None
    """The same with the vendor's cache: written once, and read on every other turn."""


class Footprint(Struct, frozen=True, kw_only=True):
    """The tokens and cost of tools."""

    tools: tuple[Weight, ...]
    """In the order in which they are sent."""
    tokens: int
    """Their sum."""
    context: int
    """The model's context in tokens; 128,000 if unknown."""
    counted: str
    """How they were counted."""
    verdicts: tuple[Verdict, Verdict]
    """For the number of tools, and for their tokens."""
    resent: Resent
    choice: ChoiceCost | None = None
    """The tokens that the vendor adds, if published."""

    @property
    def share(self) -> float:
        """The share of the context that they take."""
        return self.tokens / self.context

    @property
    def level(self) -> Level:
        """The worse of the verdicts."""
        return max((verdict.level for verdict in self.verdicts), key=LEVELS.index)

    def __str__(self) -> str:
        heaviest = sorted(self.tools, key=lambda each: -each.tokens)
        lines = [f"{each.tokens:>8,}  {each.name}" for each in heaviest]
        lines += [f"{self.tokens:>8,}  in all, by {self.counted}", ""]
        again = self.resent
        lines.append(f"over {again.turns} turns: {again.tokens:,} tokens{_money(again)}")
        if self.choice is not None:
            free, forced = self.choice
            lines.append(f"the vendor adds {free} tokens a turn, {forced} where a call is forced")
        return "\n".join([*lines, *map(str, self.verdicts)])


@checked("rc.footprint", say="rc.footprint(…, {}=…)")
def footprint(
    tools: ToolSource,
    model: Model | str | None = None,
    *,
    turns: int = 10,
    thresholds: Thresholds | None = None,
    descriptions: Descriptions = "full",
    defer: Deferred = False,
) -> Footprint:
    """Count the tokens of tools on every turn, and over a run of ``turns``.

    ``model`` is a model or its name, for which no key is needed; without it, definitions are counted as
    plain JSON. Each is counted in the form of the model's dialect or chat template, by the model's own
    tokenizer if that is on this machine, else by an estimate. ``descriptions`` and ``defer`` are as for
    an agent: the count is what it would send first. Models that you pass stay open.
    """
    if turns < 1:
        raise UsageError(f"a run has a turn at least, and not {turns}")
    telling = Telling(descriptions, defer)
    box = telling.toolbox(tools if isinstance(tools, Toolbox) else Toolbox(tools))
    limits = checked_thresholds(thresholds or {})
    return run_sync(_measured(telling.offered(box).specs, model, turns, limits))


async def _measured(
    specs: Sequence[Spec], model: Model | str | None, turns: int, limits: Thresholds
) -> Footprint:
    async with AsyncExitStack() as opened:
        name = model if isinstance(model, str) else getattr(model, "name", "")
        if isinstance(model, str):
            # Nothing is sent, so any key will do.
            model = await opened.enter_async_context(connect(model, api_key="none"))
        while isinstance(model, Fallback):
            model = model.members[0].model
        weights, counted = await _weighed(specs, model)
        tokens = sum(each.tokens for each in weights)
        known = None if model is None else model.profile.context_window
        context = known or UNKNOWN_CONTEXT
        return Footprint(
            tools=weights,
            tokens=tokens,
            context=context,
            counted=counted,
            verdicts=verdicts(len(specs), tokens, context, limits),
            resent=_resent(tokens, turns, model),
            choice=choice_cost(name) if specs else None,
        )


async def _weighed(specs: Sequence[Spec], model: object) -> tuple[tuple[Weight, ...], str]:
    sent: _AsSent = {}
    if isinstance(model, _Renders):
        told = model.tools_as_sent(specs)
        sent = await told if isawaitable(told) else told
    weights = []
    counted = ESTIMATE
    for spec in specs:
        text = sent.get(spec.name)
        number = None
        if isinstance(model, _Counts):
            number = await model.count_tokens(text if text is not None else _as_json(spec))
        if number is not None:
            counted = OWN
        else:
            number = spec_tokens([spec]) if text is None else text_tokens(text)
        weights.append(Weight(spec.name, number))
    return tuple(weights), counted


def _as_json(spec: Spec) -> str:
    return dump({"name": spec.name, "description": spec.description, "parameters": spec.parameters})


def _resent(tokens: int, turns: int, model: object) -> Resent:
    sums = Resent(turns=turns, tokens=tokens * turns)
    if not isinstance(model, _Prices):
        return sums
    plain = model.cost_of(Usage(input_tokens=tokens))
    written = model.cost_of(Usage(input_tokens=tokens, cache_written_tokens=tokens))
    read = model.cost_of(Usage(input_tokens=tokens, cached_tokens=tokens))
    if plain is None or written is None or read is None:
        return sums
    return replace(sums, cost=plain * turns, cached_cost=written + read * (turns - 1))


def _money(again: Resent) -> str:
    if again.cost is None or again.cached_cost is None:
        return ""
    return f", ${again.cost:.4f}, or ${again.cached_cost:.4f} where the vendor caches them"
