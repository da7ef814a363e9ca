"""The tables of what can come of a run and a call: stops, outcomes, errors, events, journal entries."""

from collections.abc import Callable
from typing import get_args

import rightcall as rc
from docs.declared import fields, first_paragraph, meanings, words_below
from docs.marked import table
from rightcall import errors
from rightcall.core.budget import LimitName, StopWord
from rightcall.core.entry import Entry
from rightcall.core.outcome import Outcome


def stops() -> str:
    """Every reason for which a run ends."""
    said = meanings(rc.record.Stop.__doc__ or "")
    answers = {word for word in get_args(StopWord) if rc.record.Stop(word).is_answer}
    rows = [
        (f"`{word}`", "yes" if word in answers else "no", said[word])
        for word in sorted(get_args(StopWord), key=list(said).index)
    ]
    return table(("`result.stop.reason`", "`is_answer`", "what happened"), rows)


def limits() -> str:
    """The names that a stop may have as its limit."""
    return "`" + "`, `".join(get_args(LimitName)) + "`\n"


def outcomes() -> str:
    """Every outcome of a call."""
    rows = [
        (f"`{each.kind}`", f"`rc.gate.outcome.{each.__name__}`", _names(each), first_paragraph(each))
        for each in get_args(Outcome)
    ]
    return table(("kind", "class", "fields", "what happened"), rows)


def error_classes() -> str:
    """Every exception, below the one that it is a case of."""
    rows = []

    def add(kind: type[errors.RightcallError], depth: int) -> None:
        rows.append(
            (f"{'&nbsp;' * 4 * depth}`{kind.__name__}`", f"`{kind.code}`", first_paragraph(kind))
        )
        for below in kind.__subclasses__():
            if below.__module__ == errors.__name__:
                add(below, depth + 1)

    add(errors.RightcallError, 0)
    return table(("class", "`code`", "what happened"), rows)


def error_kinds() -> str:
    """Every kind of error between here and a model."""
    said = meanings(words_below(errors)["ErrorKind"])
    rows = [
        (f"`{kind}`", said[kind]) for kind in sorted(get_args(errors.ErrorKind), key=list(said).index)
    ]
    return table(("`error.kind`", "what it means, and what to do"), rows)


_NO_EVENTS = (rc.events.RunStream, rc.events.CallRecord)
"""What is beside the events: what yields them, and what a result has of a call."""


def events() -> str:
    """Every event of a stream."""
    kinds = [getattr(rc.events, name) for name in rc.events.__all__]
    rows = [
        (f"`{each.__name__}`", _names(each), first_paragraph(each))
        for each in kinds
        if isinstance(each, type) and each not in _NO_EVENTS
    ]
    return table(("event", "fields", "what happened"), rows)


def entries() -> str:
    """Every entry of a journal."""
    rows = [
        (f"`{each.__struct_config__.tag}`", f"`{each.__name__}`", _names(each), first_paragraph(each))
        for each in get_args(Entry)
    ]
    return table(("`type` in the file", "class in `rc.record.entry`", "fields", "what happened"), rows)


def _names(owner: type) -> str:
    return ", ".join(f"`{name}`" for name in fields(owner))


TABLES: dict[str, Callable[[], str]] = {
    "stop reasons": stops,
    "limit names": limits,
    "outcomes": outcomes,
    "error classes": error_classes,
    "error kinds": error_kinds,
    "events": events,
    "journal entries": entries,
}
