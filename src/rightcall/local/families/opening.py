"""How a reply begins: what the end of the prompt has opened, and the head of a message."""

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from rightcall.local.families.body import MAX_HEAD
from rightcall.local.families.family import Channels, Family
from rightcall.local.families.scanner import Scanner
from rightcall.local.families.shapes import Specs

_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_TYPES = "json|code|text"


class Opening(Struct, frozen=True, gc=False):
    """The part of a reply in which it begins."""

    text: str = ""
    """The part of the model's turn that the prompt already contains."""
    in_thought: bool = False
    in_head: bool = False


def opened(family: Family, tail: str) -> Opening:
    """The part of the reply that the prompt has begun.

    It is the text after the start of the model's turn. In an unknown template that start cannot be
    found, and only an opened thought counts.
    """
    if not tail:
        return Opening(in_thought=family.thinking == "opened", in_head=family.channels is not None)
    start = max((_after(tail, turn) for turn in family.turn), default=-1)
    if start >= 0 and family.channels is not None:
        start = _after_others(tail, family.channels.start, family.turn[0])
    if start >= 0:
        # Thoughts that only the prompt can open have been opened.
        return Opening(
            tail[start:],
            in_thought=family.thinking == "opened" and not family.thoughts.open,
            in_head=family.channels is not None,
        )
    if family.shows_specs == "template":
        return Opening(tail)
    last = max((tail.rfind(marker) for marker in family.thoughts.open), default=-1)
    return Opening(tail[last:] if last >= 0 else "")


def answering(family: Family) -> str:
    """A prompt's end after which a reply of this family begins with its answer, or a call."""
    if family.channels is None and family.thinking != "opened":
        return ""
    return family.turn[0] + "".join(family.thoughts.close[:1] if family.thinking == "opened" else ())


def _after(text: str, turn: str) -> int:
    at = text.rfind(turn)
    return at + len(turn) if at >= 0 else -1


def _after_others(text: str, start: str, turn: str) -> int:
    """Where the trailing messages of the model begin: a turn may have several."""
    own = -1
    at = text.find(start)
    while at >= 0:
        if not text.startswith(turn, at):
            own = -1
        elif own < 0:
            own = at + len(turn)
        at = text.find(start, at + 1)
    return own


class HeadedMessage(Struct, frozen=True, gc=False):
    """The kind of message after a head."""

    kind: Literal["text", "thought", "call"]
    name: str = ""
    """The called tool, as written: a prefix may be part of it."""
    prefix: str = ""
    """A prefix that may come before that name without being part of it."""
    is_hosted: bool = False
    """Whether the tool is one of the model's maker, and not an offered one."""
    shown: str = ""
    """The head's text, for thoughts that are kept in the text."""


def is_aside(found: HeadedMessage, specs: Specs) -> bool:
    """Whether a message is to a tool that was not offered."""
    if specs.is_closed:
        return specs.name(specs.bare(found.name, found.prefix)) not in specs.names
    return found.is_hosted and not specs.names


def head_in(
    channels: Channels, end: Scanner, raw: str, text: str, *, is_last: bool
) -> tuple[HeadedMessage | None, str] | None:
    """The head that began with ``raw`` and goes on up to its ``end``, and the text after it.

    With None for the head, there is none; None alone if that is not certain yet.
    """
    at, marker = end.find(text, is_last=is_last)
    # Its last word may be incomplete.
    if not marker and not is_last and at <= MAX_HEAD and _beginning(channels).fullmatch(raw + text[:at]):
        return None
    found = message(channels, raw + text[:at]) if marker and at <= MAX_HEAD else None
    return found, text if found is None else text[at + len(marker) :]


@lru_cache(maxsize=16)
def _beginning(channels: Channels) -> re.Pattern[str]:
    return re.compile(rf"{_form(channels).pattern}\S*")


def message(channels: Channels, text: str) -> HeadedMessage | None:
    """Parses a head; None if it has other content and so is none.

    A recipient, a channel and a type of content may come in any order; the last of each counts.
    """
    if not _form(channels).fullmatch(text):
        return None
    recipients = _RECIPIENT.findall(text)
    recipient = recipients[-1] if recipients else ""
    channel = ""
    if channels.channel and channels.channel in text:
        channel = text.rsplit(channels.channel, 1)[1].split("<", 1)[0].strip().split(" ", 1)[0]
    is_thought = channel in channels.thoughts or recipient in channels.thoughts
    if recipient and recipient not in (*channels.nobody, *channels.thoughts):
        tool = recipient.removeprefix(channels.prefix)
        is_hosted = tool.split(".", 1)[0] in channels.hosted
        return HeadedMessage("call", recipient, channels.prefix, is_hosted)
    if not is_thought:
        return HeadedMessage("text")
    shown = text.removeprefix(channels.start).removeprefix("assistant") + channels.message
    return HeadedMessage("thought", shown=shown)


@lru_cache(maxsize=16)
def _form(channels: Channels) -> re.Pattern[str]:
    start = rf"(?:{re.escape(channels.start)}[\w.:-]*)?"
    channel = rf"{re.escape(channels.channel)}[\w.-]*" if channels.channel else r"(?!)"
    constrain = rf"{re.escape(channels.constrain)}[\w./+-]*" if channels.constrain else r"(?!)"
    return re.compile(rf"{start}(?:\s*(?:to=[^\s<]+|{channel}|{constrain}|\b(?:{_TYPES})\b))*\s*")
