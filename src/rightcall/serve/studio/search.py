"""The filters for runs into rows of the index: filtered, searched, page by page."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from rightcall.serve.studio.index import COLUMNS, SHIFT, TOKENS, Index, RunFacts, facts_in

_UNSHOWN = frozenset(["id", "hold", "words", "last_place", "is_noted", "cost", *TOKENS])
"""Facts that are no members of a row; every other fact is one."""
_FRESH = 60.0
"""Seconds after its last entry for which a run that nobody holds may still be under way."""


def is_held(held: frozenset[str]) -> str:
    """An SQL condition: a process holds an open run, or wrote to it just now."""
    return f"(runs.last_at > ? OR runs.hold IN ({marks(held)}))"


def is_live(held: frozenset[str]) -> str:
    """An SQL condition: a run is under way, or waits for somebody."""
    return f"(runs.state IN ('paused', 'decided') OR (runs.state = 'open' AND {is_held(held)}))"


def live_values(held: frozenset[str]) -> tuple[Any, ...]:
    """The parameters of either condition."""
    return (time.time() - _FRESH, *held)


def row_of(facts: RunFacts, held: frozenset[str], tools: Sequence[str]) -> dict[str, Any]:
    """A run as lists show it: its facts, and what follows from them."""
    state = facts.state
    if state == "open":
        is_running = facts.hold in held or facts.last_at > time.time() - _FRESH
        state = "running" if is_running else "cut_off"
    stop = state.replace("_", " ")
    if facts.state in ("ended", "failed"):
        stop = facts.words or facts.stop
    row = asdict(facts)
    for name in _UNSHOWN:
        del row[name]
    return row | {
        "shown": facts.run,
        "state": state,
        "stop": stop,
        "tools": list(tools),
        "usage": {name: getattr(facts, name) for name in (*TOKENS, "cost")},
        "seconds": round(facts.seconds, 6),
        "parent_shown": facts.parent,
        "holder": "",
    }


def rows_of(index: Index, found: Sequence[RunFacts], held: frozenset[str]) -> list[dict[str, Any]]:
    """The rows of several runs, each with the tools that it called."""
    if not found:
        return []
    ids = [facts.id for facts in found]
    query = f"SELECT DISTINCT run_id, tool FROM calls WHERE run_id IN ({marks(ids)})"  # noqa: S608
    tools: dict[int, list[str]] = {}
    for number, tool in index.query(query, ids):
        tools.setdefault(number, []).append(tool)
    return [row_of(facts, held, tools.get(facts.id, ())) for facts in found]


def changed_since(index: Index, change: int, most: int) -> tuple[RunFacts, ...]:
    """The runs that have changed since a batch."""
    query = f"SELECT {COLUMNS} FROM runs WHERE changed > ? ORDER BY runs.id DESC LIMIT ?"  # noqa: S608
    return tuple(map(facts_in, index.query(query, (change, most))))


def facets(index: Index, held: frozenset[str]) -> dict[str, list[dict[str, Any]]]:
    """The values to filter by, and how many runs each has."""
    found = {
        "agents": _counts(index, "agent", "runs WHERE agent != ''"),
        "models": _counts(index, "model", "runs WHERE model != ''"),
        "tools": _counts(index, "tool", "calls"),
        "outcomes": _counts(index, "outcome", "calls WHERE outcome != ''"),
        "stops": _counts(index, "stop", "runs WHERE stop != ''"),
        "states": _counts(index, "state", "runs WHERE state != 'open'"),
    }
    for state in ("running", "cut_off"):
        negated = "" if state == "running" else "NOT "
        query = f"SELECT count(*) FROM runs WHERE state = 'open' AND {negated}{is_held(held)}"  # noqa: S608
        ((runs,),) = index.query(query, live_values(held))
        if runs:
            found["states"].append({"value": state, "runs": runs})
    return found


def known_models(index: Index) -> list[str]:
    """The models that answered, those of most runs first."""
    return [each["value"] for each in _counts(index, "model", "runs WHERE model != ''")]


def _counts(index: Index, column: str, rows: str) -> list[dict[str, Any]]:
    query = f"SELECT {column}, count(*) FROM {rows} GROUP BY 1 ORDER BY 2 DESC LIMIT 100"  # noqa: S608
    return [{"value": value, "runs": runs} for value, runs in index.query(query)]


def marks(values: Sequence[Any] | frozenset[Any]) -> str:
    """A question mark for each value."""
    return ", ".join("?" * len(values))


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


class RunFilter(Struct, frozen=True, kw_only=True):
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


class RunPage(Struct, frozen=True):
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
        other.parts = [*self.parts, condition]
        other.values = [*self.values, *values]
        return other

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "1"


def find(index: Index, wanted: RunFilter, held: frozenset[str]) -> RunPage:
    """A page of the wanted runs; ``held`` are the locks of runs that a process holds."""
    where = _Where()
    where.among("runs.agent", wanted.agents)
    where.among("runs.model", wanted.models)
    if wanted.tools or wanted.outcomes:
        _add_calls(index, where, wanted)
    words = {each.replace(" ", "_") for each in (*wanted.states, *wanted.stops)}
    either = _Where()
    for state in _STATES:
        if state not in words:
            continue
        if state in ("running", "cut_off"):
            negated = "" if state == "running" else "NOT "
            either.add(f"(runs.state = 'open' AND {negated}{is_held(held)})", *live_values(held))
        else:
            either.add("runs.state = ?", state)
    stops = []
    for stop in wanted.stops:
        if stop.replace(" ", "_") not in _STATES:
            stops.append(stop)
    either.among("runs.stop", stops)
    if either.parts:
        where.add(f"({' OR '.join(either.parts)})", *either.values)
    for column, sign, value in (
        ("cost", ">=", wanted.min_cost),
        ("cost", "<=", wanted.max_cost),
        ("at", ">=", wanted.since),
        ("at", "<=", wanted.until),
        ("parent", "=", wanted.parent),
    ):
        if value is not None:
            where.add(f"runs.{column} {sign} ?", value)
    match = match_of(wanted.q)
    found = None if match is None else _TextMatches(index, match)
    count = min(max(wanted.count, 1), MOST)
    live: tuple[RunFacts, ...] = ()
    if wanted.before is None:
        live = _live(index, where, found, held)
    rest = where.also(f"NOT {is_live(held)}", *live_values(held))
    rows = list(islice(_newest(index, rest, found, wanted.before), count + 1))
    shown = rows[:count]
    total = _total(index, where, found)
    following = None
    if len(rows) > count:
        following = shown[-1].id
    snippets: dict[int, list[list[object]]] = {}
    if found is not None:
        snippets = _snippets(index, wanted.q, (*live, *shown))
    is_exact = total <= _MOST_COUNTED
    return RunPage(tuple(shown), live, following, min(total, _MOST_COUNTED), is_exact, snippets)


class _TextMatches:
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
            for at in range(0, len(page), _SOME):
                yield page[at : at + _SOME]
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
    index: Index, where: _Where, found: _TextMatches | None, before: int | None
) -> Iterator[RunFacts]:
    """The runs that match, newest first."""
    if found is None:
        if before is not None:
            where = where.also("runs.id < ?", before)
        query = f"SELECT {COLUMNS} FROM runs WHERE {where} ORDER BY runs.id DESC LIMIT {MOST + 1}"  # noqa: S608
        yield from map(facts_in, index.query(query, where.values))
        return
    for ids in found.before(before):
        some = where.also(f"runs.id IN ({marks(ids)})", *ids)
        query = f"SELECT {COLUMNS} FROM runs WHERE {some} ORDER BY runs.id DESC"  # noqa: S608
        yield from map(facts_in, index.query(query, some.values))


def _add_calls(index: Index, where: _Where, wanted: RunFilter) -> None:
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


def _live(
    index: Index, where: _Where, matches: _TextMatches | None, held: frozenset[str]
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


def _total(index: Index, where: _Where, found: _TextMatches | None) -> int:
    """How many match in all; one more than the highest count, if there are more."""
    most = _MOST_COUNTED + 1
    if found is not None:
        if not found.is_all:
            return most
        total = 0
        for at in range(0, len(found.newest), _SOME):
            part = found.newest[at : at + _SOME]
            some = where.also(f"runs.id IN ({marks(part)})", *part)
            ((count,),) = index.query(f"SELECT count(*) FROM runs WHERE {some}", some.values)  # noqa: S608
            total += int(count)
        return total
    if not where.parts:
        return min(index.progress().runs, most)
    query = f"SELECT count(*) FROM (SELECT 1 FROM runs WHERE {where} LIMIT {most})"  # noqa: S608
    ((count,),) = index.query(query, where.values)
    return int(count)


def match_of(text: str) -> str | None:
    """A user's search text as a query of the text index: words, phrases, a prefix at the end.

    Every word is quoted, so that none of them is an operator of the query language.
    """
    terms = []
    for found in _TERM.finditer(text):
        term = found[2] if found[1] is None else found[1]
        phrase = " ".join(re.findall(r"\w+", term))
        if phrase:
            terms.append(f'"{phrase}"')
    if not terms:
        return None
    query = " ".join(terms)
    if text.endswith((" ", '"')):
        return query
    return f"{query}*"


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
    start = max(at - _AROUND, 0)
    text = body[start : at + 2 * _AROUND]
    if start:
        text = f"…{text}"
    if at + 2 * _AROUND < len(body):
        text = f"{text}…"
    pieces: list[list[object]] = []
    last = 0
    for match in pattern.finditer(text):
        if match.start() > last:
            pieces.append([text[last : match.start()], False])
        pieces.append([match[0], True])
        last = match.end()
    if last < len(text):
        pieces.append([text[last:], False])
    return pieces
