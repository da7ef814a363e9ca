"""The calls of every recorded run into statistics of each tool."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall.core.tokens import spec_tokens
from rightcall.core.tool import Spec, Tool
from rightcall.declare.finding import Finding
from rightcall.errors import RightcallError
from rightcall.serve.studio.index import Index

_MOST_RECENT = 50
_MOST_DURATIONS = 200
_SUMS = """
SELECT tool, outcome, count(*), sum(tokens_in), sum(tokens_out), max(at) FROM calls GROUP BY 1, 2
"""
_UNCALLABLE = ("invalid", "unknown", "truncated")
"""Outcomes of calls that never ran: their duration says nothing about the tool."""


def all_tools(index: Index, own: Sequence[Tool] = ()) -> dict[str, Any]:
    """Every tool that was called or described; ``own`` are the tools of the studio's agents."""
    specs = specs_of(index, own)
    findings = lint_findings(specs, own)
    sums: dict[str, dict[str, Any]] = {}
    for tool, outcome, calls, tokens_in, tokens_out, last in index.query(_SUMS):
        entry = sums.setdefault(tool, _nothing(tool))
        entry["outcomes"][outcome or "unfinished"] = calls
        entry["calls"] += calls
        entry["tokens_in"] += tokens_in or 0
        entry["tokens_out"] += tokens_out or 0
        entry["last_at"] = max(entry["last_at"] or 0.0, last or 0.0)
    unknown = {name: each["outcomes"]["unknown"] for name, each in sums.items() if _is_unknown(each)}
    for name in specs:
        sums.setdefault(name, _nothing(name))
    shown = [each for name, each in sums.items() if name not in unknown or name in specs]
    for each in shown:
        _finish(index, each, specs.get(each["name"]), len(findings.get(each["name"], ())))
    calls = sum(each["calls"] for each in sums.values())
    return {
        "tools": sorted(shown, key=lambda each: (-each["calls"], each["name"])),
        "calls": calls,
        "unknown_calls": sum(unknown.values()),
        "unknown_rate": _rate(sum(unknown.values()), calls),
        "invalid_rate": _rate(sum(each["outcomes"].get("invalid", 0) for each in sums.values()), calls),
        "unknown": [{"name": name, "calls": count} for name, count in sorted(unknown.items())],
    }


def one_tool(index: Index, name: str, own: Sequence[Tool] = ()) -> dict[str, Any] | None:
    """Everything about one tool; None if it is unknown."""
    told = all_tools(index, own)
    entry = next((each for each in told["tools"] if each["name"] == name), None)
    if entry is None:
        return None
    specs = specs_of(index, own)
    spec, tool = specs.get(name), next((each for each in own if each.name == name), None)
    query = f"""
        SELECT runs.run, calls.at, calls.key, calls.outcome, calls.seconds, calls.arguments
        FROM calls JOIN runs ON runs.id = calls.run_id WHERE tool = ?
        ORDER BY calls.at DESC LIMIT {_MOST_RECENT}
    """  # noqa: S608 - numbers of ours
    recent = [
        {"run": run, "shown": run, "at": at, "key": key, "outcome": outcome, "seconds": seconds,
         "arguments_text": arguments}
        for run, at, key, outcome, seconds, arguments in index.query(query, (name,))
    ]  # fmt: skip
    took = "SELECT seconds FROM calls WHERE tool = ? AND outcome IS NOT NULL ORDER BY at DESC LIMIT ?"
    return {
        **entry,
        "description": spec.description if spec else "",
        "parameters": spec.parameters if spec else None,
        "findings": [_finding(each) for each in lint_findings(specs, own).get(name, ())],
        "effect": tool.effect if tool else None,
        "reach": tool.facts.reach if tool else None,
        "recent": recent,
        "durations": [seconds for (seconds,) in index.query(took, (name, _MOST_DURATIONS))],
        "from": "agent" if tool else "record",
    }


def specs_of(index: Index, own: Sequence[Tool] = ()) -> dict[str, Spec]:
    """The spec of each tool: as an agent here has it, or as it was last recorded."""
    recorded = [msgspec.json.decode(text, type=Spec) for text in index.specs()]
    return {spec.name: spec for spec in (*recorded, *(tool.spec for tool in own))}


def lint_findings(specs: Mapping[str, Spec], own: Sequence[Tool]) -> dict[str, list[Finding]]:
    """Problems with the tools' descriptions for models, by tool."""
    from rightcall.tools.linting import lint  # noqa: PLC0415 - it knows vendors, and takes long to load

    mine = {tool.name: tool for tool in own}
    tools = [mine.get(name) or _tool(spec) for name, spec in specs.items()]
    found: dict[str, list[Finding]] = {}
    for each in lint([tool for tool in tools if tool is not None]):
        found.setdefault(each.tool, []).append(each)
    return found


def _tool(spec: Spec) -> Tool | None:
    """A tool made from a recorded spec, to be linted."""
    try:
        return Tool(spec.name, spec.description, spec.parameters, origin=spec.origin, short=spec.short)
    except RightcallError:
        # Declared under other rules than today's: it cannot be linted.
        return None


def _nothing(name: str) -> dict[str, Any]:
    return {"name": name, "calls": 0, "outcomes": {}, "tokens_in": 0, "tokens_out": 0, "last_at": None}


def _is_unknown(entry: Mapping[str, Any]) -> bool:
    return "unknown" in entry["outcomes"]


def _finish(index: Index, entry: dict[str, Any], spec: Spec | None, findings: int) -> None:
    name, calls, outcomes = entry["name"], entry["calls"], entry["outcomes"]
    ((runs,),) = index.query("SELECT count(DISTINCT run_id) FROM calls WHERE tool = ?", (name,))
    half, most = _percentiles(index, name, 0.5, 0.95)
    bad = calls - sum(outcomes.get(each, 0) for each in ("returned", "dry_run", "unfinished"))
    entry |= {
        "known": spec is not None,
        "runs": runs,
        "invalid_rate": _rate(outcomes.get("invalid", 0), calls),
        "error_rate": _rate(bad, calls),
        "p50": half,
        "p95": most,
        "tokens_per_call": round((entry["tokens_in"] + entry["tokens_out"]) / calls) if calls else 0,
        "spec_tokens": spec_tokens([spec]) if spec else 0,
        "findings": findings,
    }


def _percentiles(index: Index, tool: str, *shares: float) -> list[float | None]:
    """The percentiles of the durations of calls that ran."""
    marks = ", ".join("?" * len(_UNCALLABLE))
    ran = f"FROM calls WHERE tool = ? AND outcome IS NOT NULL AND outcome NOT IN ({marks})"
    ((count,),) = index.query(f"SELECT count(*) {ran}", (tool, *_UNCALLABLE))
    if not count:
        return [None] * len(shares)
    at = [min(int(share * count), count - 1) + 1 for share in shares]
    numbered = f"SELECT seconds, row_number() OVER (ORDER BY seconds) AS place {ran}"
    query = f"SELECT place, seconds FROM ({numbered}) WHERE place IN ({', '.join('?' * len(at))})"  # noqa: S608
    found = dict(index.query(query, (tool, *_UNCALLABLE, *at)))
    return [float(found[place]) for place in at]


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _finding(each: Finding) -> dict[str, Any]:
    names = ("rule", "where", "what", "why", "instead", "weight", "excerpt")
    return {name: getattr(each, name) for name in names}
