"""The filters for runs into rows of the index: filtered, searched, page by page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from rightcall.serve.studio.index import COLUMNS, SHIFT, Index, facts_in
from rightcall.serve.studio.rows import is_held, is_live, live_values, marks
from rightcall.serve.studio.run_facts import RunFacts

MOST = 200
"""Rows of a page."""
_MOST_LIVE = 100
_MOST_COUNTED = 10_000
_SOME = 500
"""Runs that are checked together, of those in which a text was found."""
_FEW = 2000
"""Calls up to this number are few enough to start from them instead of from the runs."""
_LAST = 1 << 40
"""Above the number of every run."""
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_STATES = ("running", "paused", "decided", "ended", "failed", "cut_off")
_AROUND = 60
"""Characters of a snippet before and after what was found."""
_MOST_TEXTS = 20
"""Texts of a run that are searched for a snippet."""


class Wanted(Struct, frozen=True, kw_only=True):
    """The filters. All must match a run; of several values of one filter, any."""

    q: str = ""
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    min_cost: float | None = None
    max_cost: float | None = None
    since: float | None = None
    until: float | None = None
    parent: str | None = None
    before: int | None = None
    """Only runs before the one of this number: where the previous page ended."""
    count: int = 50


class Found(Struct, frozen=True):
    """A page of runs."""

    runs: tuple[RunFacts, ...]
    live: tuple[RunFacts, ...]
    next: int | None
    total: int
    is_exact: bool
    snippets: Mapping[int, list[list[object]]]


class _Where:
    """SQL conditions, and their parameters."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values += values

    def among(self, column: str, values: Sequence[str]) -> None:
        if values:
            self.add(f"{column} IN ({marks(values)})", *values)

    def also(self, condition: str, *values: Any) -> "_Where":
        """These conditions and one more."""
        other = _Where()
        other.parts, other.values = [*self.parts, condition], [*self.values, *values]
        return other

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "1"


def find(index: Index, wanted: Wanted, held: frozenset[str]) -> Found:
    """A page of the wanted runs; ``held`` are the locks of runs that a process holds."""
    where, match = _where(index, wanted, held), match_of(wanted.q)
    found = None if match is None else _Matches(index, match)
    count = min(max(wanted.count, 1), MOST)
    live = _live(index, where, found, held) if wanted.before is None else ()
    rest = where.also(f"NOT {is_live(held)}", *live_values(held))
    rows = list(islice(_newest(index, rest, found, wanted.before), count + 1))
    shown = rows[:count]
    total = _total(index, where, found)
    return Found(
        tuple(shown),
        live,
        shown[-1].id if len(rows) > count else None,
        min(total, _MOST_COUNTED),
        total <= _MOST_COUNTED,
        _snippets(index, wanted.q, (*live, *shown)) if found is not None else {},
    )


class _Matches:
    """The numbers of the runs in which words are found, newest first.

    The text index has them in this order: however many there are, no more than some thousands are read,
    and those once.
    """

    def __init__(self, index: Index, match: str) -> None:
        self._index = index
        self._match = match
        self.newest: list[int] = self._page(_LAST)
        self.is_all = len(self.newest) < _MOST_COUNTED

    def before(self, number: int | None) -> Iterator[list[int]]:
        """Those before a run, some at a time."""
        page = self.newest if number is None else self._page(number)
        while page:
            yield from (page[at : at + _SOME] for at in range(0, len(page), _SOME))
            page = self._page(page[-1])

    def among(self, ids: Sequence[int]) -> set[int]:
        """Those of some runs in which the words are found."""
        if not ids:
            return set()
        query = (
            f"SELECT DISTINCT rowid >> {SHIFT} FROM texts WHERE texts MATCH ? AND rowid >= ? "  # noqa: S608
            f"AND (rowid >> {SHIFT}) IN ({marks(ids)})"
        )
        rows = self._index.query(query, (self._match, min(ids) << SHIFT, *ids))
        return {number for (number,) in rows}

    def _page(self, before: int) -> list[int]:
        query = (
            "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid < ? "  # noqa: S608
            f"ORDER BY rowid DESC LIMIT {_MOST_COUNTED + 1}"
        )
        rows = self._index.query(query, (self._match, before << SHIFT))
        return list(dict.fromkeys(number >> SHIFT for (number,) in rows))


def _newest(
    index: Index, where: _Where, found: _Matches | None, before: int | None
) -> Iterator[RunFacts]:
    """The runs that match, newest first."""
    if found is None:
        if before is not None:
            where = where.also("runs.id < ?", before)
        query = f"SELECT {COLUMNS} FROM runs WHERE {where} ORDER BY runs.id DESC LIMIT {MOST + 1}"  # noqa: S608
        yield from (facts_in(row) for row in index.query(query, where.values))
        return
    for ids in found.before(before):
        some = where.also(f"runs.id IN ({marks(ids)})", *ids)
        query = f"SELECT {COLUMNS} FROM runs WHERE {some} ORDER BY runs.id DESC"  # noqa: S608
        yield from (facts_in(row) for row in index.query(query, some.values))


def _where(index: Index, wanted: Wanted, held: frozenset[str]) -> _Where:
    where = _Where()
    where.among("runs.agent", wanted.agents)
    where.among("runs.model", wanted.models)
    if wanted.tools or wanted.outcomes:
        _add_calls(index, where, wanted)
    _add_states(where, wanted, held)
    for column, sign, value in (
        ("cost", ">=", wanted.min_cost),
        ("cost", "<=", wanted.max_cost),
        ("at", ">=", wanted.since),
        ("at", "<=", wanted.until),
        ("parent", "=", wanted.parent),
    ):
        if value is not None:
            where.add(f"runs.{column} {sign} ?", value)
    return where


