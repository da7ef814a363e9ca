"""Builds the reply: converts the deltas of a message to events, and at the end to its parts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from rightcall.core.citation import Citation, Token
from rightcall.core.events import ModelEvent, ReasoningDelta, ReasoningEnd, ReplyEnd, TextDelta
from rightcall.core.message import Reasoning, Reply, StopReason, Unknown
from rightcall.core.parts import Media, Text, Usage
from rightcall.wire.citations import annotated, listed
from rightcall.wire.encoding import mapping
from rightcall.wire.logprobs import of_openai
from rightcall.wire.openai_chat.fragments import Calls, Fragment
from rightcall.wire.openai_chat.made import Sound, picture
from rightcall.wire.openai_chat.tables import CUT_OFF, FAULTS, NAME, REASONING, STOPS
from rightcall.wire.openai_chat.usage import usage_of
from rightcall.wire.think import Piece, ThinkFilter

_Delta: TypeAlias = Mapping[str, Any]

TRANSCRIPT = "transcript"
"""The field of a run of text that is the transcript of audio."""
_TEXTS = ("content", TRANSCRIPT)


class _Run:
    """Consecutive text or reasoning of one kind."""

    __slots__ = ("closing", "field", "opening", "pieces")

    def __init__(self, field: str) -> None:
        self.field = field
        """The member it came in: ``content`` for text, else the member or form of reasoning."""
        self.pieces: list[str] = []
        self.opening = ""
        self.closing = ""
        """The markers around an inline thought, with their white space."""


class ReplyBuilder:
    """Builds one reply."""

    def __init__(self) -> None:
        self.id = ""
        self.model = ""
        self.usage: Any = None
        self.word = ""
        self.stop_string = False
        self.is_whole = False
        self.extra: dict[str, Any] = {}
        self.calls = Calls()
        self._runs: list[_Run | Media | Unknown] = []
        self._last: _Run | None = None
        """The newest run."""
        self._think = ThinkFilter()
        self._inline: _Run
        """The newest thought between markers, once one was opened."""
        self._details: list[dict[str, Any]] = []
        self._told: _Run | None = None
        """The thought whose ReasoningEnd was emitted last."""
        self._is_told = False
        """Whether the details were emitted."""
        self._refusal: list[str] = []
        self._sound: Sound | None = None
        self._likely: list[Token] = []

    @property
    def is_known(self) -> bool:
        """Whether the reply's id and model are known."""
        return bool(self.id and self.model)

    def goes_on(self, field: str, text: str | None, events: list[ModelEvent]) -> bool:
        """Add to a member if the text needs no further parsing; returns whether it was added."""
        if not text:
            return True
        think = self._think
        if field == "content":
            if not think.is_plain or "<" in text or "`" in text:
                self._thoughts(think.feed(text), events)
                return True
        elif think.is_open or think.is_sure:
            self._reason(field, text, events)
            return True
        run = self._last
        if run is None or run is not self._runs[-1] or run.field != field:
            self._add(field, text, events)
            return True
        # Inlined ``_add``: nearly every chunk of a long reply comes here.
        run.pieces.append(text)
        self.calls.touched = None
        events.append(TextDelta(text) if field == "content" else ReasoningDelta(text))
        return True

    def delta(self, delta: Mapping[str, Any], events: list[ModelEvent]) -> None:
        """Add a delta of a message, and its events."""
        told = [name for name, value in delta.items() if value and name in _READER_OF]
        if len(told) > 1:
            told.sort(key=_ORDER.__getitem__)
        for name in told:
            _READER_OF[name](self, delta[name], delta, events)
        if not _KNOWN.issuperset(delta):
            self._keep(delta)

    def whole(self, message: Mapping[str, Any], events: list[ModelEvent]) -> None:
        """Add a complete message, and its events."""
        self.is_whole = True
        calls = message.get("tool_calls")
        if not calls:
            self.delta(message, events)
            return
        rest = {
            key: value for key, value in message.items() if key not in ("tool_calls", "function_call")
        }
        self.delta(rest, events)
        self._before_calls(events)
        self.calls.whole(calls, events)

    def likely(self, logprobs: Any) -> None:
        """Add log probabilities of tokens."""
        if logprobs:
            self._likely += of_openai(mapping(logprobs).get("content"))

    def end(self, events: list[ModelEvent]) -> None:
        """Emit the last events: held-back text, the calls' ends, the reply."""
        stop = self._stop()
        if self._think.is_open:
            self._unfiltered(events, cut=stop in CUT_OFF)
        unsaid = not self.word and not self.is_whole
        calls = self.calls.end(events, cut_off=stop in CUT_OFF, unsaid=unsaid)
        bag = {**({"id": self.id} if self.id else {}), **self.extra}
        parts = tuple(self._parts())
        reply = Reply(
            content=(*parts, *calls),
            stop=stop,
            stop_word=self.word,
            usage=usage_of(self.usage) if self.usage else Usage(),
            model=self.model,
            vendor={NAME: bag} if bag else {},
            fault=FAULTS.get(self.word.lower(), ""),
            citations=self._citations(parts) if self.extra else (),
            logprobs=tuple(self._likely),
        )
        events.append(ReplyEnd(reply))

    def _stop(self) -> StopReason:
        stop = STOPS.get(self.word.lower(), "end")
        if stop in ("end", "calls"):
            if self.calls:
                # Imitators, and OpenAI itself for a forced tool, send "stop" after a call.
                return "calls"
            if self._refusal:
                return "refusal"
            return "stop_sequence" if self.stop_string else "end"
        return stop

    def _citations(self, parts: tuple[object, ...]) -> tuple[Citation, ...]:
        text = "".join([part.text for part in parts if isinstance(part, Text)])
        # Our text lacks the inline thoughts, so that positions in it are unknown.
        moved = any(isinstance(run, _Run) and run.field == "inline" for run in self._runs)
        cited = annotated(self.extra.get("annotations"), "" if moved else text)
        return tuple(cited or listed(self.extra))

    def _parts(self) -> Iterator[Text | Reasoning | Media | Unknown]:
        details = [_detail(each) for each in self._details] if self._details else []
        for run in self._runs:
            if not isinstance(run, _Run):
                yield run
            elif run.field == "content":
                yield Text("".join(run.pieces))
            elif run.field == TRANSCRIPT:
                yield Text("".join(run.pieces), {NAME: {TRANSCRIPT: True}})
            elif run.pieces:
                yield _reasoning(run, details)
                details = []
        if details:
            yield _reasoning(_Run("reasoning_details"), details)
        if self._refusal:
            yield Unknown({NAME: {"refusal": "".join(self._refusal)}})
        if self._sound is not None:
            yield from self._sound.parts()

    def _add(self, field: str, text: str, events: list[ModelEvent]) -> None:
        run = self._runs[-1] if self._runs else None
        if not isinstance(run, _Run) or run.field != field:
            self._thought(events)
            run = self._last = _Run(field)
            self._runs.append(run)
        run.pieces.append(text)
        self.calls.close()
        events.append(TextDelta(text) if field in _TEXTS else ReasoningDelta(text))

    def _thought(self, events: list[ModelEvent]) -> None:
        """Emit the end of a thought that something else follows, with what the host wants back."""
        run = self._runs[-1] if self._runs else None
        is_thought = isinstance(run, _Run) and run.field not in _TEXTS and bool(run.pieces)
        if not is_thought and not self._details:
            return
        details = [] if self._is_told else list(map(_detail, self._details))
        if isinstance(run, _Run) and is_thought and run is not self._told:
            self._told = run
            events.append(ReasoningEnd(_reasoning(run, details)))
        elif details and not is_thought:
            events.append(ReasoningEnd(_reasoning(_Run("reasoning_details"), details)))
        else:
            return
        self._is_told = self._is_told or bool(details)

    def _reason(self, field: str, text: str, events: list[ModelEvent]) -> None:
        """Add reasoning from a field of its own."""
        if self._think.is_open:
            self._unfiltered(events, cut=True)
        self._think.is_sure = False
        self._add(field, text, events)

    def _thoughts(self, pieces: list[Piece], events: list[ModelEvent]) -> None:
        for kind, text in pieces:
            match kind:
                case "text":
                    self._add("content", text, events)
                case "thought":
                    self._add("inline", text, events)
                case "open":
                    self._inline = _Run("inline")
                    self._inline.opening = text
                    self._runs.append(self._inline)
                case "close":
                    self._inline.closing += text

    def _unfiltered(self, events: list[ModelEvent], *, cut: bool) -> None:
        """Flush the think filter. ``cut``: an open thought may be incomplete."""
        self._thoughts(self._think.finish(cut=cut), events)

    # The readers of a delta's members.

    def _read_reasoning(self, value: Any, delta: _Delta, events: list[ModelEvent]) -> None:
        field = next(name for name in REASONING if delta.get(name))
        if isinstance(value, str) and delta[field] is value:
            self._reason(field, value, events)

    def _read_details(self, value: Any, delta: _Delta, events: list[ModelEvent]) -> None:
        """OpenRouter's form of the same reasoning, which must be sent back unchanged."""
        said = any(isinstance(delta.get(name), str) and delta[name] for name in REASONING)
        for detail in value if isinstance(value, list) else []:
            if not isinstance(detail, Mapping):
                continue
            _collect(self._details, detail)
            text = detail.get("text") or detail.get("summary")
            if isinstance(text, str) and text and not said:
                self._reason("reasoning_details", text, events)

    def _read_content(self, value: Any, _delta: _Delta, events: list[ModelEvent]) -> None:
        if isinstance(value, str):
            self._thoughts(self._think.feed(value), events)
        elif isinstance(value, list):
            for part in value:
                self._read_part(part, events)

    def _read_part(self, part: Any, events: list[ModelEvent]) -> None:
        """Read one of the parts that Mistral and others send instead of text."""
        if isinstance(part, str):
            part = {"type": "text", "text": part}
        if not isinstance(part, Mapping):
            return
        match part.get("type"):
            case "text" | "output_text":
                if text := part.get("text"):
                    self._thoughts(self._think.feed(str(text)), events)
            case "thinking":
                self._read_thinking(part, events)
            case "refusal":
                self._read_refusal(part.get("refusal"), part, events)
            case "image_url" if (made := picture(part, "part")) is not None:
                self._runs.append(made)
            case _:
                self._unfiltered(events, cut=True)
                self._runs.append(Unknown({NAME: {"part": dict(part)}}))

    def _read_thinking(self, part: _Delta, events: list[ModelEvent]) -> None:
        thinking = part.get("thinking")
        for piece in [thinking] if isinstance(thinking, str) else thinking or []:
            text = piece if isinstance(piece, str) else piece.get("text", "")
            if text:
                self._reason("part", text, events)

    def _read_refusal(self, value: Any, _delta: _Delta, _events: list[ModelEvent]) -> None:
        if isinstance(value, str):
            self._refusal.append(value)

    def _read_calls(self, value: Any, _delta: _Delta, events: list[ModelEvent]) -> None:
        self._before_calls(events)
        self.calls.feed(value, events)

    def read_fragment(self, fragment: Fragment, events: list[ModelEvent]) -> None:
        """Add a delta that is one fragment of a call."""
        self._before_calls(events)
        self.calls.feed_one(fragment, events)

    def _before_calls(self, events: list[ModelEvent]) -> None:
        if self._think.is_open:
            self._unfiltered(events, cut=True)
        self._thought(events)

    def _read_function(self, value: Any, delta: _Delta, events: list[ModelEvent]) -> None:
        """The older form of a call. Snowflake sends an empty one with every answer."""
        if not delta.get("tool_calls") and any(value.values() if isinstance(value, Mapping) else ()):
            self.calls.feed([{"index": 0, "function": value}], events)

    def _read_audio(self, value: Any, _delta: _Delta, events: list[ModelEvent]) -> None:
        if isinstance(value, Mapping):
            self._sound = self._sound or Sound()
            self._sound.take(value)
            if isinstance(words := value.get(TRANSCRIPT), str) and words:
                self._unfiltered(events, cut=True)
                self._add(TRANSCRIPT, words, events)

    def _read_images(self, value: Any, _delta: _Delta, _events: list[ModelEvent]) -> None:
        """OpenRouter's field for images that the model made."""
        for image in value if isinstance(value, list) else []:
            media = picture(image, "images")
            self._runs.append(Unknown({NAME: {"images": [image]}}) if media is None else media)

    def _keep(self, delta: Mapping[str, Any]) -> None:
        """Keep unknown members; lists that arrive in pieces are joined."""
        for key, value in delta.items():
            if key in _KNOWN or value in (None, "", [], {}):
                continue
            before = self.extra.get(key)
            if isinstance(before, list) and isinstance(value, list):
                before.extend(value)
            else:
                self.extra[key] = list(value) if isinstance(value, list) else value


