"""What somebody wants to see of the runs into rows of the index: filtered, searched, page by page."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from rightcall.serve.studio.fold import RunFacts, usage_of
from rightcall.serve.studio.index import COLUMNS, SHIFT, Index, facts_in

MOST = 200
"""Rows of a page."""
_MOST_LIVE = 100
_MOST_COUNTED = 10_000
_SOME = 500
"""Runs that are looked at together, of those in which a text was found."""
_FEW = 2000
"""Calls that are few enough to go by them."""
_FRESH = 60.0
"""Seconds after its last entry for which a run that nobody holds may still be under way."""
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_MARKS = ("\x02", "\x03")
_STATES = ("running", "paused", "decided", "ended", "failed", "cut_off")


class Wanted(Struct, frozen=True, kw_only=True):
    """What is asked for. Everything that is said must be true of a run; of several values, one."""

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
    """Only runs before the one of this number: where the page before ended."""
    count: int = 50


class Found(Struct, frozen=True):
    """A page of runs."""

    runs: tuple[RunFacts, ...]
    live: tuple[RunFacts, ...]
    next: int | None
    total: int
    is_exact: bool
    snippets: Mapping[int, str]


class _Where:
    """Conditions, and the values in them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self.parts.append(condition)
        self.values += values

    def among(self, column: str, values: Sequence[str]) -> None:
        if values:
            self.add(f"{column} IN ({_marks(values)})", *values)

    def also(self, condition: str, *values: Any) -> "_Where":
        """These conditions and one more."""
        other = _Where()
        other.parts, other.values = [*self.parts, condition], [*self.values, *values]
        return other

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "1"


def find(index: Index, wanted: Wanted, held: frozenset[str]) -> Found:
    """A page of the runs that are wanted; ``held`` are the locks of those that somebody is at."""
    where, match = _where(index, wanted, held), match_of(wanted.q)
    count = min(max(wanted.count, 1), MOST)
    live = _live(index, where, match, held) if wanted.before is None else ()
    rest = where.also(f"NOT {_is_live(held)}", *_live_values(held))
    rows = list(islice(_newest(index, rest, match, wanted.before), count + 1))
    shown = rows[:count]
    total = _total(index, where, match)
    snippets = _snippets(index, wanted.q, (*live, *shown)) if wanted.q else {}
    return Found(
        tuple(shown),
        live,
        shown[-1].id if len(rows) > count else None,
        min(total, _MOST_COUNTED),
        total <= _MOST_COUNTED,
        snippets,
    )


def _newest(index: Index, where: _Where, match: str | None, before: int | None) -> Iterator[RunFacts]:
    """The runs that fit, newest first."""
    if match is None:
        if before is not None:
            where = where.also("runs.id < ?", before)
        query = f"SELECT {COLUMNS} FROM runs WHERE {where} ORDER BY runs.id DESC LIMIT {MOST + 1}"  # noqa: S608
        yield from (facts_in(row) for row in index.query(query, where.values))
        return
    for ids in _matching(index, match, before):
        some = where.also(f"runs.id IN ({_marks(ids)})", *ids)
        query = f"SELECT {COLUMNS} FROM runs WHERE {some} ORDER BY runs.id DESC"  # noqa: S608
        yield from (facts_in(row) for row in index.query(query, some.values))


def _matching(index: Index, match: str, before: int | None = None) -> Iterator[list[int]]:
    """The numbers of the runs in which a text is found, newest first, some at a time.

    The index of texts has them in this order: however many there are, no more than some are looked at.
    """
    query = (
        f"SELECT DISTINCT rowid >> {SHIFT} FROM texts WHERE texts MATCH ? AND rowid < ? "  # noqa: S608
        f"ORDER BY rowid DESC LIMIT {_SOME}"
    )
    last = before if before is not None else 1 << 40
    while ids := [number for (number,) in index.query(query, (match, last << SHIFT))]:
        yield ids
        last = ids[-1]


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
    """Runs that made such a call. Of few calls the runs are taken; of many, runs are looked through."""
    calls = _Where()
    calls.among("tool", wanted.tools)
    calls.among("outcome", wanted.outcomes)
    query = f"SELECT count(*) FROM (SELECT 1 FROM calls WHERE {calls} LIMIT {_FEW + 1})"  # noqa: S608
    ((count,),) = index.query(query, calls.values)
    if count <= _FEW:
        made = f"runs.id IN (SELECT run_id FROM calls WHERE {calls})"  # noqa: S608
    else:
        # With a sign before it a name is no way to look calls up: they are those of one run.
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
            either.add(f"(runs.state = 'open' AND {negated}{_is_held(held)})", *_live_values(held))
        else:
            either.add("runs.state = ?", state)
    either.among("runs.stop", stops)
    if either.parts:
        where.add(f"({' OR '.join(either.parts)})", *either.values)


