"""Renders an outcome as the result that the model reads: the only place that words results.

A returned value becomes text as it is, media as media, and everything else compact JSON, within the
tool's limits. No exception's repr, no traceback and no secret passes here: an unforeseen failure becomes
one neutral sentence. Untrusted text is JSON-encoded inside an envelope that names its source and that it
cannot close.
"""

import io
import json
import mimetypes
import re
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath
from typing import Any, TypeAlias, assert_never

import msgspec

from rightcall.core.call import Call
from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonValue, shorten
from rightcall.core.limits import Limits
from rightcall.core.media_type import sniff
from rightcall.core.offer import Offer
from rightcall.core.outcome import (
    Cancelled,
    Denied,
    DryRun,
    Failed,
    Interrupted,
    Invalid,
    Outcome,
    OutcomeKind,
    Returned,
    TimedOut,
    Truncated,
    UnknownTool,
)
from rightcall.core.parts import Media, Part, Result, Text
from rightcall.core.pattern import pattern
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Tool
from rightcall.gate.fields import NOBODYS, has_fields, told_apart
from rightcall.gate.size import MOST_VALUES, TooLarge, Unshowable, holds_media, is_image

_DEFAULT = Limits()
_NOTHING = Facts()
_SHOWN_PROBLEMS = 20
_LONGEST_NAME = 64
_PIECE = 1024 * 1024

