"""An outcome into the result the model reads. The only place that words results.

No exception's repr, no traceback and no secret passes here: a failure nobody foresaw becomes one
neutral sentence. Text that outsiders could have written is JSON-encoded inside an envelope that
names its source and that it cannot close.
"""

import re
from typing import assert_never

import msgspec

from rightcall.core.call import Call
from rightcall.core.jsontext import shorten
from rightcall.core.outcome import (
    Cancelled,
    Denied,
    Failed,
    Interrupted,
    Invalid,
    Outcome,
    Returned,
    TimedOut,
    Truncated,
    UnknownTool,
)
from rightcall.core.parts import Part, Text
from rightcall.core.result import Result
from rightcall.core.sanitize import encodable
from rightcall.core.tool import Facts, Limits, Tool
from rightcall.execute.encode import cut, encode
from rightcall.execute.fields import NOBODYS, has_fields, told_apart

_DEFAULT = Limits()
_NOTHING = Facts()
_SHOWN_NAMES = 30
_SHOWN_PROBLEMS = 20
_LONGEST_NAME = 64

# Brackets could close a tag or a chat template's marker. The rest is invisible, and hides instructions:
# controls, line separators, and what Unicode calls Default_Ignorable_Code_Point.
_HIDDEN = re.compile(
    r"[<>\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def render(call: Call, outcome: Outcome, tool: Tool | None = None) -> Result:
    """The result for a call. Raises Unshowable when a returned value cannot be shown."""
    limits = _DEFAULT if tool is None else tool.limits
    facts = _NOTHING if tool is None else tool.facts
    source = call.name if facts.untrusted or facts.names else None
    content: tuple[Part, ...]
    told = NOBODYS
    if type(outcome) is Returned:
        value = outcome.value
        # A short plain string needs nothing done to it, and is what most tools return.
        plain = type(value) is str and value.isascii() and len(value) <= limits.max_output_bytes
        if plain and source is None:
            content = (Text(value),)
        else:
            content = encode(value, limits)
            if source is not None and type(value) is not str and has_fields(facts):
                told = told_apart(content, facts, limits.max_output_bytes)
                source = None if told.is_clean else source
            content = _finish(content, source, limits.max_output_bytes)
    elif type(outcome) is Failed and outcome.message:
        content = _finish(encode(outcome.message, limits), source, limits.max_output_bytes)
    else:
        source = None
        content = (Text(cut(encodable(_words(call, outcome)), limits.max_output_bytes)),)
    return Result(
        call_id=call.id,
        name=call.name,
        outcome=outcome.kind,
        content=content,
        source=source,
        vouched=told.own,
        names=told.names,
    )


def _words(call: Call, outcome: Outcome) -> str:
    # A call that was cut off may not have come as far as its name, or have lost its way in it.
    name = call.name if 0 < len(call.name) <= _LONGEST_NAME else "The call"
    match outcome:
        case Returned() | Failed():
            return f"{name} failed for a reason it did not give."
        case Invalid(problems):
            lines = [f"{name} was not run; its arguments do not fit:"]
            lines += [f"- {problem}" for problem in problems[:_SHOWN_PROBLEMS]]
            if len(problems) > _SHOWN_PROBLEMS:
                lines.append(f"- and {len(problems) - _SHOWN_PROBLEMS} more")
            return "\n".join(lines)
        case UnknownTool():
            return _unknown(outcome)
        case Denied(reason, ran):
            because = f": {reason}" if reason else "."
            denied = "ran, but its result is withheld" if ran else "was not run; permission was denied"
            return f"{name} {denied}{because}"
        case TimedOut(seconds):
            return (
                f"{name} did not finish within {seconds:g} s and was given up. "
                "It may have done part of its work."
            )
        case Cancelled():
            return f"{name} was cancelled before it finished."
        case Truncated():
            return (
                f"{name} was not run; the reply was cut off in the middle of its arguments. "
                "Call it again with shorter arguments, or in smaller steps."
            )
        case Interrupted():
            return f"{name} was interrupted and may have run. Find out before calling it again."
        case _:
            assert_never(outcome)


def _unknown(outcome: UnknownTool) -> str:
    name = encodable(outcome.name)
    words = f"There is no tool {shorten(name)}."
    if outcome.nearest:
        words += f" Did you mean {' or '.join(outcome.nearest)}?"
    if not outcome.available:
        return f"{words} No tools are available."
    names = outcome.available[:_SHOWN_NAMES]
    more = len(outcome.available) - len(names)
    return f"{words} Available: {', '.join(names)}" + (f" and {more} more." if more else ".")


def _finish(content: tuple[Part, ...], source: str | None, limit: int) -> tuple[Part, ...]:
    """Texts within the limit, and in an envelope when their source is not to be trusted."""
    if len(content) == 1:
        return (_bounded(content[0], source, limit),)
    sizes = [len(part.text.encode()) if isinstance(part, Text) else 0 for part in content]
    whole = max(sum(sizes), 1)
    return tuple(
        _bounded(part, source, limit * size // whole) for part, size in zip(content, sizes, strict=True)
    )


def _bounded(part: Part, source: str | None, limit: int) -> Part:
    if not isinstance(part, Text):
        return part
    return Text(cut(part.text, limit) if source is None else _enveloped(part.text, source, limit))


def _enveloped(text: str, source: str, limit: int) -> str:
    """Text in an envelope within the limit; an empty one where not even that fits."""
    room = limit
    while True:
        envelope = _envelope(cut(text, room), source)
        size = len(envelope.encode())
        if size <= limit or room == 0:
            return envelope
        # Escapes make text longer, so the limit may want a shorter cut.
        room = room * limit // size


def _envelope(text: str, source: str) -> str:
    """Text labelled with where it came from, and encoded so that it cannot pretend to be more."""
    encoded = msgspec.json.encode({"untrusted_source": source, "content": text}).decode()
    return _HIDDEN.sub(_escape, encoded)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
