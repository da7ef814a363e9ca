"""The results that a run has read, and what the records in them say, found without reading them again.

A result is taken in by its words alone; it is parsed when a value in question stands in it. A record
vouches for an act only from a field that identifies it, that was typed, and that no other record has.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.parts import Result
from rightcall.trust.characters import compose, plain
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.kinds import gives_access, kind_of_name, words_of
from rightcall.trust.references import as_text
from rightcall.trust.spelling import canonical, is_same, looks_like, number, spell
from rightcall.trust.traces import came_back, content_of, is_back, is_opaque, traces_of
from rightcall.trust.typed_values import TypedValues

_WORD = re.compile(r"\w+")
_KEY = re.compile(r'"([A-Za-z_][\w-]{0,60})":')
_PIECE = 32 * 1024
_LONG = 4096
"""Characters of a result that is taken in at once, by whoever shows it."""
_LONGEST = 300
"""Limit of a value that is looked for, in characters."""
"""Characters that are split at once: the event loop of another thread gets its turn in between."""
_MOST_PENDING = 32 * 1024
"""Characters that are taken in at once, when a value is asked about."""
_MOST_CANDIDATES = 64
"""Results in which one value is looked for; a value that stands in more of them identifies nothing."""
_IDENTIFYING: frozenset[Kind | None] = frozenset(
    {"record", "account", "address", "path", "person", "channel"}
)
_ALIKE: Mapping[Kind | None, frozenset[Kind | None]] = {
    "address": frozenset({"person"}),
    "person": frozenset({"address", "free"}),
}
_NAMES = frozenset({"name", "number", "nr", "ref", "reference", "code", "key"})
"""Last words of fields that identify, where their kind does not show it."""
_LEADS: Mapping[Kind | None, frozenset[Kind | None]] = {
    "address": frozenset({"person"}),
    "person": frozenset({"address"}),
    "record": frozenset({"path", "account"}),
    "path": frozenset({"record"}),
    "account": frozenset({"record"}),
    "channel": frozenset({"record"}),
    "free": frozenset({"person", None}),
    None: frozenset({"record"}),
}
"""By kind of a parameter: the other kinds of fields whose values it may take from a record."""
_EXACT: frozenset[Kind | None] = frozenset({"record", "path", None})
IsNamed: TypeAlias = Callable[[str, Kind | None], bool]
"""Whether somebody typed a value, of this kind, as the name of something."""


class SeenResult(Struct, eq=False):
    """One result, and what is known of its tool."""

    result: Result
    facts: ResolvedFacts
    arguments: JsonValue
    is_outside: bool
    """Whether outsiders could have written all of it."""
    is_led: bool
    """Whether outsiders could have led the model when it made the call."""
    document: JsonValue = None
    places: dict[str, list[Place]] | None = None
    """By a value in a rough spelling: where it stands. None before anybody asked."""
    echo: frozenset[str] | None = None
    """The traces of what nobody typed in the call; None before anybody asked."""

    def index(self) -> dict[str, list[Place]]:
        """Where each short value stands, found once."""
        if self.places is None:
            self.document = content_of(self.result)
            self.places = {}
            for place, text in leaves(self.document):
                if len(text) <= _LONGEST and not is_key(place):
                    self.places.setdefault(_rough(text), []).append(place)
        return self.places

    def places_of(self, value: str) -> list[Place]:
        """Where a value stands by itself, in whatever spelling."""
        found = []
        for place in self.index().get(_rough(value), ()):
            if is_same(_at(self.document, place), value):
                found.append(place)
        return found

    def keys(self) -> set[str]:
        """The names that stand before values in its text."""
        found = set[str]()
        text = self.result.text
        for at in range(0, len(text), _PIECE):
            found.update(_KEY.findall(text[max(at - 64, 0) : at + _PIECE]))
        return found

    def is_systems(self, field: str) -> bool:
        """Whether the system fills in a field, and nobody from outside."""
        facts = self.facts
        if self.is_outside:
            return False
        if not field:
            # Outside of any field, it is the system's only if all of it is.
            return not facts.untrusted
        return not (facts.is_outsiders(field) or facts.is_identity(field))


class SeenResults:
    """The results so far. ``above`` is the same for the outer run."""

    def __init__(self, typed: TypedValues, above: "SeenResults | None" = None) -> None:
        self._typed = typed
        self._results: list[SeenResult] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        """By word: the results that it stands in."""
        self._indexed = 0
        """How many of the results are in it."""
        self._pending = 0
        """Characters of the others."""
        self._found: dict[str, list[SeenResult]] = {}
        """What was looked for since the last result."""
        self._sources: list[tuple[str, str]] = []
        """Other texts of outsiders, each with its source."""
        self._written: deque[tuple[JsonValue, tuple[str, ...]]] = deque()
        """The arguments of calls that wrote something, with the names of the targets among them."""
        self._followed: set[str] = set()
        """Values for which a record vouched when a call wrote them: they are no outsider's."""
        self._traces: set[str] = set()
        self._last: list[str] = []
        """The text that was written last: the next may be its other half."""
        self._above = above
        if above is not None:
            # What one of them wrote, another may read.
            self._written = above._written  # noqa: SLF001
            self._followed = above._followed  # noqa: SLF001
            self._traces = above._traces  # noqa: SLF001
            self._last = above._last  # noqa: SLF001

    def add(self, seen: SeenResult) -> None:
        """Add a result."""
        self._results.append(seen)
        self._found.clear()
        size = len(seen.result.text)
        self._pending += size
        if size > _LONG and not seen.is_outside:
            # A long one is taken in now, in a thread of its own: later it would keep others waiting.
            seen.index()
        if self._pending > _MOST_PENDING:
            self._index()

    def _index(self) -> None:
        """Take in the words of the results that were not asked about before: most runs never ask."""
        places = self._places
        for at in range(self._indexed, len(self._results)):
            seen = self._results[at]
            text = seen.result.text
            if "\\u" in text:
                # Letters may be written as escapes.
                text = f"{text} {' '.join([leaf for _, leaf in leaves(content_of(seen.result))])}"
            for word in words_in(text):
                places[word].append(at)
        self._indexed = len(self._results)
        self._pending = 0

    def add_text(self, text: str, source: str) -> None:
        """Add another text that outsiders could have written."""
        self._sources.append((plain(text).casefold(), source))

    def add_written(
        self,
        arguments: JsonValue,
        targets: tuple[str, ...] = (),
        followed: Iterable[str] = (),
    ) -> None:
        """Add what a run that outsiders may have led has written somewhere, by a call's arguments.

        ``targets`` are the parameters that are targets, ``followed`` the values among the arguments for
        which a record has vouched: they were the system's before they were written.
        """
        self._followed.update(map(spell, followed))
        self._written.append((arguments, targets))

    def _unvouched(
        self, arguments: JsonValue, targets: tuple[str, ...]
    ) -> tuple[list[str], frozenset[str]]:
        """The values in a call that nobody has typed, and those of them that are targets."""
        texts = []
        aims = []
        for place, text in leaves(arguments):
            is_name = len(place) == 1 and is_key(place)
            if not is_name and not self._is_typed_trace(text):
                texts.append(text)
                if place and place[0] in targets:
                    aims.append(text)
        return texts, frozenset(aims)

    def source_of(self, value: str) -> str:
        """The tool through which outsiders' text with this value came; empty if there is none."""
        sought = plain(value).casefold()
        for seen in reversed(self._having(value)[-8:]):
            if seen.result.source is None and not seen.facts.untrusted:
                continue
            if sought in plain(seen.result.text).casefold():
                return seen.result.source or seen.result.name
        for text, source in reversed(self._sources[-50:]):
            if sought in text:
                return source
        if self._above is not None:
            return self._above.source_of(value)
        return ""

    def system_that_lists(self, value: str, kind: Kind | None) -> str:
        """The tool of the system that has a value in a field of its own; empty if there is none."""
        for seen in self._having(value):
            for field, _ in self._places_of(seen, value, kind):
                if seen.is_systems(field):
                    return seen.result.name
        if self._above is not None:
            return self._above.system_that_lists(value, kind)
        return ""

    def record_that_leads_to(
        self, value: str, kind: Kind | None, is_named: IsNamed, parameter: str = ""
    ) -> str:
        """The tool of the one typed record that has a value in a field of its own; empty if none.

        The record must have a field that identifies it, with a value that was typed as a name; and no
        other record that the run has read may have that. The field with the value must be of the kind
        of the ``parameter`` that it goes to, empty for a text. The identifier of what an act of the run
        has made leads to it, too.
        """
        for seen in self._having(value):
            for field, place in self._places_of(seen, value, kind):
                if not seen.is_systems(field) or not _agrees(kind, parameter, seen, field, value):
                    continue
                found = _at(seen.document, place)
                if kind in _EXACT and parameter and compose(as_text(found)) != compose(value):
                    continue
                if seen.facts.acts:
                    if len(place) == 1 and _kind_of(seen, field) == "record":
                        # What the run itself has made is its own.
                        return seen.result.name
                    continue
                node, rest = _record_at(seen.document, place)
                if node is None:
                    continue
                before = place[: len(place) - len(rest)]
                for name, typed in _identifying(node, seen, before):
                    if is_same(typed, value) or not is_named(typed, _kind_of(seen, name)):
                        continue
                    if _is_echo(node, seen, before, name, typed):
                        continue
                    if self._is_the_only(node, seen, before, name, typed, rest):
                        return seen.result.name
        if self._above is not None:
            return self._above.record_that_leads_to(value, kind, is_named, parameter)
        return ""

    def _is_the_only(
        self,
        node: Mapping[str, JsonValue],
        seen: SeenResult,
        before: Place,
        name: str,
        typed: str,
        rest: Place,
    ) -> bool:
        """Whether no other record has the typed value there; the same one may be read again."""
        rivals = self._having(typed)
        if len(rivals) >= _MOST_CANDIDATES:
            return False
        own = dict(_identifying(node, seen, before))
        value = _value_at(node, rest)
        for rival in rivals:
            for place in rival.places_of(typed):
                if not place or not _is_same_field(str(place[-1]), name):
                    continue
                other = _at(rival.document, place[:-1])
                if not isinstance(other, dict):
                    continue
                theirs = _value_at(other, rest)
                if theirs is not None and not is_same(theirs, value):
                    return False
                if place[-1] != name and name in other:
                    return False
                for each, mine in own.items():
                    if each in other and not is_same(as_text(other[each]), mine):
                        return False
        return True

    def _having(self, value: str) -> list[SeenResult]:
        """The results in which all the words of a value stand, in order."""
        known = self._found.get(value)
        if known is not None:
            return known
        found = self._found[value] = self._find(value)
        return found

    def _find(self, value: str) -> list[SeenResult]:
        words = list(words_in(value))
        if not words:
            return []
        if self._pending:
            self._index()
        found: list[list[int]] = []
        for word in words:
            places = self._places.get(word)
            if places is None:
                return []
            found.append(places)
        found.sort(key=len)
        numbers = found[0]
        if len(numbers) > _MOST_CANDIDATES:
            for more in found[1:]:
                wanted = set(more)
                numbers = [each for each in numbers if each in wanted]
        return [self._results[each] for each in numbers[-_MOST_CANDIDATES:]]

    def _places_of(self, seen: SeenResult, value: str, kind: Kind | None) -> Iterator[tuple[str, Place]]:
        """Where a value stands in a result by itself, in fields of its kind; no model put it in."""
        if seen.is_outside or seen.facts.derived:
            return
        for place in seen.places_of(value):
            field = ".".join([step for step in place if isinstance(step, str)])
            if not _is_alike(kind, seen.facts.kind_in(field), value):
                continue
            if not self._was_written(seen, place):
                yield field, place

    def _was_written(self, seen: SeenResult, place: Place) -> bool:
        """Whether a model that outsiders led wrote a value of a result, or what stands beside it."""
        text = as_text(_at(seen.document, place))
        if text in seen.result.planted:
            return True
        self._take_in_written()
        if self._traces:
            beside = _at(seen.document, place[:-1])
            if text in came_back(beside, self._traces.__contains__):
                return True
        if not seen.is_led:
            return False
        if seen.echo is None:
            given, _ = self._unvouched(seen.arguments, ())
            seen.echo = traces_of(given, frozenset(given), self._is_typed_trace)
            if any(map(is_opaque, given)):
                # A tool may turn a link or an encoded text into anything.
                seen.echo = _ANYTHING
        return seen.echo is _ANYTHING or is_back(text, seen.echo.__contains__)

    def _take_in_written(self) -> None:
        while self._written:
            texts, aims = self._unvouched(*self._written.popleft())
            if texts:
                self._traces |= traces_of((*self._last, *texts), aims, self._is_typed_trace)
                self._last[:] = texts[-1:]

    def _is_typed_trace(self, text: str) -> bool:
        return self._typed.origin_of(text) is not None or spell(text) in self._followed

    def back_in(self, result: Result) -> frozenset[str]:
        """The texts of a result that were written before: in this run, or in another (``planted``)."""
        self._take_in_written()
        if not self._traces:
            return frozenset(result.planted)
        return came_back(content_of(result), self._traces.__contains__).union(result.planted)

    def traces_written(self, arguments: JsonValue, targets: tuple[str, ...] = ()) -> frozenset[str]:
        """The traces that a call would leave if it wrote its arguments now."""
        texts, aims = self._unvouched(arguments, targets)
        if not texts:
            return frozenset()
        return traces_of((*self._last, *texts), aims, self._is_typed_trace)


