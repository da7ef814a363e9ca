"""Builds the reply: converts the deltas of a message to events, and at the end to its parts."""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from rightcall.core.events import ModelEvent, ReasoningDelta, ReasoningEnd, ReplyEnd, TextDelta
from rightcall.core.message import Citation, Reasoning, Reply, StopReason, Token, Unknown
from rightcall.core.parts import ANY_BYTES, Media, Text, Usage, sniff
from rightcall.wire.openai_chat.fragments import Calls, Fragment
from rightcall.wire.openai_chat.tables import CUT_OFF, FAULTS, NAME, REASONING, STOPS, XAI_TICKS
from rightcall.wire.payload import items_in, mapping, own_bag, url_raw, without
from rightcall.wire.reply_extras import (
    parse_annotations,
    parse_openai_logprobs,
    parse_sources,
    reported_cost,
)
from rightcall.wire.think import Piece, ThinkFilter

PCM = "audio/pcm"
"""The type of audio without a file header: 16 bits, 24 kHz, one channel, little-endian. No other format
is streamed. https://platform.openai.com/docs/guides/audio"""
_MPEG = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")


class AudioBuilder:
    """Audio while it arrives. It is sent back by the vendor's id for it, without its transcript."""

    def __init__(self) -> None:
        self._members: dict[str, Any] = {}
        self._pieces: list[str] = []

    def take(self, said: Mapping[str, Any]) -> None:
        """Add what a delta or a whole message says of it."""
        for key, value in said.items():
            if key == "data":
                if isinstance(value, str):
                    self._pieces.append(value)
            elif value is not None and key != "transcript":
                self._members[key] = value

    def parts(self) -> Iterator[Media | Unknown]:
        """The audio, if any arrived; what cannot be decoded is kept unchanged."""
        data = _bytes(self._pieces)
        if data:
            kind = sniff(data)
            if kind == ANY_BYTES:
                kind = "audio/mpeg" if data.startswith(_MPEG) else PCM
            yield Media(data, kind, vendor={NAME: {"audio": self._members}})
        elif self._members or self._pieces:
            members = dict(self._members)
            if self._pieces:
                members["data"] = "".join(self._pieces)
            yield Unknown({NAME: {"audio": members}})


def parse_picture(part: Any, member: str) -> Media | None:
    """The image in a part with a URL, which is sent back in that member; None for any other part."""
    holder = mapping(part).get("image_url")
    url = mapping(holder).get("url") or holder
    if not isinstance(url, str) or not url.startswith(("data:", "https://", "http://")):
        return None
    bag = {NAME: {"field": member}}
    if not url.startswith("data:"):
        return Media(b"", "image/*", vendor=bag, url=url)
    head, _, data = url.removeprefix("data:").partition(",")
    try:
        made = b64decode(data, validate=True)
    except ValueError:
        return None
    return Media(made, head.partition(";")[0] or "image/png", vendor=bag)


def return_made(
    media: Media, members: dict[str, Any], content: list[dict[str, Any]], *, pictures: bool
) -> bool:
    """Put media made by a model back into its message; returns whether it has a field for them.

    ``pictures``: the host accepts ``images`` in an assistant message.
    """
    bag = mapping(media.vendor.get(NAME))
    identity = mapping(bag.get("audio")).get("id")
    if identity:
        members["audio"] = {"id": identity}
        return True
    if "field" not in bag or (bag["field"] == "images" and not pictures):
        return False
    part = {"type": "image_url", "image_url": {"url": url_raw(media)}}
    if bag["field"] == "images":
        members.setdefault("images", []).append(part)
    else:
        content.append(part)
    return True


def _bytes(pieces: list[str]) -> bytes:
    """Decodes pieces of one base64 text, or separate base64 texts."""
    for given in (["".join(pieces)], pieces):
        try:
            return b"".join([b64decode(piece, validate=True) for piece in given])
        except ValueError:
            continue
    return b""


def usage_of(raw: Any) -> Usage:
    """Parses a usage object. Hosts put cached and reasoning tokens into different members."""
    if not isinstance(raw, dict):
        return Usage()
    if raw.keys() <= _PLAIN:
        return Usage(
            input_tokens=_count(raw, "prompt_tokens"), output_tokens=_count(raw, "completion_tokens")
        )
    into = mapping(raw.get("prompt_tokens_details"))
    out = mapping(raw.get("completion_tokens_details"))
    prompt = _count(raw, "prompt_tokens")
    completion = _count(raw, "completion_tokens")
    reasoning = _count(out, "reasoning_tokens") or _count(raw, "reasoning_tokens")
    if reasoning and _count(raw, "total_tokens") == prompt + completion + reasoning:
        # xAI counts reasoning beside the completion; here it is part of the output.
        completion += reasoning
    cost = reported_cost(raw) if "cost" in raw else None
    if cost is None and isinstance(ticks := raw.get("cost_in_usd_ticks"), int):
        cost = ticks / XAI_TICKS
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        cached_tokens=_count(into, "cached_tokens")
        or _count(raw, "prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens"),
        cache_written_tokens=_count(into, "cache_write_tokens", "cache_creation_tokens")
        or _count(raw, "cache_creation_input_tokens"),
        reasoning_tokens=reasoning,
        cost=cost,
    )


_NUMBERS = (int, float)
_PLAIN = frozenset(("prompt_tokens", "completion_tokens", "total_tokens"))
"""The members that every host has; many have no others."""