def _reasoning(run: _Run, details: list[dict[str, Any]]) -> Reasoning:
    """A thought, with what the host wants back."""
    bag: dict[str, Any] = {"field": run.field}
    if run.field == "inline":
        bag |= {"opening": run.opening, "closing": run.closing}
    if details:
        bag["details"] = details
    return Reasoning("".join(run.pieces), {NAME: bag})


_Reader = Callable[[ReplyBuilder, Any, _Delta, list[ModelEvent]], None]
_READERS: tuple[tuple[str, _Reader], ...] = (
    *[(name, ReplyBuilder._read_reasoning) for name in REASONING],  # noqa: SLF001
    ("reasoning_details", ReplyBuilder._read_details),  # noqa: SLF001
    ("content", ReplyBuilder._read_content),  # noqa: SLF001
    ("refusal", ReplyBuilder._read_refusal),  # noqa: SLF001
    ("images", ReplyBuilder._read_images),  # noqa: SLF001
    ("audio", ReplyBuilder._read_audio),  # noqa: SLF001
    ("tool_calls", ReplyBuilder._read_calls),  # noqa: SLF001
    ("function_call", ReplyBuilder._read_function),  # noqa: SLF001
)
"""In the order in which the members of one delta are to be read."""
_READER_OF = dict(_READERS)
_ORDER = {name: place for place, (name, _) in enumerate(_READERS)}
_KNOWN = frozenset([name for name, _ in _READERS] + ["role", "channel", "name"])


def _collect(details: list[dict[str, Any]], detail: Mapping[str, Any]) -> None:
    """Add a piece of ``reasoning_details``: text that continues is joined, others are separate."""
    last = details[-1] if details else None
    kind = detail.get("type")
    goes_on = (
        last is not None
        and kind in ("reasoning.text", "reasoning.summary")
        and last.get("type") == kind
        and last.get("index") == detail.get("index")
        and not (last.get("signature") and detail.get("signature"))
    )
    if not goes_on or last is None:
        details.append({key: [value] if key in _JOINED else value for key, value in detail.items()})
        return
    for key, value in detail.items():
        if key in _JOINED and isinstance(last.get(key), list):
            last[key].append(value)
        elif value is not None:
            last[key] = [value] if key in _JOINED else value


_JOINED = ("text", "summary")


def _detail(pieces: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _join(value) if key in _JOINED else value for key, value in pieces.items()}


def _join(pieces: list[Any]) -> Any:
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if texts else pieces[0]
