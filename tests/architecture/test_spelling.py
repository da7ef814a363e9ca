"""Whatever a developer writes by name and misspells is refused in words that give the nearest name."""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import rightcall as rc
from rightcall.errors import DeclarationError, UsageError

_ROOMS = ["manifest", "process", "record", "testing", "trust"]
"""Rooms that take long to load are looked through by their own tests, which have loaded them."""

MADE_BY_US = {
    *("Call", "CallRecord", "CheckedCall", "Context", "Execution", "Problem", "Proposal", "Reply"),
    *("Result", "RunResult", "Stop", "Text", "Usage", "Approval", "Captured", "Completed", "Crowded"),
    *("Entry", "Evidence", "Exited", "Finding", "Finish", "Label", "Manifest", "Note", "NotStarted"),
    *("Path", "Piece", "Reading", "Report", "Signalled", "TimedOut"),
}
"""Values that the library makes, many of them for every delta or call: msgspec's own constructor."""

TOLD_LATER = {"call", "read_template", "ModelOptions", "tool", "Intent", "found"}
"""These take any name, or look at it once they have what it is for."""


def public(*rooms: ModuleType) -> Iterator[tuple[str, Any]]:
    """Every public name of the rooms that can be called with something by name."""
    seen = set[int]()
    for room in rooms:
        for name in room.__all__:
            found = getattr(room, name)
            if isinstance(found, ModuleType) or not callable(found) or id(found) in seen:
                continue
            seen.add(id(found))
            if name not in MADE_BY_US | TOLD_LATER and _options(found):
                yield name, found


def _options(found: Callable[..., Any]) -> list[str]:
    if getattr(found, "_is_protocol", False):
        return []
    if isinstance(found, type) and issubclass(found, BaseException):
        return []
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return []
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [each for each in parameters if each.kind in by_name]
    has_options = any(each.default is not each.empty or each.kind is by_name[1] for each in named)
    return [each.name for each in named if has_options and len(each.name) > 3]


async def assert_misspelt_names_are_told(*rooms: ModuleType, at_least: int) -> None:
    """Whatever the rooms show refuses a misspelt keyword with the nearest: so many of them, or more."""
    told, silent = 0, list[str]()
    for name, found in public(*rooms):
        meant = _options(found)[-1]
        misspelt = f"{meant[:-2]}{meant[-1]}{meant[-2]}x"
        try:
            await found(**{misspelt: None})
        except (UsageError, DeclarationError) as error:
            told += 1
            if f"did you mean {meant!r}" not in str(error):
                silent.append(f"{name}: {error}")
        except TypeError as error:
            silent.append(f"{name}: {error}")
    assert not silent, "\n".join(silent)
    assert told >= at_least


async def test_a_misspelt_keyword_is_refused_with_the_nearest() -> None:
    rooms = [import_module(f"rightcall.{name}") for name in _ROOMS]
    await assert_misspelt_names_are_told(rc, *rooms, at_least=40)


async def test_what_is_written_right_is_not_told_anything() -> None:
    rules = rc.trust.Rules(vouched=("*@example.com",))
    assert rules.vouched == ("*@example.com",)
    assert await rc.run_calls([], [], dependencies=None, approve=None) == ()
    with pytest.raises(UsageError, match=r"rc\.trust\.Rules takes no .*did you mean 'vouched'"):
        rc.trust.Rules(vouchd=("*",))  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="Missing required argument 'name'"):
        rc.models.Named()  # type: ignore[call-arg]