def _count(raw: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = raw.get(name)
        if value and isinstance(value, _NUMBERS):
            return int(value)
    return 0


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
        self._sound: AudioBuilder | None = None
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
        # ``_add`` in place: nearly every chunk of a long reply comes here.
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
        """Add a complete message."""
        self.is_whole = True
        calls = message.get("tool_calls")
        if not calls:
            self.delta(message, events)
            return
        rest = without(message, "tool_calls", "function_call")
        self.delta(rest, events)
        self._before_calls(events)
        self.calls.whole(calls)

    def likely(self, logprobs: Any) -> None:
        """Add log probabilities of tokens."""
        if logprobs:
            self._likely += parse_openai_logprobs(mapping(logprobs).get("content"))

    def end(self, events: list[ModelEvent]) -> None:
        """Emit the last events: held-back text, the calls' ends, the reply."""
        stop: StopReason = STOPS.get(self.word.lower(), "end")
        if stop in ("end", "calls"):
            stop = "end"
            if self.calls:
                # Imitators, and OpenAI itself for a forced tool, send "stop" after a call.
                stop = "calls"
            elif self._refusal:
                stop = "refusal"
            elif self.stop_string:
                stop = "stop_sequence"
        if self._think.is_open:
            self._flush_filter(events, cut=stop in CUT_OFF)
        unsaid = not self.word and not self.is_whole
        calls = self.calls.end(events, cut_off=stop in CUT_OFF, unsaid=unsaid)
        bag: dict[str, Any] = {}
        if self.id:
            bag["id"] = self.id
        bag |= self.extra
        parts = tuple(self._parts())
        reply = Reply(
            content=(*parts, *calls),
            stop=stop,
            stop_word=self.word,
            usage=usage_of(self.usage) if self.usage else Usage(),
            model=self.model,
            vendor=own_bag(NAME, bag),
            fault=FAULTS.get(self.word.lower(), ""),
            citations=self._citations(parts) if self.extra else (),
            logprobs=tuple(self._likely),
        )
        events.append(ReplyEnd(reply))

    def _citations(self, parts: tuple[object, ...]) -> tuple[Citation, ...]:
        text = "".join([part.text for part in parts if isinstance(part, Text)])
        # Our text lacks the inline thoughts, so that positions in it are unknown.
        moved = any(isinstance(run, _Run) and run.field == "inline" for run in self._runs)
        cited = parse_annotations(self.extra.get("annotations"), "" if moved else text)
        return tuple(cited or parse_sources(self.extra))

    def _parts(self) -> Iterator[Text | Reasoning | Media | Unknown]:
        details = list(map(_detail, self._details))
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
        details = []
        if not self._is_told:
            details = list(map(_detail, self._details))
        if isinstance(run, _Run) and is_thought and run is not self._told:
            self._told = run
            events.append(ReasoningEnd(_reasoning(run, details)))
        elif details and not is_thought:
            events.append(ReasoningEnd(_reasoning(_Run("reasoning_details"), details)))
        else:
            return
        self._is_told = self._is_told or bool(details)

    def _reason(self, field: str, text: str, events: list[ModelEvent]) -> None:
        if self._think.is_open:
            self._flush_filter(events, cut=True)
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

    def _flush_filter(self, events: list[ModelEvent], *, cut: bool) -> None:
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
        for detail in items_in(value):
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
                thinking = part.get("thinking") or []
                if isinstance(thinking, str):
                    thinking = [thinking]
                for piece in thinking:
                    text = piece if isinstance(piece, str) else piece.get("text", "")
                    if text:
                        self._reason("part", text, events)
            case "refusal":
                self._read_refusal(part.get("refusal"), part, events)
            case "image_url" if (made := parse_picture(part, "part")) is not None:
                self._runs.append(made)
            case _:
                self._flush_filter(events, cut=True)
                self._runs.append(Unknown({NAME: {"part": dict(part)}}))

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
            self._flush_filter(events, cut=True)
        self._thought(events)

    def _read_function(self, value: Any, delta: _Delta, events: list[ModelEvent]) -> None:
        """The older form of a call. Snowflake sends an empty one with every answer."""
        if not delta.get("tool_calls") and any(value.values() if isinstance(value, Mapping) else ()):
            self.calls.feed([{"index": 0, "function": value}], events)

    def _read_audio(self, value: Any, _delta: _Delta, events: list[ModelEvent]) -> None:
        if isinstance(value, Mapping):
            self._sound = self._sound or AudioBuilder()
            self._sound.take(value)
            if isinstance(words := value.get(TRANSCRIPT), str) and words:
                self._flush_filter(events, cut=True)
                self._add(TRANSCRIPT, words, events)

    def _read_images(self, value: Any, _delta: _Delta, _events: list[ModelEvent]) -> None:
        """OpenRouter's field for images that the model made."""
        if not isinstance(value, list):
            return
        for image in value:
            media = parse_picture(image, "images")
            self._runs.append(media or Unknown({NAME: {"images": [image]}}))

    def _keep(self, delta: Mapping[str, Any]) -> None:
        """Keep unknown members; lists that arrive in pieces are joined."""
        for key, value in delta.items():
            if key in _KNOWN or value in (None, "", [], {}):
                continue
            before = self.extra.get(key)
            if isinstance(before, list) and isinstance(value, list):
                before.extend(value)
            elif isinstance(value, list):
                self.extra[key] = list(value)
            else:
                self.extra[key] = value


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
        last = {}
        details.append(last)
        for key, value in detail.items():
            last[key] = [value] if key in _JOINED else value
        return
    for key, value in detail.items():
        if key in _JOINED and isinstance(last.get(key), list):
            last[key].append(value)
        elif value is not None:
            last[key] = [value] if key in _JOINED else value


_JOINED = ("text", "summary")


def _detail(pieces: Mapping[str, Any]) -> dict[str, Any]:
    detail = dict(pieces)
    for key in _JOINED:
        if key in detail:
            texts = [piece for piece in detail[key] if isinstance(piece, str)]
            detail[key] = "".join(texts) if texts else detail[key][0]
    return detail