# Brackets could close a tag or a chat template's marker. The others are invisible, and can hide
# instructions: controls, line separators, and Unicode's Default_Ignorable_Code_Point.
_HIDDEN = pattern(
    r"[<>\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


Dropped: TypeAlias = OutcomeKind | None
"""The outcome of an early start of a call that is not run, if there was one."""


def render(call: Call, outcome: Outcome, tool: Tool | None = None, dropped: Dropped = None) -> Result:
    """Returns the result for a call. Raises Unshowable when a returned value cannot be shown."""
    limits = _DEFAULT if tool is None else tool.limits
    facts = _NOTHING if tool is None else tool.facts
    source = call.name if facts.untrusted or facts.names else None
    content: tuple[Part, ...]
    told, own, what = NOBODYS, False, facts.what
    offers: tuple[str, ...] = ()
    vendor: Mapping[str, JsonValue] = {}
    if type(outcome) is Returned:
        value = outcome.value
        if type(value) is Offer:
            source, offers = value.source or source, value.names
            vendor, value = value.vendor, value.text
        # Most tools return a short plain string, which needs no work.
        plain = type(value) is str and value.isascii() and len(value) <= limits.max_output_bytes
        if plain and source is None:
            content = (Text(value),)
        else:
            content = encode(value, limits)
            if source is not None:
                content = tuple(map(_as_words, content))
            if source is not None and type(value) is not str and has_fields(facts):
                told = told_apart(content, facts, limits.max_output_bytes)
                source = None if told.is_clean else source
            content = _finish(content, source, limits.max_output_bytes, what)
    elif type(outcome) is Failed and outcome.message:
        own = outcome.own
        source = None if own else source
        content = _finish(encode(outcome.message, limits), source, _most_words(limits), what)
    else:
        # Any other outcome is worded by us alone, so it has no untrusted source.
        source, own = None, type(outcome) is Failed
        content = (Text(cut(encodable(_words(call, outcome, dropped)), _most_words(limits))),)
    return Result(
        call_id=call.id,
        name=call.name,
        outcome=outcome.kind,
        content=content,
        source=source,
        vouched=told.own,
        names=told.names,
        fields=told.fields,
        offers=offers,
        vendor=vendor,
        what=what if source is not None else "",
        own=own,
        withheld=type(outcome) is Denied and outcome.ran,
    )


def reworded(result: Result, text: str, tool: Tool) -> Result:
    """Returns the result with other text, under the same labels."""
    limits = tool.limits
    content = _finish(encode(text, limits), result.source, limits.max_output_bytes, result.what)
    return msgspec.structs.replace(result, content=content)


def _most_words(limits: Limits) -> int:
    return min(limits.max_failure_bytes, limits.max_output_bytes)


def _words(call: Call, outcome: Outcome, dropped: Dropped) -> str:
    # In a call that was cut off, the name may be missing or far too long.
    name = call.name if 0 < len(call.name) <= _LONGEST_NAME else "The call"
    not_run = "was not run" if dropped is None else _dropped(dropped)
    match outcome:
        case Returned() | Failed():
            return f"{name} failed for a reason it did not give."
        case Invalid(problems):
            lines = [f"{name} {not_run}; its arguments do not fit:"]
            lines += [f"- {problem}" for problem in problems[:_SHOWN_PROBLEMS]]
            if len(problems) > _SHOWN_PROBLEMS:
                lines.append(f"- and {len(problems) - _SHOWN_PROBLEMS} more")
            return "\n".join(lines)
        case UnknownTool():
            return _unknown(outcome)
        case Denied(reason, ran):
            because = f": {reason}" if reason else "."
            denied = "ran, but its result is withheld" if ran else f"{not_run}; permission was denied"
            return f"{name} {denied}{because}"
        case TimedOut(seconds):
            return (
                f"{name} did not finish within {seconds:g} s and was given up. "
                "It may have done part of its work."
            )
        case Cancelled():
            return f"{name} {'was cancelled before it finished' if dropped is None else not_run}."
        case Truncated():
            return (
                f"{name} {not_run}; the reply was cut off in the middle of its arguments. "
                "Call it again with shorter arguments, or in smaller steps."
            )
        case Interrupted():
            return f"{name} was interrupted and may have run. Find out before calling it again."
        case DryRun():
            return (
                f"{name} was not run: this is a dry run, in which nothing is changed. The call itself "
                "is in order. Go on as if it had been done, and say in your answer what would be done."
            )
        case _:
            assert_never(outcome)


def _dropped(early: OutcomeKind) -> str:
    end = "was given up" if early in ("cancelled", "timed_out") else "ran to its end"
    return f"was started while the reply still came, {end}, and its result was dropped"


def _unknown(outcome: UnknownTool) -> str:
    name = encodable(outcome.name)
    words = f"There is no tool {shorten(name)}."
    if outcome.nearest:
        words += f" Did you mean {' or '.join(outcome.nearest)}?"
    if not outcome.available:
        return f"{words} No tools are available."
    if outcome.close:
        count = len(outcome.available)
        return f"{words} Of {count:,} tools these have the nearest names: {', '.join(outcome.close)}."
    return f"{words} Available: {', '.join(outcome.available)}."


def _finish(
    content: tuple[Part, ...], source: str | None, limit: int, what: str = ""
) -> tuple[Part, ...]:
    """Cut texts to the limit, and put them into an envelope if their source is untrusted."""
    if len(content) == 1:
        return (_bounded(content[0], source, limit, what),)
    sizes = [_size(part.text) if isinstance(part, Text) else 0 for part in content]
    whole = max(sum(sizes), 1)
    return tuple(
        _bounded(part, source, limit * size // whole, what)
        for part, size in zip(content, sizes, strict=True)
    )


def _as_words(part: Part) -> Part:
    """Returns a text file as text: untrusted text goes into an envelope in whatever form it comes."""
    if isinstance(part, Text) or part.kind != "text" or part.way != "bytes":
        return part
    text = part.data.decode(errors="replace")
    return Text(f"{part.name}:\n{text}" if part.name else text)


def _bounded(part: Part, source: str | None, limit: int, what: str) -> Part:
    if not isinstance(part, Text):
        return part
    return Text(cut(part.text, limit) if source is None else _enveloped(part.text, source, limit, what))


def _enveloped(text: str, source: str, limit: int, what: str) -> str:
    """Returns text in an envelope within the limit; an empty envelope if not even that fits."""
    room = limit
    while True:
        envelope = _envelope(cut(text, room), source, what)
        size = len(envelope.encode())
        if size <= limit or room == 0:
            return envelope
        # Escapes make the text longer, so it may have to be cut further.
        room = room * limit // size


def _envelope(text: str, source: str, what: str) -> str:
    """Wrap text in an envelope that names its source, encoded so that it cannot close the envelope."""
    label = {"untrusted_source": source, "what": what} if what else {"untrusted_source": source}
    encoded = msgspec.json.encode({**label, "content": text}).decode()
    return _HIDDEN.sub(_escape, encoded)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def encode(value: object, limits: Limits) -> tuple[Part, ...]:
    """Returns the parts for a value: text as it is, media as media, everything else as compact JSON."""
    try:
        return tuple(_parts(value, limits))
    except Unshowable:
        raise
    except Exception as error:  # serialisers, files and images run the developer's code
        raise Unshowable(f"{type(value).__qualname__} cannot be written for a model") from error


def _parts(value: object, limits: Limits) -> Iterator[Part]:
    if isinstance(value, str):
        # A member of a string enum is shown as its text. Cutting a text also makes it encodable.
        text = str.__str__(value)
        yield Text(text if len(text) > limits.max_output_bytes else encodable(text))
    elif (media := _media(value, limits)) is not None:
        yield _within(media, limits)
    elif isinstance(value, list | tuple) and holds_media(value):
        for item in value:
            yield from _parts(item, limits)
    else:
        yield Text(_json(value))


def cut(text: str, limit: int) -> str:
    """Cut ``text`` to ``limit`` bytes: its head and tail, and between them how much is left out.

    If the limit is too small to say how much, only a head that ends in an ellipsis is left.
    """
    if len(text) * 4 <= limit:
        return text
    size = _size(text)
    if size <= limit:
        return text
    room = limit - len(_marker(size, size).encode())
    if room <= 0:
        ellipsis = "…"[: limit // 3]
        return _head(text, limit - len(ellipsis.encode())) + ellipsis
    tail = room // 3
    start, end = _head(text, room - tail), _tail(text, tail)
    return f"{start}{_marker(size - len(start.encode()) - len(end.encode()), size)}{end}"


def _size(text: str) -> int:
    """Returns a text's size in bytes, encoded in pieces: one large encode would let nothing else run."""
    if text.isascii():
        return len(text)
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return sum([len(piece.encode(errors="replace")) for piece in pieces])


def _marker(left_out: int, size: int) -> str:
    return f"\n[… {left_out:,} of {size:,} bytes left out here …]\n"


# A character is at least one byte, so this many characters hold all of the bytes that can be kept; a
# character that the cut splits is dropped.
def _head(text: str, size: int) -> str:
    return text[:size].encode(errors="replace")[:size].decode(errors="ignore")


def _tail(text: str, size: int) -> str:
    if size == 0:
        return ""
    return text[max(len(text) - size, 0) :].encode(errors="replace")[-size:].decode(errors="ignore")


def _json(value: Any) -> str:
    from pydantic_core import (  # noqa: PLC0415 - light until used
        PydanticSerializationError,
        to_json,
        to_jsonable_python,
    )

    if isinstance(value, Iterator | AsyncIterator | Coroutine):
        raise Unshowable(f"{type(value).__name__} holds no value until it is read; return a list")
    try:
        return to_json(value, inf_nan_mode="strings", bytes_mode="base64", fallback=_plain).decode()
    except PydanticSerializationError:
        # File names may hold halves of surrogate pairs, which should not cost the rest of the value. Any
        # other error is raised again here.
        plain = to_jsonable_python(value, inf_nan_mode="strings", bytes_mode="base64", fallback=_plain)
        return encodable(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def _plain(value: Any) -> Any:
    """Convert what pydantic does not know: arrays of numbers, collections, msgspec and attrs classes."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(_some(value.items()))
    return _some(value) if isinstance(value, Collection) else msgspec.to_builtins(value)


def _some(values: Iterable[Any]) -> list[Any]:
    """Returns the values of a collection; its ``len`` may lie and its iterator never end."""
    found = list(islice(values, MOST_VALUES + 1))
    if len(found) > MOST_VALUES:
        raise TooLarge(f"it holds more than {MOST_VALUES:,} values")
    return found


def _media(value: Any, limits: Limits) -> Media | None:
    match value:
        case Media():
            return value
        case bytes() | bytearray() | memoryview():
            # What does not fit is left out anyway, so not all of it is copied.
            size = limits.max_media_bytes + 1
            data = value if type(value) is bytes else bytes(memoryview(value).cast("B")[:size])
            return Media(data, sniff(data))
        case io.IOBase():
            return _read(value, limits.max_media_bytes + 1)
        case _ if is_image(type(value)):
            buffer = io.BytesIO()
            value.save(buffer, format="PNG")
            return Media(buffer.getvalue(), "image/png")
        case _:
            return None


def _read(file: Any, size: int) -> Media:
    """Returns the content of an open file, up to the limit, and closes it."""
    with file:
        content = file.read(size)
    data = content.encode() if isinstance(content, str) else bytes(content)
    name = getattr(file, "name", None)
    name = PurePath(name).name if isinstance(name, str) else None
    guessed = mimetypes.guess_type(name)[0] if name else None
    return Media(data, guessed or sniff(data), name)


def _within(media: Media, limits: Limits) -> Part:
    """Returns media, checked against the limit. Media that is only referenced has no size here."""
    if len(media.data) <= limits.max_media_bytes:
        return media
    return Text(f"[{media.media_type} left out: more than {limits.max_media_bytes:,} bytes]")