def _add_calls(index: Index, where: _Where, wanted: Wanted) -> None:
    """Add the filter for calls. Few calls are looked up first; with many, each run is checked."""
    calls = _Where()
    calls.among("tool", wanted.tools)
    calls.among("outcome", wanted.outcomes)
    query = f"SELECT count(*) FROM (SELECT 1 FROM calls WHERE {calls} LIMIT {_FEW + 1})"  # noqa: S608
    ((count,),) = index.query(query, calls.values)
    if count <= _FEW:
        made = f"runs.id IN (SELECT run_id FROM calls WHERE {calls})"  # noqa: S608
    else:
        # A plus before a column keeps SQLite from using its index: only the run's own calls are read.
        plain = str(calls).replace("tool IN", "+tool IN").replace("outcome IN", "+outcome IN")
        made = f"EXISTS (SELECT 1 FROM calls WHERE run_id = runs.id AND {plain})"  # noqa: S608
    where.add(made, *calls.values)


def _add_states(where: _Where, wanted: Wanted, held: frozenset[str]) -> None:
    words = {each.replace(" ", "_") for each in (*wanted.states, *wanted.stops)}
    states = [each for each in _STATES if each in words]
    stops = [each for each in wanted.stops if each.replace(" ", "_") not in _STATES]
    either = _Where()
    for state in states:
        if state in ("running", "cut_off"):
            negated = "" if state == "running" else "NOT "
            either.add(f"(runs.state = 'open' AND {negated}{is_held(held)})", *live_values(held))
        else:
            either.add("runs.state = ?", state)
    either.among("runs.stop", stops)
    if either.parts:
        where.add(f"({' OR '.join(either.parts)})", *either.values)


def _live(
    index: Index, where: _Where, matches: _Matches | None, held: frozenset[str]
) -> tuple[RunFacts, ...]:
    # Through the partial index of runs that have not ended: there are few, however many runs there are.
    query = (
        f"SELECT {COLUMNS} FROM runs WHERE runs.state IN ('open', 'paused', 'decided') "  # noqa: S608
        f"AND {is_live(held)} AND {where} ORDER BY runs.id DESC LIMIT {_MOST_LIVE}"
    )
    found = [facts_in(row) for row in index.query(query, (*live_values(held), *where.values))]
    if matches is not None:
        wanted = matches.among([facts.id for facts in found])
        found = [facts for facts in found if facts.id in wanted]
    return tuple(found)


def _total(index: Index, where: _Where, found: _Matches | None) -> int:
    """How many match in all; one more than the highest count, if there are more."""
    most = _MOST_COUNTED + 1
    if found is not None:
        return _total_found(index, where, found.newest) if found.is_all else most
    if not where.parts:
        return min(index.standing().runs, most)
    query = f"SELECT count(*) FROM (SELECT 1 FROM runs WHERE {where} LIMIT {most})"  # noqa: S608
    ((total,),) = index.query(query, where.values)
    return int(total)


def _total_found(index: Index, where: _Where, ids: Sequence[int]) -> int:
    total = 0
    for at in range(0, len(ids), _SOME):
        part = ids[at : at + _SOME]
        some = where.also(f"runs.id IN ({marks(part)})", *part)
        ((count,),) = index.query(f"SELECT count(*) FROM runs WHERE {some}", some.values)  # noqa: S608
        total += int(count)
    return total


def match_of(text: str) -> str | None:
    """A user's search text as a query of the text index: words, phrases, a prefix at the end.

    Every word is quoted, so that none of them is an operator of the query language.
    """
    terms = []
    for found in _TERM.finditer(text):
        phrase = " ".join(re.findall(r"\w+", found[1] if found[1] is not None else found[2]))
        if phrase:
            terms.append(f'"{phrase}"')
    if not terms:
        return None
    is_open = not text.endswith((" ", '"'))
    return " ".join(terms) + ("*" if is_open else "")


def _snippets(index: Index, q: str, shown: Sequence[RunFacts]) -> dict[int, list[list[object]]]:
    """By run: pieces of text, each with whether it is a match.

    The texts are searched here and not by the index, which would search again for each run. A word that
    was found in another spelling, such as with other accents, has no snippet.
    """
    words = re.findall(r"\w+", q)
    if not words:
        return {}
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\w*" for word in words), re.IGNORECASE)
    query = f"SELECT body FROM texts WHERE rowid >= ? AND rowid < ? LIMIT {_MOST_TEXTS}"  # noqa: S608
    found = {}
    for facts in shown:
        for (body,) in index.query(query, (facts.id << SHIFT, (facts.id + 1) << SHIFT)):
            if (at := pattern.search(body)) is not None:
                found[facts.id] = _snippet(body, at.start(), pattern)
                break
    return found


def _snippet(body: str, at: int, pattern: re.Pattern[str]) -> list[list[object]]:
    start, end = max(at - _AROUND, 0), min(at + 2 * _AROUND, len(body))
    text = f"{'…' if start else ''}{body[start:end]}{'…' if end < len(body) else ''}"
    pieces: list[list[object]] = []
    last = 0
    for match in pattern.finditer(text):
        pieces += [[text[last : match.start()], False], [match[0], True]]
        last = match.end()
    pieces.append([text[last:], False])
    return [piece for piece in pieces if piece[0]]
