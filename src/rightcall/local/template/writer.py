"""Converts a transcript to messages that one chat template can show, according to its quirks.

Nothing is lost if there is a way to show it: content that the template does not support is moved to
where it does. ``used`` records what was done, for notes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeAlias, assert_never

from msgspec.structs import replace

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.message import Reasoning, Reply, Results, Transcript, User
from rightcall.core.parts import Call, Media, Part, Result, Text
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.local.template.chat_template import NAME
from rightcall.local.template.quirks import Quirks

Turn: TypeAlias = dict[str, Any]

OURS = "local"
"""The key of what local models attach to reasoning. Reasoning with another vendor's data is left out."""


RAW_ARGUMENTS = "raw_arguments"
"""Arguments that are not a JSON object are shown as text under this key: a template that iterates over
them, or a model that learns from them, must see an object."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LEGAL = {"any": re.compile(r"[A-Za-z0-9_.:/-]{1,64}"), "nine": re.compile(r"[A-Za-z0-9]{9}")}
"""The ids that are kept. Others are the model's own text, and may contain anything."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME = 64


class ToolFallback(Protocol):
    """Describes tools to a model whose template does not support them."""

    def instructions(self, specs: tuple[Spec, ...], /) -> str:
        """The system message's text about the tools, and how to call them."""

    def calls(self, calls: tuple[Call, ...], /) -> str:
        """Earlier calls, as the assistant wrote them."""

    def results(self, results: tuple[Result, ...], /) -> str:
        """Their results, as a user message."""


