"""An outcome into the result the model reads. The only place that words results.

No exception's repr, no traceback and no secret passes here: a failure nobody foresaw becomes one
neutral sentence. Text that outsiders could have written is JSON-encoded inside an envelope that
names its source and that it cannot close.
"""

import re
from typing import assert_never

import msgspec

from toolwright.core.call import Call
from toolwright.core.jsontext import shorten
from toolwright.core.outcome import (
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
from toolwright.core.parts import Part, Text
from toolwright.core.result import Result
from toolwright.core.tool import Limits, Tool
from toolwright.execute.encode import cut, encode

_DEFAULT = Limits()
_SHOWN_NAMES = 30
_SHOWN_PROBLEMS = 20
_LEAST = 64
"""Bytes of untrusted text that are shown however small the limit."""

# Brackets could close a tag or a chat template's marker; the rest is invisible, and hides instructions.
_HIDDEN = re.compile(
    r"[<>\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e01ef]"
)


def render(call: Call, outcome: Outcome, tool: Tool | None = None) -> Result:
    """The result for a call. Raises EncodeError when a returned value cannot be shown."""
    limits = _DEFAULT if tool is None else tool.limits
    source = call.name if tool is not None and tool.facts.untrusted else None
    content: tuple[Part, ...]
    if type(outcome) is Returned:
        content = encode(outcome.value, limits)
    elif type(outcome) is Failed and outcome.message:
        content = (Text(outcome.message),)
    else:
        source = None
        content = (Text(_words(call, outcome)),)
    return Result(
        call_id=call.id,
        name=call.name,
        outcome=outcome.kind,
        content=tuple([_finish(part, source, limits.max_output_bytes) for part in content]),
        source=source,
    )


def _words(call: Call, outcome: Outcome) -> str:
    match outcome:
        case Returned() | Failed():
            return f"{call.name} failed for a reason it did not give."
        case Invalid(problems):
            lines = [f"{call.name} was not run; its arguments do not fit:"]
            lines += [f"- {problem}" for problem in problems[:_SHOWN_PROBLEMS]]
            if len(problems) > _SHOWN_PROBLEMS:
                lines.append(f"- and {len(problems) - _SHOWN_PROBLEMS} more")
            return "\n".join(lines)
        case UnknownTool():
            return _unknown(outcome)
        case Denied(reason):
            because = f": {reason}" if reason else "."
            return f"{call.name} was not run; permission was denied{because}"
        case TimedOut(seconds):
            return (
                f"{call.name} did not finish within {seconds:g} seconds and was given up. "
                "It may have done part of its work."
            )
        case Cancelled():
            return f"{call.name} was cancelled before it finished."
        case Truncated():
            return (
                f"{call.name} was not run; the reply was cut off in the middle of its arguments. "
                "Call it again with shorter arguments, or in smaller steps."
            )
        case Interrupted():
            return (
                f"{call.name} was interrupted and may have run. Find out before calling it again."
            )
        case _:
            assert_never(outcome)


def _unknown(outcome: UnknownTool) -> str:
    name = outcome.name.encode(errors="replace").decode()
    words = f"There is no tool {shorten(name)}."
    if outcome.nearest:
        words += f" Did you mean {' or '.join(outcome.nearest)}?"
    if not outcome.available:
        return f"{words} No tools are available."
    names = outcome.available[:_SHOWN_NAMES]
    more = len(outcome.available) - len(names)
    return f"{words} Available: {', '.join(names)}" + (f" and {more} more." if more else ".")


def _finish(part: Part, source: str | None, limit: int) -> Part:
    """A part within the limit, and in an envelope when it has a source that is not to be trusted."""
    if not isinstance(part, Text):
        return part
    if source is None:
        return part if len(part.text) * 4 <= limit else Text(cut(part.text, limit))
    room = limit
    while True:
        envelope = _envelope(cut(part.text, room), source)
        # Escapes make text longer, so the limit may want a shorter cut.
        if len(envelope) <= limit or room <= _LEAST:
            return Text(envelope)
        room = max(room * limit // len(envelope) - _LEAST, _LEAST)


def _envelope(text: str, source: str) -> str:
    """Text labelled with where it came from, and encoded so that it cannot pretend to be more."""
    encoded = msgspec.json.encode({"untrusted_source": source, "content": text}).decode()
    return _HIDDEN.sub(_escape, encoded)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
