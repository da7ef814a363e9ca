"""Finds a chat template's quirks by trying it out.

It renders small conversations with unique words, and their places in the output show what the template
does. Model names are not used.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from rightcall.errors import EncodeError
from rightcall.local.template.chat_template import REASONING, ChatTemplate, Fields
from rightcall.local.template.quirks import (
    Opens,
    Quirks,
    Seen,
    find_markers,
    find_switches,
    set_reasoning,
)

_WORDS = re.compile(r"qz[a-z]+\d*")
_USER: Fields = {"role": "user", "content": "qzuser"}
_AGAIN: Fields = {"role": "user", "content": "qzagain"}
_REPLY: Fields = {"role": "assistant", "content": "qzreply"}
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
    """The template's quirks. Cached by template."""
    return _probe(tuple(template.variants.items()), tuple(template.tokens.items()), template.special)


@lru_cache(maxsize=64)
def _probe(
    variants: tuple[tuple[str, str], ...], tokens: tuple[tuple[str, str], ...], special: tuple[str, ...]
) -> Quirks:
    template = ChatTemplate(dict(variants), tokens=dict(tokens), special=special, clock=lambda: _WHEN)
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
        takes_parts = self._takes_parts()
        self._parts = takes_parts and not takes_text
        tools = self._tools()
        switches = find_switches(self._template.variables, self._switched)
        self._thinks = set_reasoning(switches, "high")
        form, calls = self._call_form()
        role = self._role(form)
        opens, tail = self._opening()
        reasoning, thought = self._reasoning(form)
        thinking = self._thinking(thought)
        return Quirks(
            takes_text=takes_text or not takes_parts,
            takes_parts=takes_parts,
            shows_user=takes_text or takes_parts or self._render([_USER]) is None,
            system=self._system(form, role),
            developer=self._shows([{**_SYSTEM, "role": "developer"}, _USER], "qzsystem", "qzuser"),
            tools=tools,
            flat_tools=self._tool is _FLAT_TOOL,
            needs_tools=self._empty_tools,
            calls=calls,
            flat_calls=form.is_flat,
            parallel=self._parallel(form, role),
            arguments=self._arguments(form),
            no_text=form.no_text,
            results=role,
            ids=form.ids,
            ids_shown=self._shows(_called(form, role), _IDS[form.ids][0], tools=True) == "shown",
            alternates=self._alternates(),
            user_after_results=self._user_after_results(form, role),
            silence=self._silence(),
            reasoning=reasoning,
            text_with_calls=self._beside_calls(form, role),
            reasoning_with_text=not reasoning or self._beside_calls(form, role, reasoning),
            opens=opens,
            tail=tail,
            thinking=thinking,
            opens_thinking=thinking is not None and tail.rfind(thinking[0]) > tail.rfind(thinking[1]),
            writes_bos=bool(self._template.bos)
            and (self._render([_USER]) or "").startswith(self._template.bos),
            switches=switches,
            markers=self._markers(form, role, thinking or ()),
        )

    def _render(
        self, messages: Sequence[Fields], *, tools: bool = False, opened: bool = True, **given: Any
    ) -> str | None:
        """The rendered text; None if the template refuses."""
        if self._parts:
            messages = [_in_parts(message) for message in messages]
        try:
            text = self._template.fill(
                messages=messages,
                tools=[self._tool] if tools else [] if self._empty_tools else None,
                documents=None,
                add_generation_prompt=opened,
                **given,
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
        return "shown" if all(word in text for word in words) else "ignored"

    def _switched(self, given: Mapping[str, Any]) -> str | None:
        return self._render([_SYSTEM, _USER], **given) or self._render([_USER], **given)

    def _takes_parts(self) -> bool:
        text = self._render([_in_parts(_USER)]) or ""
        # A list that was converted to text shows its own keys.
        return "qzuser" in text and not _LISTED.search(text)

    def _system(self, form: _Form, role: str) -> Seen:
        seen = self._shows([_SYSTEM, _USER], "qzsystem", "qzuser")
        # Mistral's keep it until the last user message, and lose it if the last message is a result.
        if seen == "shown" and role:
            later = self._shows([_SYSTEM, *_called(form, role)], "qzsystem", tools=True)
            return "ignored" if later == "ignored" else "shown"
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
        return with_system if with_system == "shown" else self._shows([_USER], *words, tools=True)

    def _call_form(self) -> tuple[_Form, bool]:
        """The first way to write a call that shows it completely; returns whether there is one."""
        forms = [
            _Form(arguments, no_text, ids, is_flat)
            for is_flat in (False, True)
            for ids in ("any", "nine")
            for no_text in ("empty", "null", "absent")
            for arguments in ("object", "text")
        ]
        for form in forms:
            if self._is_whole(form):
                return form, True
        return _Form(), False

    def _is_whole(self, form: _Form) -> bool:
        """Whether the call is shown, with arguments neither as Python's repr nor as JSON inside JSON."""
        for role in ("tool", ""):
            text = self._render(_called(form, role), tools=True)
            if text is not None:
                broken = "'qzargument'" if form.arguments == "object" else '\\"qzargument'
                shown = text.partition("qzuser")[2] or text
                return "qzvalue1" in shown and "qzfunction" in shown and broken not in shown
        return False

    def _arguments(self, form: _Form) -> Literal["object", "text", "either"]:
        if form.arguments == "text":
            return "text"
        return (
            "either" if self._is_whole(_Form("text", form.no_text, form.ids, form.is_flat)) else "object"
        )

    def _role(self, form: _Form) -> str:
        shown = [
            role
            for role in _ROLES
            if self._shows(_called(form, role), "qzresult1", tools=True) == "shown"
        ]
        return shown[0] if shown else ""

    def _parallel(self, form: _Form, role: str) -> bool:
        words = ("qzvalue1", "qzvalue2", *(("qzresult1", "qzresult2") if role else ()))
        return self._shows(_called(form, role, 2), *words, tools=True) == "shown"

    def _alternates(self) -> bool:
        more: Fields = {"role": "assistant", "content": "qzmore"}
        users = self._shows([_USER, _AGAIN], "qzuser", "qzagain")
        replies = self._shows([_USER, _REPLY, more, _AGAIN], "qzreply", "qzmore", "qzagain")
        return users != "shown" or replies != "shown"

    def _user_after_results(self, form: _Form, role: str) -> bool:
        words = ("qzresult1", "qzagain")
        return not role or self._shows([*_called(form, role), _AGAIN], *words, tools=True) == "shown"

    def _silence(self) -> str:
        for text in _SILENCES:
            silent: Fields = {"role": "assistant", "content": text}
            if self._shows([_USER, silent, _AGAIN], "qzuser", "qzagain") == "shown":
                return text
        return ""

    def _reasoning(self, form: _Form) -> tuple[str, str]:
        """The field that reasoning is read from, and a rendering that shows it."""
        called = _called(form, "tool")
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
        called = _called(form, role or "tool")
        full = {**called[1], "content": "qzreply"}
        messages = [_USER, _thinking(full, key) if key else full, *called[2:]]
        return self._shows(messages, "qzreply", "qzvalue1", tools=True) == "shown"

    def _thinking(self, shown: str) -> tuple[str, str] | None:
        """The markers around reasoning: those in the rendering, or well-known ones in the template."""
        before, _, after = shown.partition("qzthought")
        opening = re.search(r"([<\[][^<>\[\]\s]{1,40}[>\]])\s*$", before)
        closing = re.match(r"\s*([<\[][^<>\[\]\s]{1,40}[>\]])", after)
        if opening and closing and closing[1] == f"{opening[1][0]}/{opening[1][1:]}":
            return opening[1], closing[1]
        text = self._template.choose(tools=True)
        return next((pair for pair in _THINKING if pair[0] in text and pair[1] in text), None)

    def _opening(self) -> tuple[Opens, str]:
        """When the model's turn is opened, and by which text."""
        asked, unasked = (
            (self._render([_USER], opened=opened) or "").rpartition("qzuser")[2]
            for opened in (True, False)
        )
        answered = (self._render([_USER, _REPLY], opened=False) or "").rpartition("qzuser")[2]
        between = answered.partition("qzreply")[0]
        tail = tail_of(asked, unasked)
        if tail.strip():
            return ("doubled" if unasked.rstrip().endswith(tail.strip()) else "asked"), tail
        opening = between.removeprefix(unasked) if between.startswith(unasked) else ""
        return ("never", opening) if opening.strip() else ("always", asked)

    def _markers(self, form: _Form, role: str, more: Sequence[str]) -> tuple[str, ...]:
        template = self._template
        # Without tools: a template's text about tools is prose, with tags that are no markers.
        self._render([*_called(form, role, 2), _REPLY, _USER])
        texts = "\n".join(template.variants.values())
        known = [*template.tokens.values(), *template.special, *more]
        return find_markers(self._seen, _WORDS, texts, known)


def tail_of(opened: str, unopened: str) -> str:
    """The text that a prompt which opens the model's turn has beyond one that does not."""
    if opened.startswith(unopened):
        return opened[len(unopened) :]
    pairs = enumerate(zip(opened, unopened, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), len(opened))
    # Two markers with a common prefix split in the middle; the tail must have its whole marker.
    begun = re.search(r"[<\[][^<>\[\]\s]*$", opened[:at])
    return opened[begun.start() if begun else at :]


def _called(form: _Form, role: str, count: int = 1) -> list[Fields]:
    """A user message, a message of calls, and their results if these have a role."""
    numbers = range(1, count + 1)
    ids = _IDS[form.ids][:count]
    calls = [_call(form, identity, number) for identity, number in zip(ids, numbers, strict=True)]
    contents: dict[str, Fields] = {"empty": {"content": ""}, "null": {"content": None}, "absent": {}}
    results: list[Fields] = [
        {"role": role, "tool_call_id": identity, "name": "qzfunction", "content": f"qzresult{number}"}
        for identity, number in zip(ids, numbers, strict=True)
        if role
    ]
    return [_USER, {"role": "assistant", **contents[form.no_text], "tool_calls": calls}, *results]


def _call(form: _Form, identity: str, number: int) -> dict[str, Any]:
    value = f"qzvalue{number}"
    arguments = {"qzargument": value} if form.arguments == "object" else f'{{"qzargument": "{value}"}}'
    function = {"name": "qzfunction", "arguments": arguments}
    return {"id": identity, **(function if form.is_flat else {"type": "function", "function": function})}


def _thinking(message: Fields, key: str) -> Fields:
    if key != "part":
        return {**message, key: "qzthought"}
    content = message.get("content")
    said = [{"type": "text", "text": content}] if content else []
    return {**message, "content": [{"type": "thinking", "thinking": "qzthought"}, *said]}


def _in_parts(message: Fields) -> Mapping[str, Any]:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}
