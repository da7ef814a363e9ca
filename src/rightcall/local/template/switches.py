"""How much a model is to think, into the variables that its template reads.

Every maker invents another: a boolean, a word, a number of tokens. Which of them a template has is found
out by setting it and looking for a difference.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue

BOOLEANS = ("enable_thinking", "thinking", "reasoning")
WORDS = ("reasoning_effort", "thinking_effort", "reasoning_strength", "thinking_mode")
BUDGETS = ("thinking_budget", "reasoning_budget")

_SAME: Mapping[str, tuple[str, ...]] = {
    "none": ("none", "no_think", "disabled"),
    "minimal": ("minimal", "enabled"),
    "low": ("low", "enabled"),
    "medium": ("medium", "enabled"),
    "high": ("high", "enabled"),
    "max": ("max", "xhigh", "enabled"),
}
"""What says a level."""
_NEAR: Mapping[str, tuple[str, ...]] = {
    "none": ("minimal", "low"),
    "minimal": ("low",),
    "low": ("minimal",),
    "medium": ("high", "low"),
    "high": ("max",),
    "max": ("high",),
}
"""What comes near it, for a template that must be told one of its own words."""
_TOKENS = {"none": 0, "minimal": 512, "low": 1024, "medium": 4096, "high": 16_384}
"""Tokens to think with, for a level; without any, as many as the model likes."""
_PLAIN = ("low", "medium", "high")
"""What models that get the word itself to read were trained on."""
_NONSENSE = "qzeffort"


class Switch(Struct, frozen=True, kw_only=True):
    """A variable of a template that says how much to think."""

    name: str
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    """What to set it to, by level; a level that is not here is the template's own default."""
    counts: bool = False
    """It takes a number of tokens."""


def set_reasoning(switches: Sequence[Switch], wanted: str | int) -> dict[str, JsonValue]:
    """The variables that ask for so much reasoning: a level, or a number of tokens."""
    variables: dict[str, JsonValue] = {}
    for switch in switches:
        if switch.counts and isinstance(wanted, int):
            variables[switch.name] = wanted
        elif (level := level_of(wanted)) in switch.values:
            variables[switch.name] = switch.values[level]
    return variables


def level_of(wanted: str | int) -> str:
    """The level that a number of tokens comes nearest to; a level is itself."""
    if isinstance(wanted, str):
        return wanted
    return next((level for level, most in _TOKENS.items() if wanted <= most), "max")


def find_switches(
    variables: frozenset[str], render: Callable[[Mapping[str, Any]], str | None]
) -> tuple[Switch, ...]:
    """The switches among a template's variables. ``render`` gives None where the template refuses."""
    found: list[Switch] = []
    turned_on: dict[str, Any] = {}
    for name in BOOLEANS:
        if name in variables:
            on, off = render({**turned_on, name: True}), render({**turned_on, name: False})
            if on is not None and off is not None and on != off:
                found.append(Switch(name=name, values={level: level != "none" for level in _SAME}))
                turned_on[name] = True
    for name in WORDS:
        if name in variables:
            values = _words(name, lambda given: render({**turned_on, **given}))
            if values:
                found.append(Switch(name=name, values=values))
    for name in BUDGETS:
        if name in variables:
            few, many = render({**turned_on, name: 512}), render({**turned_on, name: 4096})
            if few is not None and few != many:
                found.append(Switch(name=name, values=_TOKENS, counts=True))
    return tuple(found)


def _words(name: str, render: Callable[[Mapping[str, Any]], str | None]) -> dict[str, JsonValue]:
    """The word for every level, as far as the template knows one."""
    unknown = render({name: _NONSENSE})
    shown = unknown is not None and _NONSENSE in unknown
    known = {
        word
        for word in {each for words in _SAME.values() for each in words}
        if (word in _PLAIN if shown else render({name: word}) not in {None, unknown})
    }
    # Where an unknown word changes nothing, a level without a word of its own is the default.
    must_choose = shown or unknown is None
    candidates = {level: (*_SAME[level], *(_NEAR[level] if must_choose else ())) for level in _SAME}
    best = {level: next((w for w in words if w in known), None) for level, words in candidates.items()}
    return {level: word for level, word in best.items() if word is not None}
