"""A chat template's quirks, its switches for reasoning, and its special strings.

Every maker has another variable for how much a model should think: a boolean, a word, a number of
tokens. A template's own is found by setting each and comparing the output.

Untrusted text with ``<|im_end|>`` in a tool's result could end its turn and speak as another role: an
engine parses special tokens anywhere in the prompt. So a space is inserted into each special token in
text that is not the template's own.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonValue
from rightcall.errors import EncodeError
from rightcall.local.template.chat_template import REASONING, ChatTemplate, Fields
from rightcall.local.template.rendering import Bounds

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


_PROBLEMS = {
    "user": "does not show what a user says: it is not made for conversations",
    "content": "takes no plain text as content: it is given as parts",
    "calls": "does not show earlier calls: they are written as the assistant's text",
    "parallel": "shows one call a message: several are split over several messages",
    "text": "does not show what is said beside calls: it is left out",
    "ids": "wants call ids of nine letters and digits: others are rewritten",
    "results": "does not show results: they are given as user messages",
    "turns": "wants user and assistant to take turns: messages of one role are merged",
    "after": "takes no user message right after results: a reply that says nothing is put between them",
    "reasoning": "does not show reasoning: earlier thoughts are left out",
    "opening": "never opens the model's turn: what opens its earlier turns is added",
    "doubled": "opens the model's turn even unasked: it is not asked",
}


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
    """The same, by subject: what the template does not support, and what is done instead."""
    problems = {}
    verbs = {"refused": "refuses", "ignored": "ignores"}
    if verb := verbs.get(quirks.system):
        problems["system"] = f"{verb} a system message: it is merged into the first user message"
    if verb := verbs.get(quirks.tools):
        problems["tools"] = f"{verb} tools: they are described in the system message instead"
    existing = {
        "user": not quirks.shows_user,
        "content": not quirks.takes_text,
        "calls": not quirks.calls,
        "parallel": quirks.calls and not quirks.parallel,
        "text": quirks.calls and not quirks.text_with_calls,
        "ids": quirks.ids == "nine",
        "results": not quirks.results,
        "turns": quirks.alternates,
        "after": not quirks.user_after_results,
        "reasoning": not quirks.reasoning,
        "opening": quirks.opens == "never",
        "doubled": quirks.opens == "doubled",
    }
    for about, exists in existing.items():
        if exists:
            problems[about] = _PROBLEMS[about]
    return {about: f"the template {words}" for about, words in problems.items()}


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
    for level, most in _TOKENS.items():
        if wanted <= most:
            return level
    return "max"


def _words(name: str, render: Callable[[Mapping[str, Any]], str | None]) -> dict[str, JsonValue]:
    """The word for every level, as far as the template has one."""
    unknown = render({name: _NONSENSE})
    is_copied = unknown is not None and _NONSENSE in unknown
    known: set[str] = set()
    if is_copied:
        known.update(_PLAIN)
    else:
        for word in set().union(*_SAME.values()):
            if render({name: word}) not in {None, unknown}:
                known.add(word)
    values: dict[str, JsonValue] = {}
    for level, words in _SAME.items():
        # If an unknown word changes nothing, a level without its own word is the default.
        nearest = _NEAR[level] if is_copied or unknown is None else ()
        for word in (*words, *nearest):
            if word in known:
                values[level] = word
                break
    return values


def find_markers(
    rendered: Iterable[str], words: re.Pattern[str], template: str, known: Sequence[str]
) -> tuple[str, ...]:
    """The special strings, longest first.

    From renderings, what is between the inserted words; from the template's text, what can only be
    special; and those that are already known.
    """
    candidates = set(known)
    for text in rendered:
        for between in words.split(text):
            candidates.update(_AROUND.findall(between))
    candidates.update(_SPECIAL.findall(template))
    markers = []
    for marker in candidates:
        if len(marker) >= _SHORTEST and not _ORDINARY.search(marker):
            markers.append(marker)
    return tuple(sorted(markers, key=lambda marker: (-len(marker), marker)))


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
    pieces: list[Segment] = []
    at = 0
    if markers:
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


_WORDS = re.compile(r"qz[a-z]+\d*")
_USER: Fields = {"role": "user", "content": "qzuser"}
_AGAIN: Fields = {"role": "user", "content": "qzagain"}
_REPLY: Fields = {"role": "assistant", "content": "qzreply"}
_MORE: Fields = {"role": "assistant", "content": "qzmore"}
_SYSTEM: Fields = {"role": "system", "content": "qzsystem"}
_FLAT_TOOL: Fields = {
    "name": "qzfunction",
    "description": "qzdescription",
    "parameters": {
        "type": "object",
        "properties": {"qzargument": {"type": "string", "description": "qzmeaning"}},
        "required": ["qzargument"],
    },
}
_TOOL: Fields = {"type": "function", "function": _FLAT_TOOL}
_LISTED = re.compile(r"""['"]type['"]: ?['"](text|thinking)['"]""")
_IDS = {"any": ("qzx1", "call_qzidentity2"), "nine": ("qzidenti1", "qzidenti2")}
"""Ids: a short one, a long one, and some of the length that certain templates require."""
_ROLES = ("tool", "function", "ipython", "observation", "tool_response")
"""The possible roles of a result."""
_THINKING = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
)
_SILENCES = ("", "OK.")
"""Placeholder texts of an assistant; the first that is accepted is used."""
_WHEN = datetime(2026, 1, 1)  # noqa: DTZ001 - templates read local time; probing must not depend on it


