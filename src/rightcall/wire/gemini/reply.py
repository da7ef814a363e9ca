"""Builds Gemini's reply: converts chunks to events, and at the end to the Reply.

Pieces of text are joined to one part, but a piece with a signature stays a separate part, as the vendor
requires: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from rightcall.core.call import Call
from rightcall.core.citation import Citation, Token
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Media, Text, Usage
from rightcall.wire.citations import grounded
from rightcall.wire.gemini.leaves import ArgumentsText
from rightcall.wire.gemini.made import joined, media_in
from rightcall.wire.gemini.tables import FAULTS, NAME, STOPS, UNSAID
from rightcall.wire.logprobs import of_gemini

_READ_ELSEWHERE = frozenset(
    (
        *("candidates", "usageMetadata", "modelVersion", "content", "finishReason", "index", "error"),
        "logprobsResult",
    )
)
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
        self._usage: dict[str, Any] = {}
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
        self._model = _string(chunk.get("modelVersion")) or self._model
        self._count(_object(chunk.get("usageMetadata")))
        blocked = _string(_object(chunk.get("promptFeedback")).get("blockReason"))
        self._blocked = self._blocked or ("" if blocked in UNSAID else blocked)
        for position, candidate in enumerate(_objects(chunk.get("candidates"))):
            if (candidate.get("index") or 0) != 0:
                continue
            self._is_answered = True
            self._note(candidate)
            if "logprobsResult" in candidate:
                self._likely += of_gemini(_object(candidate["logprobsResult"]))
            for place, part in enumerate(_objects(_object(candidate.get("content")).get("parts"))):
                self._part(part, arguments(position, place) if "functionCall" in part else "", events)
            word = _string(candidate.get("finishReason"))
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
        return Reply(
            content=tuple(joined(self._content) if self._is_made else self._content),
            stop=stop,
            stop_word=word,
            usage=_usage(self._usage),
            model=self._model,
            vendor={NAME: self._vendor} if self._vendor else {},
            fault="" if told is None else told(_string(self._vendor.get("finishMessage"))),
            citations=self._citations(),
            logprobs=tuple(self._likely),
        )

    def _citations(self) -> tuple[Citation, ...]:
        if _SOURCES.isdisjoint(self._vendor):
            return ()
        said = [part.text for part in self._content if isinstance(part, Text)]
        return grounded(self._vendor, "".join(said))

    def _stop(self) -> tuple[StopReason, str]:
        if self._blocked and not self._word:
            return "filtered", self._blocked
        if not self._word:
            # A whole body may omit the finish reason; one without any candidate is no answer.
            return "end" if self._is_answered else "error", ""
        return STOPS.get(self._word, "error"), self._word

    def _count(self, usage: dict[str, Any]) -> None:
        """Counts cover the reply so far: a full set replaces the last, a partial one updates it."""
        self._usage = usage if "promptTokenCount" in usage else {**self._usage, **usage}

    def _note(self, said: dict[str, Any]) -> None:
        """Keep members that have no field, such as grounding; the last non-empty value counts."""
        for key, value in said.items():
            if value and key not in _READ_ELSEWHERE:
                self._vendor[key] = value

    def _part(self, part: dict[str, Any], arguments: str, events: list[ModelEvent]) -> None:
        part = {key: value for key, value in part.items() if value is not None}
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
        voice: _Voice = "reasoning" if part.get("thought") is True else "text"
        text = part.get("text", "")
        more = {key: value for key, value in part.items() if key not in ("text", "thought")}
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
        if _string(said.get("name")) or call is None or call.leaves is None:
            if not said.get("name") and "args" not in said and not leaves:
                return
            call = self._begin_call(part, said, events)
            if not goes_on and not leaves:
                self._add(call, arguments or "{}", events)
                return
            call.leaves = ArgumentsText()
        else:
            call.vendor.update({key: value for key, value in part.items() if key != "functionCall"})
        assert call.leaves is not None
        for leaf in leaves:
            self._add(call, call.leaves.write(leaf), events)
        if not goes_on:
            self._close_leaves(call, events, is_cut=False)

    def _begin_call(
        self, part: dict[str, Any], said: dict[str, Any], events: list[ModelEvent]
    ) -> _Arriving:
        if self._call is not None and self._call.leaves is not None:
            # Another call begins although this one was announced to continue.
            self._close_leaves(self._call, events, is_cut=True)
        self._end_call(events)
        self._end_spoken()
        vendor = {key: value for key, value in part.items() if value and key != "functionCall"}
        if more := {key: value for key, value in said.items() if key not in _CALL_MEMBERS}:
            vendor["functionCall"] = more
        name, id_ = _string(said.get("name")), _string(said.get("id"))
        self._call = _Arriving(self._calls, name, id_, [], vendor)
        events.append(CallStart(self._calls, name, id_, {NAME: vendor} if vendor else {}))
        self._calls += 1
        return self._call

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
        arrived, self._call = self._call, None
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


def _usage(said: dict[str, Any]) -> Usage:
    def count(name: str) -> int:
        value = said.get(name)
        return value if isinstance(value, int) else 0

    return Usage(
        input_tokens=count("promptTokenCount") + count("toolUsePromptTokenCount"),
        output_tokens=count("candidatesTokenCount") + count("thoughtsTokenCount"),
        cached_tokens=count("cachedContentTokenCount"),
        reasoning_tokens=count("thoughtsTokenCount"),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [_object(item) for item in value] if isinstance(value, list) else []


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