def _is_held(held: frozenset[str]) -> str:
    return f"(runs.last_at > ? OR runs.hold IN ({_marks(held)}))"


def _is_live(held: frozenset[str]) -> str:
    """Whether a run is under way, or waits for somebody."""
    return f"(runs.state IN ('paused', 'decided') OR (runs.state = 'open' AND {_is_held(held)}))"


def _live_values(held: frozenset[str]) -> tuple[Any, ...]:
    return (time.time() - _FRESH, *held)


def _live(index: Index, where: _Where, match: str | None, held: frozenset[str]) -> tuple[RunFacts, ...]:
    # Through the index of those that are not over: there are few, however many runs there are.
    query = (
        f"SELECT {COLUMNS} FROM runs WHERE runs.state IN ('open', 'paused', 'decided') "  # noqa: S608
        f"AND {_is_live(held)} AND {where} ORDER BY runs.id DESC LIMIT {_MOST_LIVE}"
    )
    found = [facts_in(row) for row in index.query(query, (*_live_values(held), *where.values))]
    if match is not None:
        found = [facts for facts in found if _texts_of(index, facts, match, "1")]
    return tuple(found)


def _texts_of(index: Index, facts: RunFacts, match: str, what: str, *values: str) -> list[Any]:
    """Something of the first text of a run in which words are found."""
    query = f"SELECT {what} FROM texts WHERE texts MATCH ? AND rowid >= ? AND rowid < ? LIMIT 1"  # noqa: S608
    between = (facts.id << SHIFT, (facts.id + 1) << SHIFT)
    return index.query(query, (*values, match, *between))


def _total(index: Index, where: _Where, match: str | None) -> int:
    """How many there are in all; one more than are counted, where there are more."""
    most = _MOST_COUNTED + 1
    if match is not None:
        return _total_found(index, where, match)
    if not where.parts:
        return min(index.standing().runs, most)
    query = f"SELECT count(*) FROM (SELECT 1 FROM runs WHERE {where} LIMIT {most})"  # noqa: S608
    ((total,),) = index.query(query, where.values)
    return int(total)


def _total_found(index: Index, where: _Where, match: str) -> int:
    total = 0
    for looked, ids in enumerate(_matching(index, match), 1):
        if where.parts:
            some = where.also(f"runs.id IN ({_marks(ids)})", *ids)
            ((count,),) = index.query(f"SELECT count(*) FROM runs WHERE {some}", some.values)  # noqa: S608
            total += int(count)
        else:
            total += len(ids)
        if total > _MOST_COUNTED or looked * _SOME >= _MOST_COUNTED:
            # That far and no further: the rest would take longer than anybody waits.
            return _MOST_COUNTED + 1
    return total


