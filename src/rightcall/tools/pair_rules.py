"""Lint rules for pairs of tools: names and descriptions that a model confuses.

Not all pairs are compared: only tools whose names have a key in common.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from rightcall.core.tool import Spec
from rightcall.declare.finding import Finding
from rightcall.declare.manual import first_sentence
from rightcall.declare.words import stem, terms

FEW = 5
"""The number of tools up to which none has to say when it is used."""
_SAME = 0.5
"""The share of common words, of all words in either description, above which two are too similar."""
_CROWD = 50
"""If more tools than this share a key, the key is a prefix, and not a similarity."""
_SHORTEST = 4
"""The fewest letters of a name to compare; shorter names differ in a large part of them."""

_MEANS_THE_SAME = (
    "get read fetch retrieve load show view describe",
    "list enumerate",
    "search find query lookup",
    "create add insert new make",
    "update edit modify change patch set",
    "delete remove drop destroy erase",
    "send post publish",
    "run execute exec invoke call",
    "open",
    "close",
    "start begin",
    "stop end",
    "move rename",
    "copy duplicate clone",
    "check verify validate",
    "upload import",
    "download export",
    "write save store",
    "merge",
    "cancel",
    "connect",
    "disconnect",
    "enable",
    "disable",
    "manage",
)
_JOINS = frozenset(("with", "as", "by", "in", "for", "from", "batch", "bulk", "multiple", "many", "all"))
"""Words that turn a name into another that does the same in another way."""
_VERBS = {stem(word): group.split()[0] for group in _MEANS_THE_SAME for word in group.split()}

_WHEN = re.compile(
    r"\b(when|whenever|if you|if the|use (this|it|for|to|only)|useful (for|to|when)|call this|"
    r"for use|intended for|best for|good for|ideal for|in order to|so that|before|after|to find out)\b",
    re.IGNORECASE,
)
_WHEN_NOT = re.compile(
    r"\b(not (for|to be|use|when|if)|(do not|don't|never) (use|call)|instead|rather than|prefer|"
    r"only (for|when|if|works?|use)|unlike|except|deprecated|use \S+ (for|to|if|when)|as opposed to|"
    r"without|in contrast)\b",
    re.IGNORECASE,
)


class _Named(Struct, frozen=True, eq=False):
    """A tool with the words of its name and of its description."""

    spec: Spec
    verb: str
    rest: tuple[str, ...]
    """The words of the name that are neither the verb nor a prefix of all names."""
    words: frozenset[str]
    parameters: frozenset[str]


def pair_findings(specs: Sequence[Spec]) -> Iterator[Finding]:
    """The findings on similar tools."""
    yield from _one_letter(specs)
    prefixes = _prefixes(specs)
    named = [_named(spec, prefixes) for spec in specs]
    told: set[str] = set()
    for one, other in _met(named, _blanks):
        if _are_twins(one, other):
            told |= {one.spec.name, other.spec.name}
            yield _twins(one.spec, other.spec)
    for one, other in _met(named, _heads):
        for each, beside in ((one.spec, other.spec), (other.spec, one.spec)):
            says = _WHEN_NOT.search(each.description) or beside.name in each.description
            if each.name not in told and not says and _are_alike(one, other):
                told.add(each.name)
                yield _no_when_not(each, beside)
    if len(specs) > FEW:
        yield from _no_when(named, told)


def _prefixes(specs: Sequence[Spec]) -> frozenset[tuple[str, str]]:
    """The words that most names of an origin have, and that distinguish none of them."""
    counts = Counter((spec.origin, word) for spec in specs for word in {*terms(spec.name, empty=True)})
    sizes = Counter(spec.origin for spec in specs)
    return frozenset(key for key, n in counts.items() if n > max(2, sizes[key[0]] / 2))


def _named(spec: Spec, prefixes: Collection[tuple[str, str]]) -> _Named:
    words = [word for word in terms(spec.name, empty=True) if (spec.origin, word) not in prefixes]
    verbs = [word for word in words if word in _VERBS]
    verb = _VERBS[verbs[0]] if verbs else ""
    rest = tuple(word for word in words if not verbs or word != verbs[0])
    properties = spec.parameters.get("properties")
    members = frozenset(properties) if isinstance(properties, dict) else frozenset()
    return _Named(spec, verb, rest, frozenset(terms(first_sentence(spec.description))), members)


def _blanks(name: _Named) -> Iterator[object]:
    """Keys: the rest of a name with one word left out, equal for names that differ in one word."""
    for at in range(len(name.rest) if len(name.rest) > 1 else 0):
        yield at, len(name.rest), name.rest[:at] + name.rest[at + 1 :]


def _heads(name: _Named) -> Iterator[object]:
    """The object of a name: its last word, and the word before one that only says how."""
    yield from name.rest[-1:]
    for at, word in enumerate(name.rest):
        if word in _JOINS and at:
            yield name.rest[at - 1]


def _things(name: _Named) -> Iterator[object]:
    """The narrower object of a name: its last word with each of the others."""
    for word in name.rest[:-1] if not _JOINS.intersection(name.rest) else ():
        yield word, name.rest[-1]


def _met(
    named: Sequence[_Named], keys: Callable[[_Named], Iterator[object]]
) -> Iterator[tuple[_Named, _Named]]:
    """Tools of one origin that do the same, and have a key in common."""
    places: dict[object, list[int]] = {}
    for place, each in enumerate(named):
        for key in keys(each):
            places.setdefault((each.spec.origin, each.verb, key), []).append(place)
    seen: set[tuple[int, int]] = set()
    for met in places.values():
        for at, first in enumerate(met if len(met) <= _CROWD else ()):
            for second in met[at + 1 :]:
                if first != second and (first, second) not in seen:
                    seen.add((first, second))
                    yield named[first], named[second]


def _are_alike(one: _Named, other: _Named) -> bool:
    """Whether two names are equal except for words that only say how."""
    less, more = sorted((one.rest, other.rest), key=len)
    if set(less) == set(more):
        return True
    left = more[len(less) :] if more[: len(less)] == less else ()
    return bool(left and left[0] in _JOINS) or (
        len(more) == len(less) + 1 and less[-1:] == more[-1:] and set(less) < set(more)
    )


def _are_twins(one: _Named, other: _Named) -> bool:
    either = one.words | other.words
    likeness = len(one.words & other.words) / len(either) if either else 0.0
    return one.parameters == other.parameters and bool(one.parameters) and likeness >= _SAME


def _twins(one: Spec, other: Spec) -> Finding:
    return Finding(
        *(one.name, "name", "advice"),
        f"it and {other.name!r} take the same parameters and say nearly the same",
        first_sentence(other.description),
        "near-duplicate",
        "each costs its tokens on every turn, and models pick the wrong one of two that look alike",
        "make one tool of both, with a parameter for the mode: an enum of the words that differ",
    )


def _no_when_not(spec: Spec, beside: Spec) -> Finding:
    return Finding(
        *(spec.name, "description", "advice"),
        f"it does not say when {beside.name!r} is the better one",
        first_sentence(spec.description),
        "no-when-not",
        "where two tools are alike, a model can only choose by what each is not for",
        f'add a sentence such as "Not for …: use {beside.name}."',
    )


def _no_when(named: Sequence[_Named], told: set[str]) -> Iterator[Finding]:
    """Similar tools, doing the same to the same object, that do not say when to use them.

    The object is the last word of the name and one more: comments of pages are not comments of issues.
    """
    beside: dict[str, str] = {}
    for one, other in _met(named, _things):
        if one.verb:
            beside.setdefault(one.spec.name, other.spec.name)
            beside.setdefault(other.spec.name, one.spec.name)
    for each in named:
        spec, text = each.spec, each.spec.description
        if spec.name in beside and text and spec.name not in told and not _WHEN.search(text):
            yield Finding(
                *(spec.name, "description", "advice"),
                f"it does not say when to use it, and there is {beside[spec.name]!r}, too",
                first_sentence(text),
                "no-when",
                "a model that is told only what a tool does has to guess which one a request means",
                'add a sentence that begins "Use it when …"',
            )


def _one_letter(specs: Sequence[Spec]) -> Iterator[Finding]:
    """Names at an edit distance of one letter."""
    keys: dict[str, str] = {}
    told: set[tuple[str, str]] = set()
    for spec in specs:
        name = spec.name
        if len(name) < _SHORTEST:
            continue
        for key in (name, *_without_one(name)):
            first = keys.setdefault(key, name)
            pair = (first, name)
            if first != name and pair not in told and _differ_in_one(first, name):
                told.add(pair)
                yield Finding(
                    *(
                        name,
                        "name",
                        "advice",
                        f"it differs from {first!r} in one letter",
                        "",
                        "one-letter",
                    ),
                    "models write names from memory, and one letter is easily another",
                    "rename one so that a whole word differs",
                )


def _without_one(name: str) -> Iterable[str]:
    return {name[:at] + name[at + 1 :] for at in range(len(name))}


def _differ_in_one(one: str, other: str) -> bool:
    if _have_other_verbs(one, other):
        return False
    if len(one) == len(other):
        return sum(a != b for a, b in zip(one, other, strict=True)) == 1
    short, long = sorted((one, other), key=len)
    return len(long) - len(short) == 1 and short in _without_one(long)


def _have_other_verbs(one: str, other: str) -> bool:
    """Whether the verb is what differs, as in get and set, which nobody confuses."""
    verbs = [{_VERBS.get(word) for word in terms(name, empty=True)} - {None} for name in (one, other)]
    return all(verbs) and verbs[0] != verbs[1]
