"""Lint rules for pairs of tools: names and descriptions that a model confuses.

Not all pairs are compared: tools that say the same are looked up, and of the others only those are
compared whose names have a key in common.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from rightcall.core.tool import Spec
from rightcall.declare.findings import Finding
from rightcall.declare.manual import first_sentence
from rightcall.declare.search_words import stem, terms

FEW = 5
"""The number of tools up to which none has to say when it is used."""
_SAME = 0.5
"""The share of common words, of all words in either description, above which two are too similar."""
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
    "buy purchase",
    "cancel",
    "connect",
    "disconnect",
    "enable",
    "disable",
    "manage",
)
_SAME_THING = (
    "client customer",
    "employee staff",
    "picture image photo",
    "invoice bill",
    "mail email",
    "folder directory",
    "company firm organization organisation",
    "film movie",
    "user member",
    "file document",
    "bug defect",
    "vendor supplier",
    "booking reservation",
    "car vehicle automobile",
)
"""Nouns that mean the same in the names and descriptions of one set of tools."""
_OPPOSITES = frozenset(
    ("up", "down", "on", "off", "in", "out", "left", "right", "first", "last", "start", "end", "next")
)
"""What sets two names apart, though it is only one word."""
_ARTICLES = frozenset(("a", "an", "the"))
_WORD = re.compile(r"[^\W\d_]+|\d+")
_JOINS = frozenset(("with", "as", "by", "in", "for", "from", "batch", "bulk", "multiple", "many", "all"))
"""Words that turn a name into another that does the same in another way."""
_VERBS: dict[str, str] = {}
"""The stem of each.verb, with the first that means the same."""
_SYNONYMS: dict[str, str] = {}
"""The same for verbs and nouns."""
for _group in _MEANS_THE_SAME:
    _VERBS |= dict.fromkeys(map(stem, _group.split()), _group.split()[0])
for _group in (*_MEANS_THE_SAME, *_SAME_THING):
    _SYNONYMS |= dict.fromkeys(map(stem, _group.split()), _group.split()[0])

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


class _ParsedName(Struct, frozen=True, eq=False):
    """A tool with the words of its name and of its description."""

    spec: Spec
    verb: str
    rest: tuple[str, ...]
    """The words of the name but for the verb, and but for a word that most names begin with."""
    words: frozenset[str]
    said: tuple[str, ...]
    """The description, with one word for all that mean the same."""
    parameters: frozenset[str]

    @property
    def description_key(self) -> tuple[str, ...]:
        """The description without the words of the name."""
        own = {_SYNONYMS.get(word, word) for word in self.rest}
        own.update(re.findall(r"\d+", self.spec.name))
        return tuple(["" if word in own else word for word in self.said])

    @property
    def shape(self) -> tuple[object, ...]:
        """The parameters and their types, without the words of the name."""
        own = {_SYNONYMS.get(word, word) for word in self.rest}
        members = []
        for name, member in _members_of(self.spec):
            words = [_SYNONYMS.get(word, word) for word in terms(name, empty=True)]
            name_left = tuple(["" if word in own else word for word in words])
            kind = ""
            if isinstance(member, dict):
                kind = f"{member.get('type')} {member.get('enum')}"
            members.append((name_left, kind))
        return tuple(sorted(members))


def pair_findings(specs: Sequence[Spec]) -> Iterator[Finding]:
    """The findings on similar tools."""
    yield from _one_letter(specs)
    # The words that most names of an origin begin with, and that distinguish none of them.
    beginnings = Counter[tuple[str, str]]()
    sizes = Counter(spec.origin for spec in specs)
    for spec in specs:
        beginnings.update((spec.origin, word) for word in terms(spec.name, empty=True)[:1])
    namespaces = {key for key, count in beginnings.items() if count > max(2, sizes[key[0]] / 2)}
    named = [_parse_name(spec, namespaces) for spec in specs]
    told: set[str] = set()
    repeated: set[str] = set()
    for first, twin, is_same in _twins(named):
        told |= {first.spec.name, twin.spec.name}
        if twin.spec.name in repeated:
            continue
        repeated.add(twin.spec.name)
        what = f"it and {first.spec.name!r} take the same parameters and say nearly the same"
        instead = (
            "make one tool of both, with a parameter for the mode: an enum of the words that differ"
        )
        if is_same:
            what = f"it says the same as {first.spec.name!r}"
            instead = "keep one of them, or say in each what it does that the other does not"
        yield Finding(
            *(twin.spec.name, "name", "advice"),
            what,
            first_sentence(twin.spec.description),
            "near-duplicate",
            "each costs its tokens on every turn, and models pick the wrong one of two that look alike",
            instead,
        )
    for one, other in _alike(named):
        for each, beside in ((one.spec, other.spec), (other.spec, one.spec)):
            says = _WHEN_NOT.search(each.description) or beside.name in each.description
            if each.name not in told and not says:
                told.add(each.name)
                yield Finding(
                    *(each.name, "description", "advice"),
                    f"it does not say when {beside.name!r} is the better one",
                    first_sentence(each.description),
                    "no-when-not",
                    "where two tools are alike, a model can only choose by what each is not for",
                    f'add a sentence such as "Not for …: use {beside.name}."',
                )
    if len(specs) > FEW:
        yield from _no_when(named, told)


def _parse_name(spec: Spec, namespaces: Collection[tuple[str, str]]) -> _ParsedName:
    words = terms(spec.name, empty=True)
    if words and words[0] not in _VERBS and (spec.origin, words[0]) in namespaces:
        words = words[1:]
    verb = next((word for word in words if word in _VERBS), "")
    said = []
    for word in _WORD.findall(spec.description.lower()):
        stemmed = stem(word)
        if word not in _ARTICLES:
            said.append(_SYNONYMS.get(stemmed, stemmed))
    return _ParsedName(
        spec,
        verb=_VERBS.get(verb, ""),
        rest=tuple(word for word in words if word != verb),
        words=frozenset(terms(first_sentence(spec.description))),
        said=tuple(said),
        parameters=frozenset(name for name, _ in _members_of(spec)),
    )


def _members_of(spec: Spec) -> Iterable[tuple[str, object]]:
    properties = spec.parameters.get("properties")
    if isinstance(properties, dict):
        return properties.items()
    return ()


def _twins(named: Sequence[_ParsedName]) -> Iterator[tuple[_ParsedName, _ParsedName, bool]]:
    """Tools of one origin that do not differ enough; and whether they say the very same.

    Each comes with the first that is like it, so that there are fewer findings than tools.
    """
    first_by_key: dict[object, _ParsedName] = {}
    for each in named:
        if not each.said:
            continue
        nouns = frozenset(_SYNONYMS.get(word, word) for word in each.rest)
        for key in (each.shape, nouns):
            first = first_by_key.setdefault((each.spec.origin, each.said, key), each)
            if first is not each:
                yield first, each, True
    for each in named:
        for blank in _blanks(each):
            key = (each.spec.origin, blank, each.description_key, each.parameters)
            first = first_by_key.setdefault(key, each)
            if first is not each and each.parameters:
                yield first, each, False
    places: dict[object, list[_ParsedName]] = {}
    for each in named:
        if not each.parameters:
            continue
        for blank in _blanks(each):
            met = places.setdefault((each.spec.origin, each.verb, blank, each.parameters), [])
            for before in met:
                if _say_nearly_the_same(before, each):
                    yield before, each, False
                    break
            met.append(each)


def _say_nearly_the_same(one: _ParsedName, other: _ParsedName) -> bool:
    # Where no word is known as a verb, the first may be one: to join and to leave are two things.
    if not one.verb and one.rest[0] != other.rest[0]:
        return False
    common = len(one.words & other.words)
    return common > 0 and common / (len(one.words) + len(other.words) - common) >= _SAME


def _blanks(name: _ParsedName) -> Iterator[object]:
    """Keys: a name with one word left out, equal for names that differ in one word of as many."""
    words = name.rest
    if len(words) > 1:
        for at, word in enumerate(words):
            if word not in _OPPOSITES:
                yield name.verb, at, words[:at] + words[at + 1 :]


def _alike(named: Sequence[_ParsedName]) -> Iterator[tuple[_ParsedName, _ParsedName]]:
    """Tools of one origin that do the same, with names equal but for words that only say how."""
    places: dict[object, list[int]] = {}
    for place, each in enumerate(named):
        places.setdefault((each.spec.origin, each.verb, frozenset(each.rest)), []).append(place)
    pairs = set()
    for place, each in enumerate(named):
        for words in _less_said(each.rest):
            for other in places.get((each.spec.origin, each.verb, words), ()):
                if other != place:
                    pairs.add((min(place, other), max(place, other)))
    for first, second in sorted(pairs):
        yield named[first], named[second]


def _less_said(words: tuple[str, ...]) -> Iterator[frozenset[str]]:
    """The words of names that a name of these words is alike, with as many words or fewer."""
    yield frozenset(words)
    for at, word in enumerate(words):
        if at and word in _JOINS:
            yield frozenset(words[:at])
        if word != words[-1]:
            yield frozenset(words[:at] + words[at + 1 :])


def _things(name: _ParsedName) -> Iterator[object]:
    """The narrower object of a name: its last word with each of the others."""
    if not _JOINS.intersection(name.rest):
        for word in name.rest[:-1]:
            yield word, name.rest[-1]


def _no_when(named: Sequence[_ParsedName], told: set[str]) -> Iterator[Finding]:
    """Similar tools, doing the same to the same object, that do not say when to use them.

    The object is the last word of the name and one more: comments of pages are not comments of issues.
    """
    beside: dict[str, str] = {}
    first_by_key: dict[object, str] = {}
    for each in named:
        if each.verb:
            for thing in _things(each):
                first = first_by_key.setdefault((each.spec.origin, each.verb, thing), each.spec.name)
                if first != each.spec.name:
                    beside.setdefault(first, each.spec.name)
                    beside.setdefault(each.spec.name, first)
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
                    *(name, "name", "advice", f"it differs from {first!r} in one letter", ""),
                    "one-letter",
                    "models write names from memory, and one letter is easily another",
                    "rename one so that a whole word differs",
                )


def _without_one(name: str) -> Iterable[str]:
    return {name[:at] + name[at + 1 :] for at in range(len(name))}


def _verbs(name: str) -> set[str]:
    return {_VERBS[word] for word in terms(name, empty=True) if word in _VERBS}


def _differ_in_one(one: str, other: str) -> bool:
    # Where the verb is what differs, as in get and set, nobody confuses them.
    verbs = _verbs(one)
    others = _verbs(other)
    if verbs and others and verbs != others:
        return False
    if len(one) == len(other):
        return sum(a != b for a, b in zip(one, other, strict=True)) == 1
    short, long = sorted((one, other), key=len)
    return len(long) - len(short) == 1 and short in _without_one(long)