_ANYTHING = frozenset({"anything"})
"""The echo of a call that its tool may have turned into anything."""
_SCHEMED = re.compile(r"://|\Awww\.|\Amailto:", re.IGNORECASE)
_DECIMAL = re.compile(r"\d+\.\d+")
_LEFT_OUT = str.maketrans(dict.fromkeys(" \t\r\n-./()+_:,;'\"!?\\", None))


def _rough(text: str) -> str:
    """A spelling in which values that are the same are equal; others may be, too."""
    if not text.isascii():
        text = plain(text)
    if _SCHEMED.search(text):
        text = canonical(text.strip())
    elif _DECIMAL.fullmatch(text):
        text = number(text)
    return text.casefold().translate(_LEFT_OUT)


def _at(document: JsonValue, place: Place) -> JsonValue:
    for step in place:
        document = document[step]  # type: ignore[index]
    return document


def words_in(text: str) -> set[str]:
    """The words of a text, without regard to case."""
    if "\\" in text:
        text = re.sub(r"\\(?:u[0-9A-Fa-f]{4}|.)", " ", text)
    if not text.isascii():
        text = plain(text)
    text = text.casefold()
    if len(text) <= _PIECE:
        return set(_WORD.findall(text))
    found = set[str]()
    for at in range(0, len(text), _PIECE):
        # A word that is cut is taken in whole from the piece before it.
        found.update(_WORD.findall(text[max(at - 64, 0) : at + _PIECE]))
    return found