class TranscriptWriter:
    """Converts one transcript for one template."""

    def __init__(
        self,
        quirks: Quirks,
        fallback: ToolFallback | None,
        clean: Callable[[str], str],
        clean_result: Callable[[str], str] = str,
    ) -> None:
        self._quirks = quirks
        self._clean = clean
        self._clean_result = clean_result
        """What is done to results besides, which hold anybody's words."""
        self._ids = _CallIds(quirks.ids)
        native = quirks.tools == "shown" or fallback is None
        self._call_text = None if native and quirks.calls else fallback
        self._result_text = None if native and quirks.results else fallback
        self._turns: list[Turn] = []
        self._origins: list[int] = []
        self._at = -1
        self._is_split = False
        """Whether the next results were already written, each after its call."""
        self.used: set[str] = set()
        """What the template does not support, by the names of its problems."""

    @property
    def origins(self) -> Sequence[int]:
        """For every message, the index of its source; -1 for the system text."""
        return self._origins

    def write(self, system: str, messages: Transcript) -> list[Turn]:
        """The messages, the system text first."""
        newest = max((at for at, each in enumerate(messages) if isinstance(each, Reply)), default=-1)
        # The system text that goes into the first user message.
        held = ""
        if system and self._quirks.system == "shown":
            self._add({"role": "system", "content": system})
        elif system:
            self.used.add("system")
            held = system
        for at, message in enumerate(messages):
            self._at = at
            if held and not isinstance(message, User):
                self._add({"role": "user", "content": held})
                held = ""
            match message:
                case User():
                    parts = [_part(part, at, is_new=at > newest) for part in message.content]
                    text = self._clean("".join(parts))
                    self._add({"role": "user", "content": f"{held}\n\n{text}" if held else text})
                case Reply():
                    results: Sequence[Result] = ()
                    if at + 1 < len(messages) and isinstance(following := messages[at + 1], Results):
                        results = following.results
                    self._reply(message, results)
                case Results():
                    if not self._is_split:
                        self._results(message.results)
                    self._is_split = False
                case _:
                    assert_never(message)
            held = ""
        if held:
            self._add({"role": "user", "content": held})
        return [self._shape_content(turn) for turn in self._turns]

    def _reply(self, reply: Reply, results: Sequence[Result]) -> None:
        text = self._clean("".join([_part_text(part) for part in reply.content]))
        turn: Turn = {"role": "assistant", "content": text}
        calls = reply.calls
        if calls and not self._quirks.calls:
            self.used.add("calls")
        if calls and self._call_text is not None:
            neutral = []
            for call in calls:
                arguments = self._clean(call.as_json)
                neutral.append(replace(call, name=_name_of(call.name), arguments=arguments, form="json"))
            turn["content"] = self._call_text.calls(tuple(neutral))
            if text:
                turn["content"] = f"{text}\n{turn['content']}"
            calls = ()
        elif calls and not self._quirks.calls:
            raise EncodeError(
                NAME,
                "it does not show earlier calls; give a fallback that writes them as text.",
                where=f"messages[{self._at}]",
            )
        if calls and turn["content"] and not self._quirks.text_with_calls:
            self.used.add("text")
            turn["content"] = ""
        self._think(turn, reply, has_calls=bool(calls))
        if calls:
            self._calls(turn, calls, results)
        else:
            self._add({**turn, "content": turn["content"] or self._quirks.silence})

    def _think(self, turn: Turn, reply: Reply, *, has_calls: bool) -> None:
        ours = []
        for part in reply.content:
            if isinstance(part, Reasoning) and (not part.vendor or OURS in part.vendor):
                ours.append(part.text)
        thought = self._clean("".join(ours))
        key = self._quirks.reasoning
        if not thought:
            return
        if not key:
            self.used.add("reasoning")
        elif key == "part":
            parts = [{"type": "thinking", "thinking": thought}]
            if turn["content"]:
                parts.append({"type": "text", "text": turn["content"]})
            turn["content"] = parts
        elif has_calls and turn["content"] and not self._quirks.reasoning_with_text:
            turn |= {"content": "", key: f"{thought}\n\n{turn['content']}"}
        else:
            turn[key] = thought

    def _calls(self, turn: Turn, calls: tuple[Call, ...], results: Sequence[Result]) -> None:
        ids = self._ids.of_calls(calls)
        if self._quirks.ids != "any" and any(call.id not in ids for call in calls):
            self.used.add("ids")
        as_text = self._quirks.arguments == "text"
        fields: list[dict[str, Any]] = []
        for call, identity in zip(calls, ids, strict=True):
            # A call's name and arguments. Never raises, whatever the model wrote.
            text = self._clean(call.as_json).strip()
            value: Any = {}
            if text:
                try:
                    value = parse(text)
                except JsonError:
                    value = None
                if not isinstance(value, Mapping):
                    value = {RAW_ARGUMENTS: text}
            if not as_text:
                # Decoding an escape may have revealed a marker.
                arguments: Any = _clean_json(value, self._clean)
            elif text and RAW_ARGUMENTS not in value:
                arguments = text
            else:
                arguments = dump(value)
            function = {"name": _name_of(call.name), "arguments": arguments}
            if not self._quirks.flat_calls:
                function = {"type": "function", "function": function}
            fields.append({"id": identity, **function})
        if self._quirks.parallel or len(fields) == 1:
            self._add({**turn, "tool_calls": fields})
            return
        self.used.add("parallel")
        paired = len(results) == len(fields)
        for at, each in enumerate(fields):
            self._add({**turn, "tool_calls": [each]})
            turn = {"role": "assistant", "content": ""}
            if paired:
                self._results(results[at : at + 1])
        self._is_split = paired

    def _results(self, results: Sequence[Result]) -> None:
        if not self._quirks.results:
            self.used.add("results")
        shown = []
        for result in results:
            text = "\n".join([_part_text(part) for part in result.content])
            # No template has a marker for an error.
            if result.is_error and not text.lower().startswith("error"):
                text = f"Error: {text}"
            content = (Text(self._clean(self._clean_result(text))),)
            shown.append(replace(result, name=_name_of(result.name), content=content))
        if self._result_text is not None:
            self._add({"role": "user", "content": self._result_text.results(tuple(shown))})
            return
        for result in shown:
            if self._quirks.results:
                identity = self._ids.of_result(result)
                turn = {"role": self._quirks.results, "tool_call_id": identity, "name": result.name}
                self._add({**turn, "content": result.text})
            else:
                self._add({"role": "user", "content": f"{result.name} returned:\n{result.text}"})

    def _add(self, turn: Turn) -> None:
        """Add a message, merged into the last one or kept apart from it if needed."""
        last = self._turns[-1] if self._turns else {"role": ""}
        if self._quirks.alternates and last["role"] == turn["role"] and _merge(last, turn):
            self.used.add("turns")
            return
        after = (last["role"], turn["role"]) == (self._quirks.results, "user")
        if after and not self._quirks.user_after_results:
            self.used.add("after")
            self._turns.append({"role": "assistant", "content": self._quirks.silence})
            self._origins.append(self._at)
        self._turns.append(turn)
        self._origins.append(self._at)

    def _shape_content(self, turn: Turn) -> Turn:
        """The message with its content in the supported form."""
        content = turn["content"]
        if "tool_calls" in turn and content == "" and self._quirks.no_text != "empty":
            if self._quirks.no_text == "null":
                return {**turn, "content": None}
            return {key: value for key, value in turn.items() if key != "content"}
        if isinstance(content, str) and not self._quirks.takes_text:
            self.used.add("content")
            return {**turn, "content": [{"type": "text", "text": content}]}
        return turn


