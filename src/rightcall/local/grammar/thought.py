"""How the prompt ends into what may come before the calls: the rest of a thought, or a whole one."""

from msgspec import Struct

from rightcall.local.families.family import Channels, Family
from rightcall.local.families.opening import opened
from rightcall.local.grammar.nodes import EMPTY, Node, Until, optional, repeat, row, word
from rightcall.local.grammar.rules import Rules


class Place(Struct, frozen=True, gc=False):
    """Where in a reply the prompt ends, as far as a grammar minds."""

    thought_end: str = ""
    """What ends the thought that was begun."""
    is_thought_over: bool = False
    """A thought was begun and ended, and no other will come."""
    is_call_begun: bool = False
    """The mark before a call has been written."""


def place(family: Family, tail: str) -> Place:
    """Where the prompt leaves off."""
    begun = opened(family, tail)
    channels = family.channels
    if channels is not None:
        inside = channels.message in begun.text.rpartition(channels.start)[2]
        return Place(thought_end=_message_end(family, channels) if inside else "")
    opens = {mark: begun.text.rfind(mark) for mark in family.thoughts.open}
    last = max(opens, key=lambda mark: opens[mark], default="")
    closed = max([begun.text.rfind(mark) for mark in family.thoughts.close], default=-1)
    is_open = closed < (opens[last] if last else -1) or (begun.in_thought and closed < 0)
    is_call_begun = bool(family.call.open) and begun.text.endswith(family.call.open[0])
    if not is_open:
        return Place(is_thought_over=closed >= 0, is_call_begun=is_call_begun)
    return Place(thought_end=_end_of(family, last))


def thought(family: Family, rules: Rules, where: Place) -> Node:
    """The rest of a thought that was begun, or one that may come."""
    if family.channels is not None:
        return _message(family, family.channels, where)
    # Some turns begin anew after the thought. Some calls bring line breaks of their own.
    turn = word(family.turn[0]) if family.turn[:1] and family.turn[0] in family.wrappers else EMPTY
    space = rules.define("space", repeat(word("\n"), 1, 2), token=True) if not family.lead else EMPTY
    after = row(optional(space), optional(turn))
    if where.thought_end:
        return row(Until(where.thought_end), after)
    if where.is_thought_over or where.is_call_begun or not family.thoughts.open:
        return EMPTY
    mark = family.thoughts.open[0]
    return optional(row(word(mark), Until(_end_of(family, mark)), after))


def _message(family: Family, channels: Channels, where: Place) -> Node:
    """A thought that is a message of its own, and the beginning of the next."""
    rest = row(Until(_message_end(family, channels)), word(f"{channels.start}assistant"))
    if where.thought_end:
        return rest
    kind = (
        f"{channels.channel}{channels.thoughts[0]}"
        if channels.channel
        else f" to={channels.thoughts[0]}"
    )
    return optional(row(word(f"{kind}{channels.message}"), rest))


def _message_end(family: Family, channels: Channels) -> str:
    """What ends a message that is no call."""
    return next(end for end in channels.ends if end not in family.call.close)


def _end_of(family: Family, mark: str) -> str:
    """What closes a thought that this opens: its counterpart, where they come in pairs."""
    opens, closes = family.thoughts.open, family.thoughts.close
    return closes[opens.index(mark)] if mark and len(opens) == len(closes) else closes[0]
