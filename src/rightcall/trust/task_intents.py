"""What a task may do, as a part of a run's state: intents as they were stated, and what they gave."""

from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonValue

ReferenceGrade: TypeAlias = Literal[0, 1, 2, 3]
TYPED: ReferenceGrade = 0
"""Typed by the user, or stated by the application."""
SYSTEM: ReferenceGrade = 1
"""In a field that the system fills in."""
SEARCHED: ReferenceGrade = 2
"""In such a field of a record that was found by words that outsiders write."""
OUTSIDE: ReferenceGrade = 3
"""Written or chosen by outsiders: in free text, as a sender, an owner, a participant."""


class Candidate(Struct, frozen=True, omit_defaults=True):
    """A value that a reference gives, and who could have written or chosen it."""

    value: JsonValue
    grade: ReferenceGrade = TYPED
    source: str = ""
    """The tool and the field that it stands in."""


class Resolution(Struct, frozen=True, omit_defaults=True):
    """What one reference gave."""

    candidates: tuple[Candidate, ...] = ()
    problem: str = ""
    """Why it gave nothing."""


class TaskIntents(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The intents of a task, with what their references gave. Part of a run's state."""

    stated: tuple[JsonValue, ...]
    """Each in its notation."""
    by: str = "application"
    """Who stated them: the application, a person or the model."""
    resolutions: tuple[Resolution, ...] | None = None
    """What each reference gave, in the order of ``top_references``; None before they were looked up."""
