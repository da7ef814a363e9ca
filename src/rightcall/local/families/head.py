"""The head of a message that says whom it is for into what the message is."""

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from rightcall.local.families.family import Channels

_RECIPIENT = re.compile(r"\bto=([^\s<]+)")


_TYPES = "json|code|text"


@lru_cache(maxsize=16)
def _form(channels: Channels) -> re.Pattern[str]:
    start = rf"(?:{re.escape(channels.start)}[\w.:-]*)?"
    channel = rf"{re.escape(channels.channel)}[\w.-]*" if channels.channel else r"(?!)"
    constrain = rf"{re.escape(channels.constrain)}[\w./+-]*" if channels.constrain else r"(?!)"
    return re.compile(rf"{start}(?:\s*(?:to=[^\s<]+|{channel}|{constrain}|\b(?:{_TYPES})\b))*\s*")


class Message(Struct, frozen=True, gc=False):
    """What follows a head."""

    kind: Literal["text", "thought", "call"]
    name: str = ""
    """The tool that is called."""
    is_hosted: bool = False
    """The tool is one of the model's maker, not of those that were offered."""
    shown: str = ""
    """The head as it stands in the text where thoughts are kept there."""


def may_be_head(channels: Channels, text: str) -> bool:
    """Whether a text may be the beginning of a head: its last word may not be complete."""
    return _beginning(channels).fullmatch(text) is not None


@lru_cache(maxsize=16)
def _beginning(channels: Channels) -> re.Pattern[str]:
    return re.compile(rf"{_form(channels).pattern}\S*")


def message(channels: Channels, text: str) -> Message | None:
    """What a head says; None when it holds something else and so is none.

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
        name = recipient.removeprefix(channels.prefix) or recipient
        return Message("call", name, is_hosted=name.split(".", 1)[0] in channels.hosted)
    if not is_thought:
        return Message("text")
    shown = text.removeprefix(channels.start).removeprefix("assistant") + channels.message
    return Message("thought", shown=shown)