def match_of(text: str) -> str | None:
    """What somebody typed, as the index of texts understands it: words, phrases, a beginning at the end.

    Every word is quoted, so that none of them is an order to the index.
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


def _snippets(index: Index, q: str, shown: Sequence[RunFacts]) -> dict[int, str]:
    match = match_of(q)
    if match is None:
        return {}
    found: dict[int, str] = {}
    for facts in shown:
        for (text,) in _texts_of(index, facts, match, "snippet(texts, 0, ?, ?, '…', 24)", *_MARKS):
            found[facts.id] = text
    return found


def pieces(snippet: str) -> list[list[object]]:
    """A snippet in pieces, each with whether it is what was looked for."""
    found: list[list[object]] = []
    for part in re.split("(\x02[^\x03]*\x03)", snippet):
        if part:
            is_match = part.startswith("\x02")
            found.append([part.strip("\x02\x03"), is_match])
    return found


def row_of(facts: RunFacts, held: frozenset[str], tools: Sequence[str]) -> dict[str, Any]:
    """A run as lists show it."""
    state = state_of(facts, held)
    stop = facts.words if facts.state in ("ended", "failed") else state.replace("_", " ")
    return {
        "run": facts.run,
        "shown": facts.run,
        "at": facts.at,
        "last_at": facts.last_at,
        "agent": facts.agent,
        "model": facts.model,
        "prompt": facts.prompt,
        "answer": facts.answer,
        "state": state,
        "stop": stop or facts.stop,
        "turns": facts.turns,
        "calls": facts.calls,
        "bad_calls": facts.bad_calls,
        "tools": list(tools),
        "usage": usage_of(facts),
        "seconds": round(facts.seconds, 6),
        "entries": facts.entries,
        "parent": facts.parent,
        "parent_shown": facts.parent,
        "pending": facts.pending,
        "tainted": facts.tainted,
        "holder": "",
    }


def state_of(facts: RunFacts, held: frozenset[str]) -> str:
    """How a run stands."""
    if facts.state != "open":
        return facts.state
    return "running" if facts.hold in held or facts.last_at > time.time() - _FRESH else "cut_off"


def rows_of(index: Index, found: Sequence[RunFacts], held: frozenset[str]) -> list[dict[str, Any]]:
    """Several, each with the tools that it called."""
    if not found:
        return []
    ids = [facts.id for facts in found]
    query = f"SELECT DISTINCT run_id, tool FROM calls WHERE run_id IN ({_marks(ids)})"  # noqa: S608
    tools: dict[int, list[str]] = {}
    for number, tool in index.query(query, ids):
        tools.setdefault(number, []).append(tool)
    return [row_of(facts, held, tools.get(facts.id, ())) for facts in found]


def changed_since(index: Index, change: int, most: int) -> tuple[RunFacts, ...]:
    """The runs that something came of since a batch."""
    query = f"SELECT {COLUMNS} FROM runs WHERE changed > ? ORDER BY runs.id DESC LIMIT ?"  # noqa: S608
    return tuple(facts_in(row) for row in index.query(query, (change, most)))


def facets(index: Index, held: frozenset[str]) -> dict[str, list[dict[str, Any]]]:
    """What there is to filter by, and how many runs each has."""
    found = {
        "agents": list(_counts(index, "SELECT agent, count(*) FROM runs WHERE agent != '' GROUP BY 1")),
        "models": list(_counts(index, "SELECT model, count(*) FROM runs WHERE model != '' GROUP BY 1")),
        "tools": list(_counts(index, "SELECT tool, count(*) FROM calls GROUP BY 1")),
        "outcomes": list(
            _counts(index, "SELECT outcome, count(*) FROM calls WHERE outcome != '' GROUP BY 1")
        ),
        "stops": list(_counts(index, "SELECT stop, count(*) FROM runs WHERE stop != '' GROUP BY 1")),
        "states": list(
            _counts(index, "SELECT state, count(*) FROM runs WHERE state != 'open' GROUP BY 1")
        ),
    }
    for state in ("running", "cut_off"):
        negated = "" if state == "running" else "NOT "
        query = f"SELECT count(*) FROM runs WHERE state = 'open' AND {negated}{_is_held(held)}"  # noqa: S608
        ((runs,),) = index.query(query, _live_values(held))
        if runs:
            found["states"].append({"value": state, "runs": runs})
    return found


def known_models(index: Index) -> list[str]:
    """The models that answered, those of most runs first."""
    found = _counts(index, "SELECT model, count(*) FROM runs WHERE model != '' GROUP BY 1")
    return [each["value"] for each in found]


def _counts(index: Index, query: str) -> Iterator[dict[str, Any]]:
    rows = index.query(f"{query} ORDER BY 2 DESC LIMIT 100")
    return ({"value": value, "runs": runs} for value, runs in rows)


def _marks(values: Sequence[Any] | frozenset[Any]) -> str:
    return ", ".join("?" * len(values))