def _is_alike(kind: Kind | None, other: Kind | None, text: str) -> bool:
    """Whether a value of one kind may be used as another."""
    if None in (kind, other) or kind in (other, "free"):
        like = looks_like(plain(text))
        return like is None or kind in (None, like) or other == kind
    return other in _ALIKE.get(kind, ())


def _kind_of(seen: SeenResult, name: str) -> Kind | None:
    kind = seen.facts.kind_in(name)
    if kind is None and words_of(name)[-1:] != ("name",):
        # A number of something identifies it as an identifier does.
        return "record"
    return kind


def _agrees(kind: Kind | None, parameter: str, seen: SeenResult, field: str, value: str) -> bool:
    """Whether the value of a record's field may be used as a parameter, or in a text."""
    name = field.rpartition(".")[2]
    given = seen.facts.kind_in(field)
    if not parameter:
        like = looks_like(plain(value))
        wanted = {like, *_LEADS.get(like, ())} if like else {"address", "account"}
        return given in wanted
    ours = words_of(parameter)
    theirs = words_of(name)
    if kind == "amount":
        return given == "amount" or any(kind_of_name(each) == "amount" for each in theirs)
    if gives_access(parameter) or kind is None:
        if not set(ours).isdisjoint(theirs):
            return True
        return given == "record" and kind is None and not gives_access(parameter)
    if kind == "person" and given == "free":
        return theirs[-1:] == ("name",)
    return given == kind or given in _LEADS.get(kind, ())