class _Form(Struct, frozen=True):
    """A way to write a call in a message."""

    arguments: Literal["object", "text"] = "object"
    no_text: Literal["empty", "null", "absent"] = "empty"
    ids: Literal["any", "nine"] = "any"
    is_flat: bool = False


def probe(template: ChatTemplate) -> Quirks:
    """The template's quirks. Cached by template.

    They are found by trying it out: it renders small conversations with unique words, whose places in
    the output show what the template does. Model names are not used.
    """
    variants = tuple(template.variants.items())
    return _probe(variants, tuple(template.tokens.items()), template.special, template.bounds)


@lru_cache(maxsize=64)
def _probe(
    variants: tuple[tuple[str, str], ...],
    tokens: tuple[tuple[str, str], ...],
    special: tuple[str, ...],
    bounds: Bounds | None,
) -> Quirks:
    template = ChatTemplate(
        dict(variants), tokens=dict(tokens), special=special, clock=lambda: _WHEN, bounds=bounds
    )
    return _Trial(template).quirks()


class _Trial:
    """Probes one template."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._seen: list[str] = []
        self._parts = False
        self._empty_tools = False
        self._tool = _TOOL
        self._thinks: dict[str, Any] = {}

    def quirks(self) -> Quirks:
        if self._render([_USER]) is None:
            self._empty_tools = True
            self._empty_tools = self._render([_USER]) is not None
        takes_text = self._shows([_USER], "qzuser") == "shown"
        text = self._render([_in_parts(_USER)]) or ""
        # A list that was converted to text shows its own keys.
        takes_parts = "qzuser" in text and not _LISTED.search(text)
        self._parts = takes_parts and not takes_text
        tools = self._tools()
        switches = self._switches()
        self._thinks = set_reasoning(switches, "high")
        whole = self._call_form()
        form = whole or _Form()
        role = ""
        for known in _ROLES:
            if self._shows(_call_messages(form, known), "qzresult1", tools=True) == "shown":
                role = role or known
        users = self._shows([_USER, _AGAIN], "qzuser", "qzagain")
        replies = self._shows([_USER, _REPLY, _MORE, _AGAIN], "qzreply", "qzmore", "qzagain")
        user_after_results = True
        if role:
            messages = [*_call_messages(form, role), _AGAIN]
            user_after_results = self._shows(messages, "qzresult1", "qzagain", tools=True) == "shown"
        silence = ""
        for text in _SILENCES:
            silent: Fields = {"role": "assistant", "content": text}
            if self._shows([_USER, silent, _AGAIN], "qzuser", "qzagain") == "shown":
                silence = text
                break
        opens, tail = self._opening()
        reasoning, thought = self._reasoning(form)
        thinking = self._thinking(thought)
        opens_thinking = False
        if thinking is not None:
            opens_thinking = tail.rfind(thinking[0]) > tail.rfind(thinking[1])
        bos = self._template.bos
        return Quirks(
            takes_text=takes_text or not takes_parts,
            takes_parts=takes_parts,
            shows_user=takes_text or takes_parts or self._render([_USER]) is None,
            system=self._system(form, role),
            developer=self._shows([{**_SYSTEM, "role": "developer"}, _USER], "qzsystem", "qzuser"),
            tools=tools,
            flat_tools=self._tool is _FLAT_TOOL,
            needs_tools=self._empty_tools,
            calls=whole is not None,
            flat_calls=form.is_flat,
            parallel=self._parallel(form, role),
            arguments=self._arguments(form),
            no_text=form.no_text,
            results=role,
            ids=form.ids,
            ids_shown=self._shows(_call_messages(form, role), _IDS[form.ids][0], tools=True) == "shown",
            alternates=users != "shown" or replies != "shown",
            user_after_results=user_after_results,
            silence=silence,
            reasoning=reasoning,
            text_with_calls=self._beside_calls(form, role),
            reasoning_with_text=not reasoning or self._beside_calls(form, role, reasoning),
            opens=opens,
            tail=tail,
            thinking=thinking,
            opens_thinking=opens_thinking,
            writes_bos=bool(bos) and (self._render([_USER]) or "").startswith(bos),
            switches=switches,
            markers=self._markers(form, role, thinking or ()),
        )

    def _switches(self) -> tuple[Switch, ...]:
        """The template's variables that change how much is thought."""

        def render(values: Mapping[str, Any]) -> str | None:
            """The rendered text; None if the template refuses these values."""
            return self._render([_SYSTEM, _USER], **values) or self._render([_USER], **values)

        switches: list[Switch] = []
        turned_on: dict[str, Any] = {}
        for name in BOOLEANS:
            if name in self._template.variables:
                on = render({**turned_on, name: True})
                off = render({**turned_on, name: False})
                if on is not None and off is not None and on != off:
                    levels = {level: level != "none" for level in _SAME}
                    switches.append(Switch(name=name, values=levels))
                    turned_on[name] = True
        for name in WORDS:
            if name in self._template.variables:
                words = _words(name, lambda values: render({**turned_on, **values}))
                if words:
                    switches.append(Switch(name=name, values=words))
        for name in BUDGETS:
            if name in self._template.variables:
                few = render({**turned_on, name: 512})
                many = render({**turned_on, name: 4096})
                if few is not None and few != many:
                    switches.append(Switch(name=name, values=_TOKENS, counts=True))
        return tuple(switches)

    def _render(
        self, messages: Sequence[Fields], *, tools: bool = False, opened: bool = True, **given: Any
    ) -> str | None:
        """The rendered text; None if the template refuses."""
        if self._parts:
            messages = [_in_parts(message) for message in messages]
        offered = None
        if tools:
            offered = [self._tool]
        elif self._empty_tools:
            offered = []
        try:
            text = self._template.fill(
                messages=messages, tools=offered, documents=None, add_generation_prompt=opened, **given
            )
        except EncodeError:
            return None
        if not tools:
            self._seen.append(text)
        return text

    def _shows(self, messages: Sequence[Fields], *words: str, tools: bool = False) -> Seen:
        text = self._render(messages, tools=tools)
        if text is None:
            return "refused"
        if all(word in text for word in words):
            return "shown"
        return "ignored"

    def _system(self, form: _Form, role: str) -> Seen:
        seen = self._shows([_SYSTEM, _USER], "qzsystem", "qzuser")
        # Mistral's keep it until the last user message, and lose it if the last message is a result.
        if seen == "shown" and role:
            later = self._shows([_SYSTEM, *_call_messages(form, role)], "qzsystem", tools=True)
            if later == "ignored":
                return "ignored"
            return "shown"
        return seen

    def _tools(self) -> Seen:
        """How tools are shown; in the format that shows them, if any, they are passed from here on."""
        seen = self._tools_in_shape()
        if seen == "shown":
            return seen
        self._tool = _FLAT_TOOL
        if self._tools_in_shape() == "shown":
            return "shown"
        self._tool = _TOOL
        return seen

    def _tools_in_shape(self) -> Seen:
        words = ("qzfunction", "qzdescription", "qzargument")
        with_system = self._shows([_SYSTEM, _USER], *words, tools=True)
        if with_system == "shown":
            return with_system
        return self._shows([_USER], *words, tools=True)

    def _call_form(self) -> _Form | None:
        """The first way to write a call that shows it completely."""
        for is_flat in (False, True):
            for ids in ("any", "nine"):
                for no_text in ("empty", "null", "absent"):
                    for arguments in ("object", "text"):
                        form = _Form(arguments, no_text, ids, is_flat)
                        if self._is_whole(form):
                            return form
        return None

    def _is_whole(self, form: _Form) -> bool:
        """Whether the call is shown, with arguments neither as Python's repr nor as JSON inside JSON."""
        for role in ("tool", ""):
            text = self._render(_call_messages(form, role), tools=True)
            if text is not None:
                broken = '\\"qzargument'
                if form.arguments == "object":
                    broken = "'qzargument'"
                shown = text.partition("qzuser")[2] or text
                return "qzvalue1" in shown and "qzfunction" in shown and broken not in shown
        return False

    def _arguments(self, form: _Form) -> Literal["object", "text", "either"]:
        if form.arguments == "text":
            return "text"
        if self._is_whole(_Form("text", form.no_text, form.ids, form.is_flat)):
            return "either"
        return "object"

    def _parallel(self, form: _Form, role: str) -> bool:
        words = ["qzvalue1", "qzvalue2"]
        if role:
            words += ["qzresult1", "qzresult2"]
        return self._shows(_call_messages(form, role, 2), *words, tools=True) == "shown"

    def _reasoning(self, form: _Form) -> tuple[str, str]:
        """The field that reasoning is read from, and a rendering that shows it."""
        called = _call_messages(form, "tool")
        for key in (*REASONING, "part"):
            places = (
                [_USER, _thinking(_REPLY, key)],
                [_USER, _thinking(called[1], key), called[2]],
                [_USER, _thinking(_REPLY, key), _AGAIN],
            )
            for place in places:
                text = self._render(place, **self._thinks) or ""
                if "qzthought" in text and not _LISTED.search(text):
                    return key, text
        return "", ""

    def _beside_calls(self, form: _Form, role: str, key: str = "") -> bool:
        """Whether text beside calls is shown; with a key, beside calls and reasoning."""
        called = _call_messages(form, role or "tool")
        full: Fields = {**called[1], "content": "qzreply"}
        if key:
            full = _thinking(full, key)
        return self._shows([_USER, full, *called[2:]], "qzreply", "qzvalue1", tools=True) == "shown"

    def _thinking(self, shown: str) -> tuple[str, str] | None:
        """The markers around reasoning: those in the rendering, or well-known ones in the template."""
        before, _, after = shown.partition("qzthought")
        opening = re.search(r"([<\[][^<>\[\]\s]{1,40}[>\]])\s*$", before)
        closing = re.match(r"\s*([<\[][^<>\[\]\s]{1,40}[>\]])", after)
        if opening and closing and closing[1] == f"{opening[1][0]}/{opening[1][1:]}":
            return opening[1], closing[1]
        text = self._template.choose(tools=True)
        for pair in _THINKING:
            if pair[0] in text and pair[1] in text:
                return pair
        return None

    def _opening(self) -> tuple[Opens, str]:
        """When the model's turn is opened, and by which text."""
        asked = (self._render([_USER]) or "").rpartition("qzuser")[2]
        unasked = (self._render([_USER], opened=False) or "").rpartition("qzuser")[2]
        answered = (self._render([_USER, _REPLY], opened=False) or "").rpartition("qzuser")[2]
        between = answered.partition("qzreply")[0]
        tail = tail_of(asked, unasked)
        if tail.strip():
            if unasked.rstrip().endswith(tail.strip()):
                return "doubled", tail
            return "asked", tail
        if between.startswith(unasked):
            opening = between.removeprefix(unasked)
            if opening.strip():
                return "never", opening
        return "always", asked

    def _markers(self, form: _Form, role: str, more: Sequence[str]) -> tuple[str, ...]:
        template = self._template
        # Without tools: a template's text about tools is prose, with tags that are no markers.
        self._render([*_call_messages(form, role, 2), _REPLY, _USER])
        texts = "\n".join(template.variants.values())
        known = [*template.tokens.values(), *template.special, *more]
        return find_markers(self._seen, _WORDS, texts, known)


