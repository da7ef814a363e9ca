"""Builds Gemini's reply: converts chunks to events, and at the end to the Reply.

Pieces of text are joined to one part, but a piece with a signature stays a separate part, as the vendor
requires: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
)
from rightcall.core.jsontext import dump
from rightcall.core.message import Citation, Reasoning, Reply, StopReason, Token, Unknown
from rightcall.core.parts import Call, Media, Text, Usage, essence, media_kind
from rightcall.wire.gemini.tables import FAULTS, NAME, STOPS, UNSAID
from rightcall.wire.payload import count_in, mapping, own_bag, present, text_in, without
from rightcall.wire.reply_extras import parse_gemini_logprobs, parse_grounding

Step: TypeAlias = str | int

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]""")
_ESCAPED = re.compile(r"\\(.)")
_EXACT = 2**53
"""Up to this number a double represents every integer exactly."""


class ArgumentsText:
    """Writes the leaves of a call's arguments as JSON text; returned text is final.

    Vertex may stream arguments as leaves with their JSON paths, in document order. A leaf that belongs
    before already written text cannot be written.
    https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
    """

    def __init__(self) -> None:
        self._open: list[Step] = []
        """The current step in each open container, outermost first."""
        self._names: list[set[Step]] = []
        """The names already used in each of those containers."""
        self._string: list[Step] | None = None
        """The path of a string that is still open."""
        self.is_broken = False
        """Whether a leaf could not be placed, so that the text is incomplete."""

    def write(self, leaf: dict[str, Any]) -> str:
        """The text that one leaf adds."""
        path = steps(str(leaf.get("jsonPath", "")))
        if self.is_broken or path is None:
            self.is_broken = True
            return ""
        value = _value(leaf)
        if value is None:
            return ""
        is_string = value.startswith('"')
        if is_string and path == self._string:
            return self._string_piece(leaf, path)
        ending = self._end_string()
        way = self._go_to(path)
        if way is None:
            self.is_broken = True
            return ending
        return ending + way + ('"' + self._string_piece(leaf, path) if is_string else value)

    def close(self) -> str:
        """The text that is missing at the end of the arguments."""
        if self._string is not None:
            self.is_broken = True
        if self._open:
            return self._end_string() + self._leave(0)
        return "{}"

    def _string_piece(self, leaf: dict[str, Any], path: list[Step]) -> str:
        text = dump(leaf["stringValue"])[1:-1]
        if leaf.get("willContinue") is True:
            self._string = path
            return text
        self._string = None
        return text + '"'

    def _end_string(self) -> str:
        if self._string is None:
            return ""
        self._string = None
        return '"'

    def _go_to(self, path: list[Step]) -> str | None:
        """Close the containers that the path leaves, and open those it enters; None if impossible."""
        if not self._open:
            if isinstance(path[0], int):
                return None
            return self._enter(path)
        shared = 0
        while shared < min(len(path), len(self._open)) and path[shared] == self._open[shared]:
            shared += 1
        if shared in (len(path), len(self._open)):
            return None
        before = self._open[shared]
        step = path[shared]
        # The next item of a list, or a member that was not written yet.
        if isinstance(before, int):
            follows = step == before + 1
        else:
            follows = isinstance(step, str) and step not in self._names[shared]
        if not follows:
            return None
        text = self._leave(shared + 1) + ("," if isinstance(step, int) else f",{dump(step)}:")
        self._open[shared] = step
        self._names[shared].add(step)
        entered = self._enter(path[shared + 1 :])
        if entered is None:
            return None
        return text + entered

    def _leave(self, depth: int) -> str:
        closing = "".join("]" if isinstance(step, int) else "}" for step in reversed(self._open[depth:]))
        del self._open[depth:], self._names[depth:]
        return closing

    def _enter(self, path: list[Step]) -> str | None:
        if any(isinstance(step, int) and step for step in path):
            return None
        self._open += path
        self._names += [{step} for step in path]
        return "".join("[" if isinstance(step, int) else "{" + dump(step) + ":" for step in path)


