"""The results that a run has read, and what the records in them say, found without reading them again.

A result is taken in by its words alone; it is parsed when a value in question stands in it. A record
vouches for an act only from a field that identifies it, that was typed, and that no other record has.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.parts import Result
from rightcall.trust.characters import plain
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.kinds import words_of
from rightcall.trust.spelling import is_same, looks_like
from rightcall.trust.traces import came_back, content_of, is_back, is_opaque, traces_of
from rightcall.trust.typed_values import TypedValues

_WORD = re.compile(r"\w+")
_PIECE = 64 * 1024
"""Characters that are split at once: the event loop of another thread gets its turn in between."""
_MOST_PENDING = 32 * 1024
"""Characters that are taken in at once, when a value is asked about."""
_MOST_CANDIDATES = 64
"""Results in which one value is looked for; a value that stands in more of them identifies nothing."""
_IDENTIFYING: frozenset[Kind | None] = frozenset({"record", "account", "address", "path", "person"})
_ALIKE: Mapping[Kind | None, frozenset[Kind | None]] = {
    "address": frozenset({"person"}),
    "person": frozenset({"address", "free"}),
}
_NAME = "name"
IsTyped: TypeAlias = Callable[[str, Kind | None], bool]


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
    is_parsed: bool = False

    def parse(self) -> JsonValue:
        """Its content, parsed once."""
        if not self.is_parsed:
            self.document = content_of(self.result)
            self.is_parsed = True
        return self.document

    def fields(self) -> list[str]:
        """The paths of its fields."""
        found = set()
        for place, _ in leaves(self.parse()):
            if is_key(place):
                found.add(".".join([step for step in place if isinstance(step, str)]))
        return sorted(found)

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
        self._sources: list[tuple[str, str]] = []
        """Other texts of outsiders, each with its source."""
        self._written: deque[tuple[JsonValue, tuple[str, ...]]] = deque()
        """The arguments of calls that wrote something, with the names of the targets among them."""
        self._traces: set[str] = set()
        self._last: list[str] = []
        """The text that was written last: the next may be its other half."""
        self._above = above
        if above is not None:
            # What one of them wrote, another may read.
            self._written = above._written  # noqa: SLF001
            self._traces = above._traces  # noqa: SLF001
            self._last = above._last  # noqa: SLF001

    def add(self, seen: SeenResult) -> None:
        """Add a result."""
        self._results.append(seen)
        self._pending += len(seen.result.text)
        if self._pending > _MOST_PENDING:
            self._index()

    def _index(self) -> None:
        """Take in the words of the results that were not asked about before: most runs never ask."""
        places = self._places
        for number in range(self._indexed, len(self._results)):
            seen = self._results[number]
            text = seen.result.text
            if "\\u" in text:
                # Letters may be written as escapes.
                text = f"{text} {' '.join([leaf for _, leaf in leaves(seen.parse())])}"
            for word in words_in(text):
                places[word].append(number)
        self._indexed = len(self._results)
        self._pending = 0

    def add_text(self, text: str, source: str) -> None:
        """Add another text that outsiders could have written."""
        self._sources.append((plain(text).casefold(), source))

    def add_written(self, arguments: JsonValue, targets: tuple[str, ...] = ()) -> None:
        """Add what a run that outsiders may have led has written somewhere, by a call's arguments.

        ``targets`` are the parameters that are targets.
        """
        self._written.append((arguments, targets))

    def _unvouched(
        self, arguments: JsonValue, targets: tuple[str, ...]
    ) -> tuple[list[str], frozenset[str]]:
        """The values in a call that nobody has typed, and those of them that are targets."""
        texts = []
        aims = []
        for place, text in leaves(arguments):
            is_name = len(place) == 1 and is_key(place)
            if not is_name and self._typed.origin_of(text) is None:
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

    def record_that_leads_to(self, value: str, kind: Kind | None, is_typed: IsTyped) -> str:
        """The tool of the one typed record that has a value in a field of its own; empty if none.

        The record must have a field that identifies it, with a value that was typed; and no other
        record that the run has read may have this value there and lead elsewhere.
        """
        for seen in self._having(value):
            for field, place in self._places_of(seen, value, kind):
                if not seen.is_systems(field) or seen.facts.effect != "read":
                    continue
                node, rest = _record_at(seen.parse(), place)
                if node is None:
                    continue
                for name, typed in _identifying(node, seen, place[: len(place) - len(rest)]):
                    if is_same(typed, value) or not is_typed(typed, _kind_of(seen, name)):
                        continue
                    if self._is_the_only(name, typed, rest, value):
                        return seen.result.name
        if self._above is not None:
            return self._above.record_that_leads_to(value, kind, is_typed)
        return ""

    def _is_the_only(self, name: str, typed: str, rest: Place, value: str) -> bool:
        """Whether no other record has the typed value, and another value at the same place."""
        rivals = self._having(typed)
        if len(rivals) >= _MOST_CANDIDATES:
            return False
        for seen in rivals:
            for node in _nodes(seen.parse()):
                if name in node and is_same(node[name], typed):
                    other = _value_at(node, rest)
                    if other is not None and not is_same(other, value):
                        return False
        return True

    def _having(self, value: str) -> list[SeenResult]:
        """The results in which all the words of a value stand, in order."""
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
                numbers = [number for number in numbers if number in wanted]
        return [self._results[number] for number in numbers[-_MOST_CANDIDATES:]]

    def _places_of(self, seen: SeenResult, value: str, kind: Kind | None) -> Iterator[tuple[str, Place]]:
        """Where a value stands in a result by itself, in fields of its kind; no model put it there."""
        if seen.is_outside or seen.facts.derived:
            return
        back: frozenset[str] | None = None
        for place, text in leaves(seen.parse()):
            if is_key(place) or not is_same(text, value):
                continue
            field = ".".join([step for step in place if isinstance(step, str)])
            if not _is_alike(kind, seen.facts.kind_in(field), text):
                continue
            if back is None:
                back = self._came_back(seen)
            if text not in back:
                yield field, place

    def _came_back(self, seen: SeenResult) -> frozenset[str]:
        """The texts of a result that a model wrote: in this call, or before, where outsiders led it."""
        while self._written:
            texts, aims = self._unvouched(*self._written.popleft())
            if texts:
                self._traces |= traces_of((*self._last, *texts), aims, self._is_typed_trace)
                self._last[:] = texts[-1:]
        found = set(seen.result.planted)
        if self._traces:
            found |= came_back(seen.parse(), self._traces.__contains__)
        if seen.is_led:
            found |= self._repeated(seen)
        return frozenset(found)

    def _repeated(self, seen: SeenResult) -> set[str]:
        """The texts of a result that may merely repeat what nobody typed in the call."""
        given, _ = self._unvouched(seen.arguments, ())
        if not given:
            return set()
        texts = {text for _, text in leaves(seen.parse())}
        if any(map(is_opaque, given)):
            # A tool may turn a link or an encoded text into anything.
            return texts
        left = traces_of(given, frozenset(given), self._is_typed_trace)
        return {text for text in texts if is_back(text, left.__contains__)}

    def _is_typed_trace(self, text: str) -> bool:
        return self._typed.origin_of(text) is not None

    def back_in(self, result: Result) -> frozenset[str]:
        """The texts of a result that were written before: in this run, or in another (``planted``)."""
        return self._came_back(SeenResult(result, _NOTHING, {}, is_outside=False, is_led=False))

    def traces_written(self, arguments: JsonValue, targets: tuple[str, ...] = ()) -> frozenset[str]:
        """The traces that a call would leave if it wrote its arguments now."""
        texts, aims = self._unvouched(arguments, targets)
        if not texts:
            return frozenset()
        return traces_of((*self._last, *texts), aims, self._is_typed_trace)


_NOTHING = ResolvedFacts()


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
    return seen.facts.kind_in(name)


def _nodes(document: JsonValue) -> Iterator[dict[str, JsonValue]]:
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


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
        is_name = words_of(name)[-1:] == (_NAME,)
        if (kind in _IDENTIFYING or is_name) and seen.is_systems(field):
            yield name, str(value)