def _merge(last: Turn, turn: Turn) -> bool:
    """Merge a message into one of the same role, if both are only text, or the last one is."""
    plain = isinstance(last["content"], str) and isinstance(turn["content"], str)
    if last["role"] not in {"user", "assistant"} or not plain or "tool_calls" in last:
        return False
    texts = filter(None, (last["content"], turn["content"]))
    last |= {**turn, "content": "\n\n".join(texts)}
    return True


def _part(part: Part, at: int, *, is_new: bool) -> str:
    if isinstance(part, Text):
        return part.text
    if part.kind == "text" and part.way == "bytes":
        text = part.data.decode(errors="replace")
        if part.name:
            return f"\n{part.name}:\n{text}\n"
        return text
    if is_new:
        raise EncodeError(
            NAME,
            f"[{part.about}] cannot be sent to a model that reads text; text and JSON can, as bytes.",
            where=f"messages[{at}]",
        )
    return _note(part)


def _part_text(part: object) -> str:
    """The text of a part of a reply or a result. Thoughts and calls are written separately."""
    match part:
        case Text(text):
            return text
        case Media():
            return _note(part)
        case _:
            return ""


def _note(part: Media) -> str:
    return f"[{part.about}, which cannot be shown here]"


class _CallIds:
    """The ids of one transcript, in its order: each used once, however often a model repeats it.

    An id depends only on what came before, so that a longer history has the same ids at its beginning.
    """

    def __init__(self, kind: Literal["any", "nine"]) -> None:
        self._kind = kind
        self._used: set[str] = set()
        self._waiting: list[tuple[str, str]] = []

    def of_calls(self, calls: Sequence[Call]) -> list[str]:
        ids = [self._new(call.id) for call in calls]
        self._waiting = [(call.id, legal) for call, legal in zip(calls, ids, strict=True)]
        return ids

    def of_result(self, result: Result) -> str:
        """The id of the call that a result answers: by id, and by order if ids are equal."""
        for at, (given, legal) in enumerate(self._waiting):
            if given == result.call_id:
                del self._waiting[at]
                return legal
        return self._new(result.call_id)

    def _new(self, given: str) -> str:
        candidate = given
        tries = 0
        while not _LEGAL[self._kind].fullmatch(candidate) or candidate in self._used:
            digest = sha256(f"{given}\n{tries}".encode(errors="surrogatepass")).digest()
            if self._kind == "any":
                candidate = f"call_{digest.hex()[:24]}"
            else:
                number = int.from_bytes(digest)
                candidate = "".join(_DIGITS[number // 62**place % 62] for place in range(9))
            tries += 1
        self._used.add(candidate)
        return candidate


def _name_of(name: str) -> str:
    """A tool's name as it can be shown; a model may have made up anything."""
    return _ILLEGAL.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _clean_json(value: Any, clean: Callable[[str], str]) -> Any:
    """The same JSON, with all of its text cleaned."""
    match value:
        case str():
            return clean(value)
        case Mapping():
            return {clean(key): _clean_json(each, clean) for key, each in value.items()}
        case list() | tuple():
            return [_clean_json(each, clean) for each in value]
        case _:
            return value