def steps(path: str) -> list[Step] | None:
    """The steps of a JSON path (RFC 9535) to a single place; None for any other path."""
    found: list[Step] = []
    at = 1
    while match := _STEP.match(path, at):
        name, index, quoted = match.groups()
        found.append(int(index) if index else name or _ESCAPED.sub(r"\1", quoted[1:-1]))
        at = match.end()
    if path.startswith("$") and at == len(path) and found:
        return found
    return None


def _value(leaf: dict[str, Any]) -> str | None:
    """A leaf's value as JSON text; None if it has none."""
    for name in ("stringValue", "boolValue"):
        if isinstance(leaf.get(name), str | bool):
            return dump(leaf[name])
    number = leaf.get("numberValue")
    if isinstance(number, int | float):
        # The wire has doubles: an integer may come as 5.0, and must be an integer again.
        return dump(int(number) if float(number).is_integer() and abs(number) < _EXACT else number)
    if "nullValue" in leaf:
        return "null"
    return None


Part = TypeVar("Part")

_FLOWING = ("audio/l16", "audio/pcm")
"""Raw audio formats, which are streamed in pieces."""


def media_in(part: dict[str, Any]) -> Media | None:
    """The media that the model made; None if sending them back would change them.

    A thought may be an image, too, which is not part of the answer.
    """
    if set(part) == {"fileData"}:
        place = mapping(part["fileData"])
        kind = place.get("mimeType")
        address = place.get("fileUri")
        if set(place) != {"mimeType", "fileUri"} or not isinstance(kind, str):
            return None
        if media_kind(kind) == "other" or not isinstance(address, str) or not address:
            return None
        return Media(media_type=kind, url=address)
    blob = mapping(part.get("inlineData"))
    more = without(part, "inlineData")
    given = blob.get("data")
    kind = blob.get("mimeType")
    if set(blob) != {"mimeType", "data"} or "thought" in more:
        return None
    if not isinstance(given, str) or not isinstance(kind, str):
        return None
    try:
        data = b64decode(given, validate=True)
    except ValueError:
        return None
    if b64encode(data).decode() != given:
        return None
    return Media(data, kind, vendor=own_bag(NAME, more))


def join_audio(content: Iterable[Part]) -> Iterator[Part | Media]:
    """The parts, with pieces of audio joined."""
    for flow, parts in groupby(content, _flow):
        if not flow:
            yield from parts
        else:
            data = b"".join(part.data for part in parts if isinstance(part, Media))
            yield Media(data, flow)


def _flow(part: object) -> str:
    """The type of a piece of raw audio; empty for anything else, also for a part with a signature."""
    if not isinstance(part, Media) or part.vendor or essence(part.media_type) not in _FLOWING:
        return ""
    return part.media_type


_READ_ELSEWHERE = frozenset([
    "candidates", "usageMetadata", "modelVersion", "content", "finishReason", "index", "error",
    "logprobsResult",
])  # fmt: skip
_SOURCES = frozenset(["groundingMetadata", "citationMetadata"])
_CALL_MEMBERS = frozenset(["id", "name", "args", "partialArgs", "willContinue"])

_Content: TypeAlias = Text | Reasoning | Call | Media | Unknown
_Voice: TypeAlias = Literal["text", "reasoning"]


class _Arriving(Struct):
    """The last call, which may not be complete yet."""

    index: int
    name: str
    id: str
    pieces: list[str]
    vendor: dict[str, Any]
    leaves: ArgumentsText | None = None
    """Set while the arguments arrive as leaves."""
    truncated: bool = False


