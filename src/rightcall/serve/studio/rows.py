"""Runs of the index into rows of lists: their states, and the values to filter by."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from rightcall.serve.studio.index import COLUMNS, Index, facts_in
from rightcall.serve.studio.run_facts import RunFacts, usage_of

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
    """The state of a run."""
    if facts.state != "open":
        return facts.state
    return "running" if facts.hold in held or facts.last_at > time.time() - _FRESH else "cut_off"


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
    return tuple(facts_in(row) for row in index.query(query, (change, most)))


def facets(index: Index, held: frozenset[str]) -> dict[str, list[dict[str, Any]]]:
    """The values to filter by, and how many runs each has."""
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
        query = f"SELECT count(*) FROM runs WHERE state = 'open' AND {negated}{is_held(held)}"  # noqa: S608
        ((runs,),) = index.query(query, live_values(held))
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


def marks(values: Sequence[Any] | frozenset[Any]) -> str:
    """A question mark for each value."""
    return ", ".join("?" * len(values))
