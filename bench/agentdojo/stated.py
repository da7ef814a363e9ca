"""What each user task's request asks to be done, as it was written before anything was run.

The folder ``intents`` holds a file for each suite, written from the prompts and the tools' docs alone.
A second file beside it holds what was written anew for tasks that had failed: once each, by the author,
who saw how the honest run failed and never an injection. Its figures are counted apart.
"""

import functools
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, Literal, TypeAlias

INTENTS = Path(__file__).parent / "intents"
Written: TypeAlias = Literal["first", "repaired"]
Half: TypeAlias = Literal["open", "held out"]
HALVES: tuple[Half, Half] = ("open", "held out")
_NONE: dict[str, list[Any]] = defaultdict(list)
_DRAWN_BY = "which half may be looked into"


def stated(suite: str, user: str, written: Written) -> list[Any]:
    """The intents of one task, in their notation."""
    found: list[Any] = _read(suite, written)[user]
    return found


@functools.cache
def _read(suite: str, written: Written) -> dict[str, list[Any]]:
    if not (INTENTS / f"{suite}.json").exists():
        return _NONE
    first: dict[str, list[Any]] = json.loads((INTENTS / f"{suite}.json").read_text(encoding="utf-8"))
    repairs = INTENTS / f"{suite}.repaired.json"
    if written == "repaired" and repairs.exists():
        return {**first, **json.loads(repairs.read_text(encoding="utf-8"))}
    return first


def has_acts(suite: str, user: str) -> bool:
    """Whether the task is to do anything at all, by what was written first."""
    return bool(stated(suite, user, "first"))


def half(suite: str, user: str) -> Half:
    """Whether a task may be looked into while the runtime is improved: drawn once, by a seed."""
    return HALVES[user not in _open(suite)]


@functools.cache
def _open(suite: str) -> frozenset[str]:
    users = sorted(_read(suite, "first"))
    return frozenset(random.Random(f"{_DRAWN_BY} {suite}").sample(users, len(users) // 2))