class ReplyBuilder:
    """Builds one reply."""

    def __init__(self) -> None:
        self._content: list[_Content] = []
        self._voice: _Voice = "text"
        self._spoken: list[str] = []
        self._is_answered = False
        self._calls = 0
        self._call: _Arriving | None = None
        self._word = ""
        self._blocked = ""
        self._model = ""
        self._usage: Mapping[str, Any] = {}
        self._vendor: dict[str, Any] = {}
        self._likely: list[Token] = []
        self._is_made = False
        """Whether it contains an image or audio."""

    @property
    def is_ended(self) -> bool:
        """Whether the vendor has sent a finish reason."""
        return bool(self._word or self._blocked)

    def take(
        self, chunk: dict[str, Any], arguments: Callable[[int, int], str], events: list[ModelEvent]
    ) -> None:
        """Add a chunk to the reply, and its events to ``events``.

        ``arguments`` returns the text of a call's arguments, by candidate and part.
        """
        self._note(chunk)
        self._model = text_in(chunk.get("modelVersion")) or self._model
        # Counts cover the reply so far: a full set replaces the last, a partial one updates it.
        usage = mapping(chunk.get("usageMetadata"))
        if "promptTokenCount" in usage:
            self._usage = usage
        else:
            self._usage = {**self._usage, **usage}
        blocked = text_in(mapping(chunk.get("promptFeedback")).get("blockReason"))
        self._blocked = self._blocked or ("" if blocked in UNSAID else blocked)
        for position, candidate in enumerate(_objects(chunk.get("candidates"))):
            if (candidate.get("index") or 0) != 0:
                continue
            self._is_answered = True
            self._note(candidate)
            if "logprobsResult" in candidate:
                self._likely += parse_gemini_logprobs(mapping(candidate["logprobsResult"]))
            for place, part in enumerate(_objects(mapping(candidate.get("content")).get("parts"))):
                self._part(part, arguments(position, place) if "functionCall" in part else "", events)
            word = text_in(candidate.get("finishReason"))
            self._word = self._word if word in UNSAID else word

    def finish(self, events: list[ModelEvent]) -> Reply:
        """The complete reply; ends what is still open."""
        stop, word = self._stop()
        call = self._call
        if call is not None:
            if call.leaves is not None:
                self._close_leaves(call, events, is_cut=stop not in ("end", "calls"))
            call.truncated = call.truncated or stop == "length"
        self._end_call(events)
        self._end_spoken()
        if self._calls and (stop == "end" or word == "UNEXPECTED_TOOL_CALL"):
            stop = "calls"
        told = FAULTS.get(word) if stop == "error" else None
        citations: tuple[Citation, ...] = ()
        if not _SOURCES.isdisjoint(self._vendor):
            text = "".join([part.text for part in self._content if isinstance(part, Text)])
            citations = parse_grounding(self._vendor, text)
        return Reply(
            content=tuple(join_audio(self._content) if self._is_made else self._content),
            stop=stop,
            stop_word=word,
            usage=_usage(self._usage),
            model=self._model,
            vendor=own_bag(NAME, self._vendor),
            fault="" if told is None else told(text_in(self._vendor.get("finishMessage"))),
            citations=citations,
            logprobs=tuple(self._likely),
        )

    def _stop(self) -> tuple[StopReason, str]:
        if self._blocked and not self._word:
            return "filtered", self._blocked
        if not self._word:
            # A whole body may omit the finish reason; one without any candidate is no answer.
            return "end" if self._is_answered else "error", ""
        return STOPS.get(self._word, "error"), self._word

    def _note(self, said: dict[str, Any]) -> None:
        """Keep members that have no field, such as grounding; the last non-empty value counts."""
        for key, value in said.items():
            if value and key not in _READ_ELSEWHERE:
                self._vendor[key] = value

    def _part(self, part: dict[str, Any], arguments: str, events: list[ModelEvent]) -> None:
        part = present(part)
        if isinstance(part.get("functionCall"), dict):
            self._function_call(part, arguments, events)
        elif isinstance(part.get("text"), str) or set(part) == {"thought"}:
            self._say(part, events)
        elif part:
            self._end_call(events)
            self._end_spoken()
            made = media_in(part)
            self._is_made = self._is_made or made is not None
            self._content.append(made or Unknown({NAME: part}))

    def _say(self, part: dict[str, Any], events: list[ModelEvent]) -> None:
        voice: _Voice = "text"
        if part.get("thought") is True:
            voice = "reasoning"
        text = part.get("text", "")
        more = without(part, "text", "thought")
        if not text and not more:
            return
        self._end_call(events)
        if text:
            events.append(TextDelta(text) if voice == "text" else ReasoningDelta(text))
        if more or voice != self._voice:
            self._end_spoken()
        self._voice = voice
        if not more:
            self._spoken.append(text)
        else:
            said = Text if voice == "text" else Reasoning
            self._content.append(said(text, {NAME: more}))
            if voice == "reasoning":
                events.append(ReasoningEnd(Reasoning(text, {NAME: more})))

    def _end_spoken(self) -> None:
        if self._spoken:
            text = "".join(self._spoken)
            self._content.append(Text(text) if self._voice == "text" else Reasoning(text, {NAME: {}}))
            self._spoken = []

    def _function_call(self, part: dict[str, Any], arguments: str, events: list[ModelEvent]) -> None:
        said: dict[str, Any] = part["functionCall"]
        leaves = _objects(said.get("partialArgs"))
        goes_on = said.get("willContinue") is True
        call = self._call
        if text_in(said.get("name")) or call is None or call.leaves is None:
            if not said.get("name") and "args" not in said and not leaves:
                return
            if self._call is not None and self._call.leaves is not None:
                # Another call begins although this one was announced to continue.
                self._close_leaves(self._call, events, is_cut=True)
            self._end_call(events)
            self._end_spoken()
            vendor = {key: value for key, value in part.items() if value and key != "functionCall"}
            if more := without(said, *_CALL_MEMBERS):
                vendor["functionCall"] = more
            name = text_in(said.get("name"))
            id_ = text_in(said.get("id"))
            self._call = _Arriving(self._calls, name, id_, [], vendor)
            events.append(CallStart(self._calls, name, id_, own_bag(NAME, vendor)))
            self._calls += 1
            call = self._call
            if not goes_on and not leaves:
                self._add(call, arguments or "{}", events)
                return
            call.leaves = ArgumentsText()
        else:
            call.vendor.update(without(part, "functionCall"))
        assert call.leaves is not None
        for leaf in leaves:
            self._add(call, call.leaves.write(leaf), events)
        if not goes_on:
            self._close_leaves(call, events, is_cut=False)

    def _add(self, call: _Arriving, text: str, events: list[ModelEvent]) -> None:
        if text:
            call.pieces.append(text)
            events.append(CallDelta(call.index, text))

    def _close_leaves(self, call: _Arriving, events: list[ModelEvent], *, is_cut: bool) -> None:
        assert call.leaves is not None
        if not is_cut:
            self._add(call, call.leaves.close(), events)
        call.truncated = is_cut or call.leaves.is_broken
        call.leaves = None

    def _end_call(self, events: list[ModelEvent]) -> None:
        """End a call once something follows it: the last one may yet turn out to be cut off."""
        arrived = self._call
        self._call = None
        if arrived is None:
            return
        if arrived.leaves is not None:
            self._close_leaves(arrived, events, is_cut=True)
        call = Call(
            id=arrived.id,
            name=arrived.name,
            arguments="".join(arrived.pieces),
            truncated=arrived.truncated,
            vendor={NAME: arrived.vendor},
        )
        self._content.append(call)
        if not call.truncated:
            events.append(CallEnd(arrived.index, call))


def _usage(counts: Mapping[str, Any]) -> Usage:
    thought = count_in(counts, "thoughtsTokenCount")
    return Usage(
        input_tokens=count_in(counts, "promptTokenCount") + count_in(counts, "toolUsePromptTokenCount"),
        output_tokens=count_in(counts, "candidatesTokenCount") + thought,
        cached_tokens=count_in(counts, "cachedContentTokenCount"),
        reasoning_tokens=thought,
    )


def _objects(value: Any) -> list[dict[str, Any]]:
    """The items of a list, in their places; an empty object for one that is none."""
    if isinstance(value, list):
        return [item if isinstance(item, dict) else {} for item in value]
    return []
