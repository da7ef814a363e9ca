"""The end of a prompt into how the reply begins."""

from msgspec import Struct

from rightcall.local.families.family import Family


class Opening(Struct, frozen=True, gc=False):
    """Where a reply begins."""

    text: str = ""
    """What the prompt already holds of the model's turn."""
    in_thought: bool = False
    in_head: bool = False


def opened(family: Family, tail: str) -> Opening:
    """What the prompt has begun of the reply.

    It is what follows the place where the model's turn begins. In a template that is not known, that
    place cannot be told, and only a thought that was opened counts.
    """
    if not tail:
        return Opening(in_thought=family.thinking == "opened", in_head=family.channels is not None)
    start = max((_after(tail, turn) for turn in family.turn), default=-1)
    if start >= 0 and family.channels is not None:
        start = _after_others(tail, family.channels.start, family.turn[0])
    if start >= 0:
        # Thoughts that nothing but the prompt can open have been opened.
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
    """The end of a prompt after which a reply of this family begins with its answer, or a call."""
    if family.channels is None and family.thinking != "opened":
        return ""
    return family.turn[0] + "".join(family.thoughts.close[:1] if family.thinking == "opened" else ())


def _after(text: str, turn: str) -> int:
    at = text.rfind(turn)
    return at + len(turn) if at >= 0 else -1


def _after_others(text: str, start: str, turn: str) -> int:
    """Where the last messages that are all the model's own begin: a turn may have several."""
    own = -1
    at = text.find(start)
    while at >= 0:
        if not text.startswith(turn, at):
            own = -1
        elif own < 0:
            own = at + len(turn)
        at = text.find(start, at + 1)
    return own