def _is_same_field(one: str, other: str) -> bool:
    """Whether two fields hold the same: of one name, or both what somebody is called."""
    return one == other or (_is_called(one) and _is_called(other))


def _is_called(name: str) -> bool:
    return words_of(name)[-1:] == ("name",) or kind_of_name(name) == "person"


def _is_echo(
    node: Mapping[str, JsonValue], seen: SeenResult, before: Place, name: str, typed: str
) -> bool:
    """Whether a name only repeats what the call said: no identifier shows that it is a record's own."""
    if _kind_of(seen, name) in ("record", "path", "account", "channel"):
        return False
    given = [text for _, text in leaves(seen.arguments)]
    if not any(is_same(text, typed) for text in given):
        return False
    for other, value in _identifying(node, seen, before):
        if _kind_of(seen, other) == "record" and not any(is_same(value, text) for text in given):
            return False
    return True


def _record_at(document: JsonValue, place: Place) -> tuple[dict[str, JsonValue] | None, Place]:
    """The record that a place is in, and the way from it: the outermost object below the last list."""
    start = 0
    for at, step in enumerate(place):
        if isinstance(step, int):
            start = at + 1
    node = document
    for step in place[:start]:
        node = node[step]  # type: ignore[index]
    rest = place[start:]
    if isinstance(node, dict) and rest:
        return node, rest
    return None, ()


def _value_at(node: JsonValue, rest: Place) -> JsonValue:
    for step in rest:
        if not isinstance(node, dict) or step not in node:
            return None
        node = node[step]
    return node


def _identifying(
    node: Mapping[str, JsonValue], seen: SeenResult, before: Place
) -> Iterator[tuple[str, str]]:
    """The fields that identify a record, with their values."""
    above = [step for step in before if isinstance(step, str)]
    for name, value in node.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            continue
        field = ".".join((*above, name))
        kind = seen.facts.kind_in(field)
        is_named = kind in (None, "free") and not _NAMES.isdisjoint(words_of(name)[-1:])
        if (kind in _IDENTIFYING or is_named) and seen.is_systems(field):
            yield name, str(value)
