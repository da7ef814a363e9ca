"""Renders an outcome as the result that the model reads: the only place that words results.

A returned value becomes text as it is, media as media, and everything else compact JSON, within the
tool's limits. No exception's repr, no traceback and no secret passes here: an unforeseen failure becomes
one neutral sentence. Untrusted text is JSON-encoded inside an envelope that names its source and that it
cannot close.

A tool's exception becomes text, too: for the record, and for the model if the tool is declared so. Its
message may come from anybody: the developer, a library, a server's reply. It is cut to a limit, and
anything that looks like a secret is redacted, wherever it is used.
"""

import io
import json
import mimetypes
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath
from traceback import format_exception
from typing import Any, TypeAlias, assert_never

import msgspec

from rightcall.core.facts import Facts
from rightcall.core.handler import FoundTools, Later
from rightcall.core.jsontext import JsonValue, dump, shorten
from rightcall.core.limits import Limits
from rightcall.core.outcome import (
    Cancelled,
    Denied,
    DryRun,
    Failed,
    GivenUp,
    Interrupted,
    Invalid,
    NotOffered,
    Outcome,
    OutcomeKind,
    Returned,
    TimedOut,
    Truncated,
    UnknownTool,
)
from rightcall.core.parts import Call, Media, Part, Result, Text, sniff
from rightcall.core.sanitize import encodable, escape_hidden
from rightcall.core.secret_formats import redact_formats
from rightcall.core.tool import Tool
from rightcall.gate.fields import has_fields, is_systems_own
from rightcall.gate.size import MOST_VALUES, Unshowable, ValueTooLarge, holds_media, is_image

_DEFAULT = Limits()
_NOTHING = Facts()
_SHOWN_PROBLEMS = 20
_SHOWN_NAMES = 30
_LONGEST_NAME = 64
_PIECE = 1024 * 1024
_EARLY_ENDS = {"cancelled": "was given up", "timed_out": "was given up"}


Dropped: TypeAlias = OutcomeKind | None
"""The outcome of an early start of a call that is not run, if there was one."""


def render(call: Call, outcome: Outcome, tool: Tool | None = None, dropped: Dropped = None) -> Result:
    """Returns the result for a call. Raises Unshowable when a returned value cannot be shown."""
    limits = _DEFAULT if tool is None else tool.limits
    facts = _NOTHING if tool is None else tool.facts
    source = call.name if facts.untrusted else None
    content: tuple[Part, ...]
    own = False
    what = facts.what
    offers: tuple[str, ...] = ()
    vendor: Mapping[str, JsonValue] = {}
    if type(outcome) is Returned:
        value = outcome.value
        if type(value) in _OURS_TO_READ:
            if type(value) is Later:
                return _render_later(call, value, limits)
            source = value.source or source
            offers = value.names
            vendor = value.vendor
            value = value.text
        # Most tools return a short plain string, which needs no work.
        plain = type(value) is str and value.isascii() and len(value) <= limits.max_output_bytes
        if plain and source is None:
            content = (Text(value),)
        else:
            content = encode(value, limits)
            if source is not None:
                # Untrusted text goes into an envelope in whatever form it comes, as a file too.
                content = tuple(_as_text(part) for part in content)
            if source is not None and type(value) is not str and has_fields(facts):
                source = None if is_systems_own(content, facts) else source
            content = _finish(content, source, limits.max_output_bytes, what)
    elif type(outcome) is Failed and outcome.message:
        own = outcome.own
        source = None if own else source
        content = _finish(encode(outcome.message, limits), source, _most_words(limits), what)
    else:
        # Any other outcome is worded by us alone, so it has no untrusted source.
        source = None
        own = type(outcome) is Failed
        content = (Text(cut(encodable(_words(call, outcome, dropped)), _most_words(limits))),)
    return Result(
        call_id=call.id,
        name=call.name,
        outcome=outcome.kind,
        content=content,
        source=source,
        offers=offers,
        vendor=vendor,
        what=what if source is not None else "",
        own=own,
        withheld=type(outcome) is Denied and outcome.ran,
    )


_OURS_TO_READ = frozenset([FoundTools, Later])
"""The values that say more than the text for the model."""


