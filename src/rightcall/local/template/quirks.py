"""A chat template's quirks, its switches for reasoning, and its special strings.

Every maker has another variable for how much a model should think: a boolean, a word, a number of
tokens. A template's own is found by setting each and comparing the output.

Untrusted text with ``<|im_end|>`` in a tool's result could end its turn and speak as another role: an
engine parses special tokens anywhere in the prompt. So a space is inserted into each special token in
text that is not the template's own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue

Seen: TypeAlias = Literal["shown", "ignored", "refused"]
"""How a template handles an input."""

Opens: TypeAlias = Literal["asked", "always", "doubled", "never"]
"""When a template opens the model's turn: on request; always; always and again on request; never."""

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
"""The words for each level."""
_NEAR: Mapping[str, tuple[str, ...]] = {
    "none": ("minimal", "low"),
    "minimal": ("low",),
    "low": ("minimal",),
    "medium": ("high", "low"),
    "high": ("max",),
    "max": ("high",),
}
"""The nearest words, for a template that requires one of its own."""
_TOKENS = {"none": 0, "minimal": 512, "low": 1024, "medium": 4096, "high": 16_384}
"""Thinking tokens for a level; without any, unlimited."""
_PLAIN = ("low", "medium", "high")
"""The words that models which read the level itself were trained on."""
_NONSENSE = "qzeffort"

Segment: TypeAlias = tuple[Literal["marker", "text"], str]

# Tags of all kinds, as they occur around content: <|im_end|>, <turn|>, <tool_call>, [INST].
_AROUND = re.compile(r"<[^<>\s]{1,64}>|\[/?[A-Za-z][A-Z_]{2,40}\]")
# Those that are special anywhere in a template. DeepSeek writes its bars in full width.
_SPECIAL = re.compile(r"<[|\uff5c][^<>\s]{1,64}>|<[^<>\s]{1,64}[|\uff5c]>|\[/[A-Z][A-Z_]{2,40}\]")
_SHORTEST = 3
# A special token that is a word, or contains a space, looks like text, and is left alone.
_ORDINARY = re.compile(r"\s|^\w")


class Switch(Struct, frozen=True, kw_only=True):
    """A template's variable for how much to think."""

    name: str
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    """Its value by level; a missing level is the template's own default."""
    counts: bool = False
    """Whether it takes a number of tokens."""


class Quirks(Struct, frozen=True, kw_only=True):
    """The results of probing a template. None of them comes from a model's name."""

    shows_user: bool = True
    """Whether it is for conversations: a user's text is shown, or refused with a message."""
    takes_text: bool = True
    """Whether content may be a string. If not, it must be a list of parts."""
    takes_parts: bool = False
    """Whether content may be a list of parts."""
    system: Seen = "shown"
    developer: Seen = "ignored"
    tools: Seen = "shown"
    flat_tools: bool = False
    """Whether a tool's name and parameters are read from the tool itself, not from its ``function``."""
    needs_tools: bool = False
    """Whether, without tools, it needs an empty list and refuses None."""
    calls: bool = True
    """Whether earlier calls are shown, with their names and arguments."""
    flat_calls: bool = False
    """The same for a call's name and arguments: read from the call itself."""
    parallel: bool = True
    """Whether one message may have several calls."""
    arguments: Literal["object", "text", "either"] = "object"
    """The form of a call's arguments in which they are shown as JSON."""
    no_text: Literal["empty", "null", "absent"] = "empty"
    """The content of a message that has only calls."""
    results: str = "tool"
    """The role of a message with a result; empty if no role is shown."""
    ids: Literal["any", "nine"] = "any"
    """Whether call ids are accepted unchanged, or must have nine letters and digits (Mistral)."""
    ids_shown: bool = False
    alternates: bool = False
    """Whether two consecutive messages of one role are refused, or one of them is lost."""
    user_after_results: bool = True
    """Whether a user message may follow results directly."""
    silence: str = ""
    """An assistant's placeholder text, if an empty one is refused."""
    reasoning: str = ""
    """The field of a message with its reasoning; ``part`` if it must be a part of the content; empty if
    reasoning is not shown."""
    text_with_calls: bool = True
    """Whether text beside calls is shown, and hides none of them."""
    reasoning_with_text: bool = True
    """Whether a message may have reasoning, text and calls at once."""
    opens: Opens = "asked"
    tail: str = ""
    """The text that opens the model's turn after a user message. If it is always opened: everything
    after the user's text."""
    thinking: tuple[str, str] | None = None
    """The markers around reasoning, if there are any."""
    opens_thinking: bool = False
    """Whether the tail leaves a thought open: the model's first text is then a thought."""
    writes_bos: bool = False
    """Whether the prompt already begins with the beginning token; an engine must not add another."""
    switches: tuple[Switch, ...] = ()
    """The variables that control reasoning."""
    markers: tuple[str, ...] = ()
    """Special strings of the template: those that open and close turns, calls, thoughts."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What the template does not support, and what is done instead."""
        return tuple(problems_of(self).values())


def problems_of(quirks: Quirks) -> dict[str, str]:
    """The same, by subject."""
    return {about: f"the template {words}" for about, is_so, words in _problems(quirks) if is_so}