def tail_of(opened: str, unopened: str) -> str:
    """The text that a prompt which opens the model's turn has beyond one that does not."""
    if opened.startswith(unopened):
        return opened[len(unopened) :]
    at = len(opened)
    for place, (one, other) in enumerate(zip(opened, unopened, strict=False)):
        if one != other:
            at = place
            break
    # Two markers with a common prefix split in the middle; the tail must have its whole marker.
    begun = re.search(r"[<\[][^<>\[\]\s]*$", opened[:at])
    if begun:
        at = begun.start()
    return opened[at:]


def _call_messages(form: _Form, role: str, count: int = 1) -> list[Fields]:
    """A user message, a message of calls, and their results if these have a role."""
    calls: list[Fields] = []
    results: list[Fields] = []
    for number, identity in enumerate(_IDS[form.ids][:count], start=1):
        value = f"qzvalue{number}"
        function: dict[str, Any] = {"name": "qzfunction", "arguments": f'{{"qzargument": "{value}"}}'}
        if form.arguments == "object":
            function["arguments"] = {"qzargument": value}
        if form.is_flat:
            calls.append({"id": identity, **function})
        else:
            calls.append({"id": identity, "type": "function", "function": function})
        if role:
            result = {"role": role, "tool_call_id": identity, "name": "qzfunction"}
            results.append({**result, "content": f"qzresult{number}"})
    contents: dict[str, Fields] = {"empty": {"content": ""}, "null": {"content": None}, "absent": {}}
    return [_USER, {"role": "assistant", **contents[form.no_text], "tool_calls": calls}, *results]


def _thinking(message: Fields, key: str) -> Fields:
    if key != "part":
        return {**message, key: "qzthought"}
    parts = [{"type": "thinking", "thinking": "qzthought"}]
    if content := message.get("content"):
        parts.append({"type": "text", "text": content})
    return {**message, "content": parts}


def _in_parts(message: Fields) -> Mapping[str, Any]:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}