def _render_later(call: Call, later: Later, limits: Limits) -> Result:
    """Returns the result of a call that is answered later: the tool's own words, or ours until then."""
    words = later.meanwhile or f"{call.name} has begun it and has not answered yet."
    return Result(
        call_id=call.id,
        name=call.name,
        outcome="returned",
        content=(Text(cut(encodable(words), limits.max_output_bytes)),),
        own=True,
        later=later.handle,
        waits=not later.meanwhile,
    )


def replace_text(result: Result, text: str, tool: Tool) -> Result:
    """Returns the result with other text, under the same labels."""
    limits = tool.limits
    content = _finish(encode(text, limits), result.source, limits.max_output_bytes, result.what)
    return msgspec.structs.replace(result, content=content)


def _most_words(limits: Limits) -> int:
    return min(limits.max_failure_bytes, limits.max_output_bytes)


def _words(call: Call, outcome: Outcome, dropped: Dropped) -> str:
    # In a call that was cut off, the name may be missing or far too long.
    name = call.name
    if not 0 < len(name) <= _LONGEST_NAME:
        name = "The call"
    if dropped is None:
        not_run = "was not run"
    else:
        end = _EARLY_ENDS.get(dropped, "ran to its end")
        not_run = f"was started while the reply still came, {end}, and its result was dropped"
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
            return _unknown_words(outcome)
        case NotOffered(offered):
            return f"{name} {not_run}: {_offer_words(offered)}"
        case GivenUp(failures):
            times = "once" if failures == 1 else f"{failures:,} times in a row"
            return f"{name} {not_run}: it failed {times}, and this run leaves it alone."
        case Denied(reason, ran):
            because = f": {reason}" if reason else "."
            denied = f"{not_run}; permission was denied"
            if ran:
                denied = "ran, but its result is withheld"
            return f"{name} {denied}{because}"
        case TimedOut(seconds):
            return (
                f"{name} did not finish within {seconds:g} s and was given up. "
                "It may have done part of its work."
            )
        case Cancelled(began):
            if began and dropped is None:
                return f"{name} was cancelled before it finished."
            return f"{name} {not_run}."
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
                "is in order, and outside of a dry run it would have been made."
            )
        case _:
            assert_never(outcome)


def _unknown_words(outcome: UnknownTool) -> str:
    asked = encodable(outcome.name)
    words = f"There is no tool {shorten(asked)}."
    if outcome.nearest:
        words += f" Did you mean {' or '.join(outcome.nearest)}?"
    if not outcome.available:
        return f"{words} No tools are available."
    if outcome.close:
        count = len(outcome.available)
        close = ", ".join(outcome.close)
        return f"{words} Of {count:,} tools these have the nearest names: {close}."
    return f"{words} Available: {', '.join(outcome.available)}."


def _offer_words(offered: tuple[str, ...]) -> str:
    if not offered:
        return "this turn offered no tools."
    names = ", ".join(offered[:_SHOWN_NAMES])
    if len(offered) > _SHOWN_NAMES:
        names += f" and {len(offered) - _SHOWN_NAMES:,} more"
    return f"this turn did not offer it. It offered: {names}."


