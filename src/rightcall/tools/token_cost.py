"""The cost of tools on every turn: tokens, their share of the context, and money."""

import re
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from inspect import isawaitable
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from rightcall.background import run_sync
from rightcall.core.jsontext import dump
from rightcall.core.message import spec_tokens, text_tokens
from rightcall.core.options import check_keywords
from rightcall.core.parts import Usage
from rightcall.core.ports import Model
from rightcall.core.tool import Spec
from rightcall.declare.toolbox import (
    LEVELS,
    Descriptions,
    FootprintVerdict,
    Level,
    Thresholds,
    Toolbox,
    ToolSource,
    checked_thresholds,
    verdicts,
)
from rightcall.errors import UsageError
from rightcall.loop.tool_offer import Deferred, ToolDisclosure
from rightcall.loop.window import UNKNOWN_CONTEXT
from rightcall.models.connect import connect
from rightcall.models.fallback_model import Fallback


class ChoiceCost(NamedTuple):
    """Tokens that a vendor adds to every request with tools."""

    free: int
    """If the model chooses (``auto``), or may call none."""
    forced: int
    """If it must call some tool, or a specific one."""


_ANTHROPIC = {
    "opus-4-8": ChoiceCost(290, 410),
    "opus-4-7": ChoiceCost(675, 804),
    "opus-4-6": ChoiceCost(497, 589),
    "opus-4-5": ChoiceCost(496, 588),
    "opus-4-1": ChoiceCost(313, 315),
    "opus-4": ChoiceCost(313, 315),
    "opus-4-0": ChoiceCost(313, 315),
    "sonnet-5": ChoiceCost(354, 474),
    "sonnet-4-6": ChoiceCost(497, 589),
    "sonnet-4-5": ChoiceCost(496, 588),
    "sonnet-4": ChoiceCost(313, 315),
    "sonnet-4-0": ChoiceCost(313, 315),
    "haiku-4-5": ChoiceCost(496, 588),
    "3-5-haiku": ChoiceCost(264, 355),
}
# A date, a Bedrock version or an alias may follow; another number is another model.
_MODEL = re.compile(r"claude-([a-z0-9-]+?)(?:-\d{8}|-latest|@\w+)?(?:-v\d+)?(?::\d+)?(?:\[\w+\])?$")


def choice_cost(model: str) -> ChoiceCost | None:
    """The tokens that a model's vendor adds; None if not published.

    Anthropic puts a system prompt of its own before the tools, and publishes how long it is for each
    model, by ``tool_choice``: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
    (2026). Its numbers for Fable, Opus 5 and the 5.5 models were not verified, so they are not here; of
    the rest, only Sonnet 4.6 was verified again in November 2026. Other vendors publish nothing of the
    kind.
    """
    found = _MODEL.search(model)
    if found is None:
        return None
    return _ANTHROPIC.get(found[1])


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
    verdicts: tuple[FootprintVerdict, FootprintVerdict]
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
        total = f"over {again.turns} turns: {again.tokens:,} tokens"
        if again.cost is not None and again.cached_cost is not None:
            total += f", ${again.cost:.4f}, or ${again.cached_cost:.4f} where the vendor caches them"
        lines.append(total)
        if self.choice is not None:
            free, forced = self.choice
            lines.append(f"the vendor adds {free} tokens a turn, {forced} where a call is forced")
        return "\n".join([*lines, *map(str, self.verdicts)])


@check_keywords("rc.tools.footprint", say="rc.tools.footprint(…, {}=…)")
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
    telling = ToolDisclosure(descriptions, defer)
    box = telling.toolbox(tools if isinstance(tools, Toolbox) else Toolbox(tools))
    limits = checked_thresholds(thresholds or {})
    return run_sync(_measure(telling.offer(box).specs, model, turns, limits))


async def _measure(
    specs: Sequence[Spec], model: Model | str | None, turns: int, limits: Thresholds
) -> Footprint:
    async with AsyncExitStack() as opened:
        name = getattr(model, "name", "")
        if isinstance(model, str):
            name = model
            # Nothing is sent, so any key will do.
            model = await opened.enter_async_context(connect(model, api_key="none"))
        while isinstance(model, Fallback):
            model = model.members[0].model
        weights, counted = await _weigh_tools(specs, model)
        tokens = sum(each.tokens for each in weights)
        context = UNKNOWN_CONTEXT
        if model is not None:
            context = model.profile.context_window or context
        return Footprint(
            tools=weights,
            tokens=tokens,
            context=context,
            counted=counted,
            verdicts=verdicts(len(specs), tokens, context, limits),
            resent=_resent(tokens, turns, model),
            choice=choice_cost(name) if specs else None,
        )


async def _weigh_tools(specs: Sequence[Spec], model: object) -> tuple[tuple[Weight, ...], str]:
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
        elif text is None:
            number = spec_tokens([spec])
        else:
            number = text_tokens(text)
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
