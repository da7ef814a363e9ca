"""Cases: what an eval asks, and which calls are right.

A reply is judged by which tools were called, and with what arguments, each separately. Nothing is run.
Possible answers are compared as by the Berkeley set's own checker: words without white space, case and
punctuation, numbers as numbers.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from rightcall.core.jsontext import JsonError, JsonValue, parse
from rightcall.core.message import Reply, Transcript, user_text
from rightcall.core.parts import Call, Usage
from rightcall.core.tool import Spec

ANY = "*"
"""Matches any offered tool."""
NONE = "none"
"""The name, in tables and reports, of a case that expects no call."""


class Expected(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An expected call."""

    names: tuple[str, ...]
    """The tools that are right for it: one, or several equally good ones; ``*`` for any."""
    arguments: Mapping[str, JsonValue] | None = None
    """The exact arguments."""
    possible: Mapping[str, tuple[JsonValue, ...]] | None = None
    """The right values of each argument, as the Berkeley set writes them: an empty string among them
    means that it may be omitted. White space, case and punctuation of words are ignored."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "|".join(self.names)

    @property
    def judges_arguments(self) -> bool:
        """Whether it constrains the arguments."""
        return self.arguments is not None or self.possible is not None


class Case(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question, and the calls that a model should answer it with."""

    id: str
    question: str
    calls: tuple[Expected, ...] = ()
    """All of these, in any order, and no others; empty if nothing should be called."""
    history: Transcript = ()
    """The messages before the question."""
    system: str = ""
    tools: tuple[Spec, ...] = field(default_factory=tuple)
    """The tools of this question alone, if the cases have their own."""

    @property
    def label(self) -> str:
        """The expected tools as one word, by which tables are sorted."""
        return "+".join(sorted(each.label for each in self.calls)) or NONE

    @property
    def messages(self) -> Transcript:
        """The messages for the model."""
        return (*self.history, user_text(self.question))

    @property
    def judges_arguments(self) -> bool:
        """Whether any expected call constrains its arguments."""
        return any(each.judges_arguments for each in self.calls)


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
    arguments = None
    if chosen and case.judges_arguments:
        # Matched again: of two calls of one tool either may be the one that is expected.
        arguments = _match(case.calls, calls, arguments=True)
    names = [call.name for call in calls]
    invented = [name for name in names if name not in offered]
    return Verdict(
        id=case.id,
        question=case.question,
        expected=case.label,
        called="+".join(sorted(names)) or NONE,
        choice=chosen,
        arguments=arguments,
        given=tuple(call.arguments for call in calls),
        invented=tuple(dict.fromkeys(invented)),
        usage=reply.usage,
    )


def missing_reply_verdict(case: Case, error: str) -> Verdict:
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
    fits = []
    for each in expected:
        fits.append([_fits(each, call, arguments=arguments) for call in calls])
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
    if not arguments or not expected.judges_arguments:
        return True
    try:
        given = parse(call.arguments or "{}")
    except JsonError:
        return False
    if not isinstance(given, Mapping):
        return False
    if expected.arguments is not None:
        return is_json_equal(given, expected.arguments)
    return is_possible(given, expected.possible or {})


def is_json_equal(given: JsonValue, wanted: JsonValue) -> bool:
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
                and all(is_json_equal(given[name], value) for name, value in wanted.items())
            )
        case list() | tuple():
            return (
                isinstance(given, list | tuple)
                and len(given) == len(wanted)
                and all(map(is_json_equal, given, wanted))
            )
        case _:
            return given == wanted


def is_possible(given: Mapping[str, JsonValue], possible: Mapping[str, Sequence[JsonValue]]) -> bool:
    """Whether every argument has one of its possible values, and only optional ones are omitted."""
    if not given.keys() <= possible.keys():
        return False
    for name, values in possible.items():
        if name not in given:
            if "" not in values:
                return False
        elif not any(_alike(given[name], each) for each in values):
            return False
    return True


def _alike(given: JsonValue, wanted: JsonValue) -> bool:
    """Matches one possible value. Inside an object each member has a list of them, as arguments have."""
    match wanted:
        case str():
            return isinstance(given, str) and _plain(given) == _plain(wanted)
        case Mapping():
            if not isinstance(given, Mapping):
                return False
            # At deeper levels the set writes objects literally.
            if is_json_equal(given, wanted):
                return True
            lists: dict[str, Sequence[JsonValue]] = {}
            for name, value in wanted.items():
                if isinstance(value, list | tuple):
                    lists[name] = value
                else:
                    lists[name] = (value,)
            return is_possible(given, lists)
        case list() | tuple():
            return (
                isinstance(given, list | tuple)
                and len(given) == len(wanted)
                and all(map(_alike, given, wanted))
            )
        case _:
            return is_json_equal(given, wanted)


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("", text).lower().replace("'", '"')