def _problems(quirks: Quirks) -> Iterator[tuple[str, bool, str]]:
    """By problem: its subject, whether it exists, and what is done instead."""
    verbs = {"refused": "refuses", "ignored": "ignores", "shown": ""}
    system, tools = verbs[quirks.system], verbs[quirks.tools]
    yield "system", bool(system), f"{system} a system message: it is merged into the first user message"
    yield "tools", bool(tools), f"{tools} tools: they are described in the system message instead"
    said = "does not show what a user says: it is not made for conversations"
    yield "user", not quirks.shows_user, said
    yield "content", not quirks.takes_text, "takes no plain text as content: it is given as parts"
    written = "does not show earlier calls: they are written as the assistant's text"
    yield "calls", not quirks.calls, written
    split = "shows one call a message: several are split over several messages"
    yield "parallel", quirks.calls and not quirks.parallel, split
    beside = "does not show what is said beside calls: it is left out"
    yield "text", quirks.calls and not quirks.text_with_calls, beside
    rewritten = "wants call ids of nine letters and digits: others are rewritten"
    yield "ids", quirks.ids == "nine", rewritten
    given = "does not show results: they are given as user messages"
    yield "results", not quirks.results, given
    merged = "wants user and assistant to take turns: messages of one role are merged"
    yield "turns", quirks.alternates, merged
    after = "takes no user message right after results: a reply that says nothing is put between them"
    yield "after", not quirks.user_after_results, after
    yield "reasoning", not quirks.reasoning, "does not show reasoning: earlier thoughts are left out"
    opening = "never opens the model's turn: what opens its earlier turns is added"
    yield "opening", quirks.opens == "never", opening
    yield "doubled", quirks.opens == "doubled", "opens the model's turn even unasked: it is not asked"


def set_reasoning(switches: Sequence[Switch], wanted: str | int) -> dict[str, JsonValue]:
    """The variables for that much reasoning: a level, or a number of tokens."""
    variables: dict[str, JsonValue] = {}
    for switch in switches:
        if switch.counts and isinstance(wanted, int):
            variables[switch.name] = wanted
        elif (level := level_of(wanted)) in switch.values:
            variables[switch.name] = switch.values[level]
    return variables


def level_of(wanted: str | int) -> str:
    """The level nearest to a number of tokens; a level is itself."""
    if isinstance(wanted, str):
        return wanted
    return next((level for level, most in _TOKENS.items() if wanted <= most), "max")


def find_switches(
    variables: frozenset[str], render: Callable[[Mapping[str, Any]], str | None]
) -> tuple[Switch, ...]:
    """The switches among a template's variables. ``render`` returns None if the template refuses."""
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
    """The word for every level, as far as the template has one."""
    unknown = render({name: _NONSENSE})
    shown = unknown is not None and _NONSENSE in unknown
    known = {
        word
        for word in {each for words in _SAME.values() for each in words}
        if (word in _PLAIN if shown else render({name: word}) not in {None, unknown})
    }
    # If an unknown word changes nothing, a level without its own word is the default.
    must_choose = shown or unknown is None
    candidates = {level: (*_SAME[level], *(_NEAR[level] if must_choose else ())) for level in _SAME}
    best = {level: next((w for w in words if w in known), None) for level, words in candidates.items()}
    return {level: word for level, word in best.items() if word is not None}


def find_markers(
    rendered: Iterable[str], words: re.Pattern[str], template: str, known: Sequence[str]
) -> tuple[str, ...]:
    """The special strings, longest first.

    From renderings, what is between the inserted words; from the template's text, what can only be
    special; and those that are already known.
    """
    found = set(known)
    for text in rendered:
        for between in words.split(text):
            found.update(_AROUND.findall(between))
    found.update(_SPECIAL.findall(template))
    legal = [marker for marker in found if len(marker) >= _SHORTEST and not _ORDINARY.search(marker)]
    return tuple(sorted(legal, key=lambda marker: (-len(marker), marker)))


def neutralise(text: str, markers: Sequence[str]) -> str:
    """The text with a space inserted into every marker, so that none is left.

    It is still readable to the model and to people, but has no effect: ``<|im_end|>`` becomes ``<
    |im_end|>``.
    """
    # Searching for one after the other is faster than for all at once, and most texts have none.
    if not any(marker in text for marker in markers):
        return text
    pattern = _pattern(tuple(markers))
    # Markers may overlap, and the second one is left when the first has been broken. No marker contains
    # a space, so every pass leaves fewer.
    while pattern.search(text):
        text = pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
    return text


def segments(text: str, markers: Sequence[str]) -> list[Segment]:
    """The text in pieces, with special strings separate, for display. Joined they are the text."""
    if not markers:
        return [("text", text)] if text else []
    pieces: list[Segment] = []
    at = 0
    for found in _pattern(tuple(markers)).finditer(text):
        if found.start() > at:
            pieces.append(("text", text[at : found.start()]))
        pieces.append(("marker", found[0]))
        at = found.end()
    if at < len(text):
        pieces.append(("text", text[at:]))
    return pieces


@lru_cache(maxsize=64)
def _pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(markers, key=len, reverse=True))))
