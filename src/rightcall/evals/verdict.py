"""Judges a reply to a case: which tools were called, and with what arguments. Nothing is run.

The choice and the arguments are judged separately. Possible answers are compared as by the Berkeley
set's own checker: words without white space, case and punctuation, numbers as numbers.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonError, JsonValue, parse
from rightcall.core.message import Reply
from rightcall.core.parts import Usage
from rightcall.evals.case import ANY, NONE, Case, Expected

_PUNCTUATION = re.compile(r"[ ,./\-_*^]")


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on a model's reply to a case."""

    id: str
    question: str
    expected: str
    """The expected tools, as one word."""
    called: str
    """The called tools, as one word."""
    choice: bool
    """Whether exactly the right tools were called."""
    arguments: bool | None = None
    """Whether the arguments are right, too; None if not judged."""
    given: tuple[str, ...] = ()
    """The arguments as the model wrote them."""
    invented: tuple[str, ...] = ()
    """Called names that are no offered tool's."""
    usage: Usage = Usage()
    error: str = ""
    """Why there is no reply."""

    @property
    def right(self) -> bool:
        """Whether everything that was judged is right."""
        return self.choice and self.arguments is not False


def judge(case: Case, reply: Reply, offered: Collection[str]) -> Verdict:
    """The verdict on a reply."""
    calls = reply.calls
    chosen = _match(case.calls, calls, arguments=False)
    judges = chosen and case.judges_arguments
    return Verdict(
        id=case.id,
        question=case.question,
        expected=case.label,
        called="+".join(sorted(call.name for call in calls)) or NONE,
        choice=chosen,
        # Matched again: of two calls of one tool either may be the one that is expected.
        arguments=_match(case.calls, calls, arguments=True) if judges else None,
        given=tuple(call.arguments for call in calls),
        invented=tuple(dict.fromkeys(call.name for call in calls if call.name not in offered)),
        usage=reply.usage,
    )


def unanswered(case: Case, error: str) -> Verdict:
    """The verdict on a missing reply: wrong, even if no call was expected."""
    return Verdict(
        id=case.id,
        question=case.question,
        expected=case.label,
        called="no reply",
        choice=False,
        error=error,
    )


def _match(expected: Sequence[Expected], calls: Sequence[Call], *, arguments: bool) -> bool:
    """Whether each expected call can be matched with a call of its own, and none is left over."""
    if len(expected) != len(calls):
        return False
    fits = [[_fits(each, call, arguments=arguments) for call in calls] for each in expected]
    taken: dict[int, int] = {}

    def place(one: int, tried: set[int]) -> bool:
        """Find a call for one expected call, moving other matches if needed."""
        for at, fit in enumerate(fits[one]):
            if fit and at not in tried:
                tried.add(at)
                if at not in taken or place(taken[at], tried):
                    taken[at] = one
                    return True
        return False

    return all(place(one, set()) for one in range(len(expected)))


def _fits(expected: Expected, call: Call, *, arguments: bool) -> bool:
    if call.name not in expected.names and ANY not in expected.names:
        return False
    return not arguments or not expected.judges_arguments or _says(expected, call)


def _says(expected: Expected, call: Call) -> bool:
    try:
        given = parse(call.arguments or "{}")
    except JsonError:
        return False
    if not isinstance(given, Mapping):
        return False
    if expected.arguments is not None:
        return same(given, expected.arguments)
    return is_possible(given, expected.possible or {})


def same(given: JsonValue, wanted: JsonValue) -> bool:
    """Equality as JSON: 2 and 2.0 are equal, and true is no number."""
    match wanted:
        case bool() | None:
            return given is wanted
        case int() | float():
            return isinstance(given, int | float) and not isinstance(given, bool) and given == wanted
        case Mapping():
            return (
                isinstance(given, Mapping)
                and given.keys() == wanted.keys()
                and all(same(given[name], value) for name, value in wanted.items())
            )
        case list() | tuple():
            return (
                isinstance(given, list | tuple)
                and len(given) == len(wanted)
                and all(map(same, given, wanted))
            )
        case _:
            return given == wanted


def is_possible(given: Mapping[str, JsonValue], possible: Mapping[str, Sequence[JsonValue]]) -> bool:
    """Whether every argument has one of its possible values, and only optional ones are omitted."""
    if not given.keys() <= possible.keys():
        return False
    left_out = possible.keys() - given.keys()
    if any("" not in possible[name] for name in left_out):
        return False
    return all(any(_alike(value, each) for each in possible[name]) for name, value in given.items())


def _alike(given: JsonValue, wanted: JsonValue) -> bool:
    """Matches one possible value. Inside an object each member has a list of them, as arguments have."""
    match wanted:
        case str():
            return isinstance(given, str) and _plain(given) == _plain(wanted)
        case Mapping():
            lists = {
                name: value if isinstance(value, list | tuple) else (value,)
                for name, value in wanted.items()
            }
            # At deeper levels the set writes objects literally.
            return isinstance(given, Mapping) and (same(given, wanted) or is_possible(given, lists))
        case list() | tuple():
            return (
                isinstance(given, list | tuple)
                and len(given) == len(wanted)
                and all(map(_alike, given, wanted))
            )
        case _:
            return same(given, wanted)


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("", text).lower().replace("'", '"')
