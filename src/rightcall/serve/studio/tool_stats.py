"""The calls of every recorded run into statistics of each tool."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall.core.message import spec_tokens
from rightcall.core.tool import Spec, Tool
from rightcall.declare.findings import Finding
from rightcall.errors import RightcallError
from rightcall.serve.studio.index import Index

_MOST_RECENT = 50
_MOST_DURATIONS = 200
_SUMS = """
SELECT tool, outcome, count(*), sum(tokens_in), sum(tokens_out), max(at) FROM calls GROUP BY 1, 2
"""
_UNCALLABLE = ("invalid", "unknown", "not_offered", "given_up", "truncated")
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
    unknown = {}
    for name, each in sums.items():
        if "unknown" in each["outcomes"]:
            unknown[name] = each["outcomes"]["unknown"]
    for name in specs:
        sums.setdefault(name, _nothing(name))
    shown = []
    calls = 0
    invalid = 0
    for name, each in sums.items():
        calls += each["calls"]
        invalid += each["outcomes"].get("invalid", 0)
        if name not in unknown or name in specs:
            _finish(index, each, specs.get(name), len(findings.get(name, ())))
            shown.append(each)
    return {
        "tools": sorted(shown, key=lambda each: (-each["calls"], each["name"])),
        "calls": calls,
        "unknown_calls": sum(unknown.values()),
        "unknown_rate": _rate(sum(unknown.values()), calls),
        "invalid_rate": _rate(invalid, calls),
        "unknown": [{"name": name, "calls": count} for name, count in sorted(unknown.items())],
    }


def one_tool(index: Index, name: str, own: Sequence[Tool] = ()) -> dict[str, Any] | None:
    """Everything about one tool; None if it is unknown."""
    tools: list[dict[str, Any]] = all_tools(index, own)["tools"]
    entry = next((each for each in tools if each["name"] == name), None)
    if entry is None:
        return None
    specs = specs_of(index, own)
    spec = specs.get(name)
    tool = next((each for each in own if each.name == name), None)
    query = f"""
        SELECT runs.run, calls.at, calls.key, calls.outcome, calls.seconds, calls.arguments
        FROM calls JOIN runs ON runs.id = calls.run_id WHERE tool = ?
        ORDER BY calls.at DESC LIMIT {_MOST_RECENT}
    """  # noqa: S608 - numbers of ours
    recent = []
    for run, at, key, outcome, seconds, arguments in index.query(query, (name,)):
        recent.append(
            {"run": run, "shown": run, "at": at, "key": key, "outcome": outcome, "seconds": seconds,
             "arguments_text": arguments}
        )  # fmt: skip
    took = "SELECT seconds FROM calls WHERE tool = ? AND outcome IS NOT NULL ORDER BY at DESC LIMIT ?"
    names = ("rule", "where", "what", "why", "instead", "weight", "excerpt")
    findings = []
    for finding in lint_findings(specs, own).get(name, ()):
        findings.append({name: getattr(finding, name) for name in names})
    entry |= {
        "description": "",
        "parameters": None,
        "findings": findings,
        "effect": None,
        "reach": None,
        "recent": recent,
        "durations": [seconds for (seconds,) in index.query(took, (name, _MOST_DURATIONS))],
        "from": "record",
    }
    if spec is not None:
        entry |= {"description": spec.description, "parameters": spec.parameters}
    if tool is not None:
        entry |= {"effect": tool.effect, "reach": tool.facts.reach, "from": "agent"}
    return entry


def specs_of(index: Index, own: Sequence[Tool] = ()) -> dict[str, Spec]:
    """The spec of each tool: as an agent here has it, or as it was last recorded."""
    recorded = [msgspec.json.decode(text, type=Spec) for text in index.specs()]
    specs = {spec.name: spec for spec in recorded}
    for tool in own:
        specs[tool.name] = tool.spec
    return specs


def lint_findings(specs: Mapping[str, Spec], own: Sequence[Tool]) -> dict[str, list[Finding]]:
    """Problems with the tools' descriptions for models, by tool."""
    from rightcall.tools.lint_rules import lint  # noqa: PLC0415 - it knows vendors, and takes long to load

    mine = {tool.name: tool for tool in own}
    tools = []
    for name, spec in specs.items():
        tool = mine.get(name) or _tool(spec)
        if tool is not None:
            tools.append(tool)
    found: dict[str, list[Finding]] = {}
    for each in lint(tools):
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


def _finish(index: Index, entry: dict[str, Any], spec: Spec | None, findings: int) -> None:
    name = entry["name"]
    calls = entry["calls"]
    outcomes = entry["outcomes"]
    ((runs,),) = index.query("SELECT count(DISTINCT run_id) FROM calls WHERE tool = ?", (name,))
    # The percentiles of the durations of calls that ran.
    marks = ", ".join("?" * len(_UNCALLABLE))
    ran = f"FROM calls WHERE tool = ? AND outcome IS NOT NULL AND outcome NOT IN ({marks})"
    ((count,),) = index.query(f"SELECT count(*) {ran}", (name, *_UNCALLABLE))
    percentiles: list[float | None] = [None, None]
    if count:
        query = f"SELECT seconds {ran} ORDER BY seconds LIMIT 1 OFFSET ?"
        for number, share in enumerate((0.5, 0.95)):
            ((seconds,),) = index.query(query, (name, *_UNCALLABLE, min(int(share * count), count - 1)))
            percentiles[number] = float(seconds)
    bad = calls - sum(outcomes.get(each, 0) for each in ("returned", "dry_run", "unfinished"))
    entry |= {
        "known": spec is not None,
        "runs": runs,
        "invalid_rate": _rate(outcomes.get("invalid", 0), calls),
        "error_rate": _rate(bad, calls),
        "p50": percentiles[0],
        "p95": percentiles[1],
        "tokens_per_call": round((entry["tokens_in"] + entry["tokens_out"]) / calls) if calls else 0,
        "spec_tokens": spec_tokens([spec]) if spec else 0,
        "findings": findings,
    }


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
