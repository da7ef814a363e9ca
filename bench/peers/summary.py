"""The answer in one screen: rightcall beside the floor, the best SDK and the best framework."""

from figures import Found, short
from own import Features
from page import table
from peers import FLOOR, OURS, Kind, Row


def summary(found: Found, features: Features) -> str:
    lines = [_line(found, row) for row in found.rows]
    for title, when in (("imported", "imported"), ("an agent is ready", "ready")):
        lines.append(_cold(found, f"until {title}, s of CPU", when))
    for label, ours, theirs, _ in features.mcp(abreast=False):
        first = [each.partition("<br>")[0] for each in (ours, theirs)]
        lines.append([f"MCP, {label}, ms of CPU", first[0], "", f"{first[1]} (mcp)", ""])
    return table(["", "**rightcall**", "floor: aiohttp", "best SDK", "best framework"], lines)


def _line(found: Found, row: Row) -> list[str]:
    scale, unit = 1000.0, "ms of CPU" if row.measure == "cpu" else "ms by the clock"
    if row.fresh:
        scale, unit = float(row.runs), "s by the clock for all"

    def median(kind: Kind) -> str:
        best = found.best(row, kind=kind)
        return f"{short(best[1] * scale)} ({best[0].label})" if best else "not measured"

    plain = [found.figure(row, peer) for peer in (OURS, FLOOR)]
    shown = [short(each.median * scale) if each else "not measured" for each in plain]
    return [f"{row.label}, {unit}", *shown, median("sdk"), median("framework")]


def _cold(found: Found, label: str, when: str) -> list[str]:
    def least(kind: Kind) -> str:
        known = [(found.cold(peer, when), peer) for peer in found.peers if peer.kind == kind]
        medians = [(figure.median, peer.label) for figure, peer in known if figure]
        return f"{short(min(medians)[0])} ({min(medians)[1]})" if medians else "not measured"

    plain = [found.cold(peer, when) for peer in (OURS, FLOOR)]
    shown = [short(each.median) if each else "not measured" for each in plain]
    return [label, *shown, least("sdk"), least("framework")]