def _finish(
    content: tuple[Part, ...], source: str | None, limit: int, what: str = ""
) -> tuple[Part, ...]:
    """Cut texts to the limit, and put them into an envelope if their source is untrusted."""
    if len(content) == 1:
        return (_limit_part(content[0], source, limit, what),)
    sizes = [_size(part.text) if isinstance(part, Text) else 0 for part in content]
    whole = max(sum(sizes), 1)
    return tuple(
        _limit_part(part, source, limit * size // whole, what)
        for part, size in zip(content, sizes, strict=True)
    )


def _as_text(part: Part) -> Part:
    if isinstance(part, Text) or part.kind != "text" or part.way != "bytes":
        return part
    text = part.data.decode(errors="replace")
    return Text(f"{part.name}:\n{text}" if part.name else text)


def _limit_part(part: Part, source: str | None, limit: int, what: str) -> Part:
    if not isinstance(part, Text):
        return part
    return Text(
        cut(part.text, limit) if source is None else _fit_envelope(part.text, source, limit, what)
    )


def _fit_envelope(text: str, source: str, limit: int, what: str) -> str:
    """Returns text in an envelope that names its source, within the limit.

    It is encoded so that it cannot close the envelope, which is empty if not even that fits.
    """
    label = {"untrusted_source": source}
    if what:
        label["what"] = what
    room = limit
    while True:
        envelope = escape_hidden(dump({**label, "content": cut(text, room)}))
        size = len(envelope.encode())
        if size <= limit or room == 0:
            return envelope
        # Escapes make the text longer, so it may have to be cut further.
        room = room * limit // size


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
        # Media that is only referenced has no size here.
        if len(media.data) <= limits.max_media_bytes:
            yield media
        else:
            most = limits.max_media_bytes
            yield Text(f"[{media.media_type} left out: more than {most:,} bytes]")
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
    start = _head(text, room - tail)
    end = ""
    if tail:
        end = text[max(len(text) - tail, 0) :].encode(errors="replace")[-tail:].decode(errors="ignore")
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
    if isinstance(value, Collection):
        return _some(value)
    return msgspec.to_builtins(value)


def _some(values: Iterable[Any]) -> list[Any]:
    """Returns the values of a collection; its ``len`` may lie and its iterator never end."""
    found = list(islice(values, MOST_VALUES + 1))
    if len(found) > MOST_VALUES:
        raise ValueTooLarge(f"it holds more than {MOST_VALUES:,} values")
    return found


def _media(value: Any, limits: Limits) -> Media | None:
    match value:
        case Media():
            return value
        case bytes() | bytearray() | memoryview():
            # What does not fit is left out anyway, so not all of it is copied.
            if type(value) is bytes:
                return Media(value, sniff(value))
            data = bytes(memoryview(value).cast("B")[: limits.max_media_bytes + 1])
            return Media(data, sniff(data))
        case io.IOBase():
            # An open file is read up to the limit, and closed.
            with value:
                data = value.read(limits.max_media_bytes + 1)
            if isinstance(data, str):
                data = data.encode()
            name = getattr(value, "name", None)
            name = PurePath(name).name if isinstance(name, str) else None
            guessed = mimetypes.guess_type(name)[0] if name else None
            data = bytes(data)
            return Media(data, guessed or sniff(data), name)
        case _ if is_image(type(value)):
            buffer = io.BytesIO()
            value.save(buffer, format="PNG")
            return Media(buffer.getvalue(), "image/png")
        case _:
            return None


MOST_WORDS = 500
"""The most characters of an exception's message that are kept."""
_LOOKED_AT = 8192
_OURS = ("rightcall.gate.", "rightcall.core.")


def failure_from_exception(error: BaseException, tool: Tool) -> Failed:
    """Returns the outcome of a call whose tool raised anything but a ToolFailure."""
    words = ""
    if tool.errors == "words":
        words = words_of(error)
    elif tool.errors is None and not tool.facts.untrusted:
        # The developer's own tool: those of others say "neutral", or hold what outsiders wrote.
        words = cause_of(error).partition("\n")[0]
    # Our own frames above the tool's are dropped: its readers look for their own code.
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
        trace = trace.tb_next
    if trace is not None:
        error.__traceback__ = trace
    return Failed(words, error="".join(format_exception(error)), cause=cause_of(error))


def cause_of(error: BaseException) -> str:
    """Returns the type of an exception and its message: ``ValueError: no account 7``."""
    root = _root_error(error)
    message = _message_of(root)
    name = type(root).__qualname__
    if message:
        return f"{name}: {message}"
    return name


def words_of(error: BaseException) -> str:
    """Returns the first line of an exception's message; with its type if that alone is unclear."""
    root = _root_error(error)
    line = _message_of(root).partition("\n")[0].strip()
    if not line or isinstance(root, KeyError):
        # A KeyError's message is the key.
        return cause_of(root).partition("\n")[0]
    return line


def _root_error(error: BaseException) -> BaseException:
    """Returns the exception itself, or the only one in a group of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _message_of(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - __str__ is the tool's code, too
        return "its message cannot be read"
    text = redact_formats(said[:_LOOKED_AT]).strip()
    if len(text) <= MOST_WORDS:
        return text
    return text[: MOST_WORDS - 1] + "…"
