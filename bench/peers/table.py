"""The results as tables in Markdown: printed, or put into a page (``--write docs/benchmarks.md``)."""

import argparse
import datetime
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, Found, short
from own import Features
from page import table, write
from peers import COLD, GROWTH, HELP, OURS, RESULTS, Peer, Row
from summary import summary

FEATURES = RESULTS.with_name("features.json")


def named(peer: Peer) -> str:
    return f"**{peer.label}**" if peer is OURS else peer.label


def cell(found: Found, row: Row, peer: Peer, figure: Figure | None, scale: float) -> str:
    failures = found.failures(row, peer)
    if figure is None:
        return "failed" if failures else "n/a"
    shown = figure.shown(scale, min(found.raw["rounds"], row.rounds))
    return shown + (f"<br><sub>{len(failures)} failed</sub>" if failures else "")


def costs(found: Found) -> str:
    """Every row that is not about many at once: what each client needs."""
    lines = []
    for row in (row for row in found.rows if not row.fresh):
        shown = [cell(found, row, peer, found.figure(row, peer), 1000) for peer in found.peers]
        lines.append([f"{row.label}, ms {'of CPU' if row.measure == 'cpu' else 'by the clock'}", *shown])
    return table(["", *map(named, found.peers)], lines)


def clock(found: Found) -> str:
    """The rows that count CPU time, by the clock."""
    lines = []
    for row in (row for row in found.rows if row.measure == "cpu"):
        known = [found.figure(row, peer, "wall") for peer in found.peers]
        lines.append([row.label, *[short(each.median * 1000) if each else "n/a" for each in known]])
    return table(["ms by the clock", *map(named, found.peers)], lines)


def ratios(found: Found) -> str:
    """Each client's cost in times of rightcall's, and how its turns grow."""
    lines = []
    for row in found.rows:
        ours, what = found.ours(row), "by the clock" if row.measure == "wall" else "CPU"
        known = [found.figure(row, peer) for peer in found.peers]
        shown = [short(each.median / ours) if each and ours else "n/a" for each in known]
        lines.append([f"{row.label}, {what}", *shown])
    grown = [found.growth(peer) for peer in found.peers]
    lines.append(
        [
            "a turn of 11 to 100, in times of one of 2 to 10",
            *[short(each) if each else "n/a" for each in grown],
        ]
    )
    return table(["", *map(named, found.peers)], lines)


def many(found: Found) -> str:
    """The rows of many at once."""
    lines = []
    for row in (row for row in found.rows if row.fresh and not row.sleeps):
        for title, what, scale in (
            ("runs per second", "wall", 0.0),
            ("ms of CPU for a run", "cpu", 1000.0),
            ("p99 of a run, s", "p99", 1.0),
            ("memory for a run, KiB", "memory", 1 / 1024),
        ):
            shown = []
            for peer in found.peers:
                figure = found.figure(row, peer, what)
                if figure and not scale:
                    figure = Figure(tuple(1 / each for each in figure.samples))
                shown.append(cell(found, row, peer, figure, scale or 1.0))
            lines.append([f"{row.label}: {title}", *shown])
    return table(["", *map(named, found.peers)], lines)


def sleeping(found: Found) -> str:
    """The rows of many at once whose tool sleeps: how long all of them take, and work."""
    lines = []
    for row in (row for row in found.rows if row.sleeps):
        for title, what in (("s by the clock for all", "wall"), ("s of CPU for all", "cpu")):
            known = [(peer, found.figure(row, peer, what)) for peer in found.peers]
            shown = [cell(found, row, peer, figure, row.runs) for peer, figure in known]
            lines.append([f"{row.label}: {title}", *shown])
    return table(["", *map(named, found.peers)], lines)


def cold(found: Found) -> str:
    """What getting ready takes, and commands to hold it against."""
    commands = found.raw["processes"].items()
    lines = [[f"`{name}`", Figure(tuple(each)).shown(), "", ""] for name, each in commands]
    for peer in found.peers:
        figures = [found.cold(peer, when) for when in ("imported", "ready", "answered")]
        lines.append([named(peer), *[each.shown() if each else "failed" for each in figures]])
    heads = ["all that an agent needs is imported", "an agent stands ready", "it has answered once"]
    return table(["s of CPU of the process until", *heads], lines)


def verdict(value: float | None, most: float, unit: str = "") -> str:
    """Whether a value that should be small is."""
    if value is None:
        return "not measured"
    return f"{'met' if value <= most else 'missed'}: {short(value)}{unit} of {short(most)}{unit}"


def aims(found: Found) -> Iterator[list[str]]:
    """What each row aims at, and whether that is reached."""
    for row in found.rows:
        yield from row_aims(found, row)
    yield [f"a late turn at most {GROWTH} times an early one", verdict(found.growth(OURS), GROWTH)]
    for when in ("imported", "ready"):
        cold = found.cold(OURS, when)
        yield [f"{when} in {COLD} s of CPU", verdict(cold.median if cold else None, COLD, " s")]
    helped = Figure(tuple(found.raw["processes"]["rightcall --help"])).median
    yield [f"`rightcall --help` in {HELP} s of CPU", verdict(helped, HELP, " s")]


def row_aims(found: Found, row: Row) -> Iterator[list[str]]:
    ours, best = found.ours(row), found.best(row)
    if row.floor:
        used, floor = found.ours(row, "cpu"), found.floor(row, "cpu")
        ratio = used / floor if used and floor else None
        yield [f"{row.label}: at most {row.floor} times the floor on aiohttp", verdict(ratio, row.floor)]
    if row.wall:
        yield [f"{row.label}: at most {row.wall} s by the clock", verdict(ours, row.wall, " s")]
    if row.frameworks:
        what = "runs per second" if row.fresh else "CPU time"
        aim = f"{row.label}: {what} {row.frameworks:.0f} times better than the fastest framework's"
        yield [aim, ahead(ours, best, row.frameworks)]
    if row.memory:
        aim = (
            f"{row.label}: {row.memory:.0f} times less memory for a run than the least hungry framework"
        )
        yield [aim, ahead(found.ours(row, "memory"), found.best(row, "memory"), row.memory)]


def ahead(ours: float | None, best: tuple[Peer, float] | None, least: float) -> str:
    """Whether the best framework needs as many times as much as it should."""
    if not ours or not best:
        return "not measured"
    ratio = best[1] / ours
    return f"{'met' if ratio >= least else 'missed'}: {short(ratio)} of {least:.0f} ({best[0].label})"


def about(found: Found) -> str:
    """Who, where, when, and how much the vendor can do."""
    raw, day = found.raw, datetime.date.fromisoformat(found.raw["date"])
    where = raw["machine"]
    versions = {name: each for peer in found.peers for name, each in raw["versions"][peer.name].items()}
    known = ", ".join(f"{name} {each}" for name, each in versions.items())
    return (
        f"{day.day} {day:%B %Y}; {where['cpu']}, {where['cores']} cores, {where['kernel']}, "
        f"Python {where['python']}; {where['pinned']}. {known}. Medians with "
        f"the least and the most below, of {repeated(found)}; *n* says how many there are where long "
        "jobs had fewer."
    )


def repeated(found: Found) -> str:
    """How often each row was done."""
    most = found.raw["rounds"]
    fewer = [f"{row.rounds} of {row.label}" for row in found.rows if row.rounds < most]
    return f"{most} rounds" + (f" ({'; '.join(fewer)})" if fewer else "")


def vendor(found: Found) -> str:
    """What the vendor can do, and how much of it was asked."""
    streamed, whole, single = (found.raw["capacity"][each] for each in ("streamed", "whole", "single"))
    shares = []
    for row in (row for row in found.rows if row.measure == "cpu" or row.fresh):
        for peer in found.peers:
            used, cost = found.figure(row, peer, "vendor"), found.figure(row, peer, "cpu")
            if used and cost:
                shares.append((used.median / cost.median, row, peer))
    said = (
        f"The vendor alone answers {streamed['per_second']:,.0f} streamed replies a second and "
        f"{whole['per_second']:,.0f} whole ones, {streamed['cpu'] * 1e6:.0f} and "
        f"{whole['cpu'] * 1e6:.0f} µs of its CPU each, when many ask "
        f"({streamed['busy']:.0%} and {whole['busy']:.0%} busy); "
        f"{single['cpu'] * 1e6:.0f} µs when one asks at a time, as most rows do."
    )
    own = [each for each in shares if each[2] is OURS]
    for share, row, peer in [max(each, key=first) for each in (shares, own) if each]:
        client = f"{peer.label} ({row.label})"
        said += f" Its CPU time came to at most {share:.0%} of the client's beside {client}."
    return said


def first(share: tuple[float, Row, Peer]) -> float:
    return share[0]


def failures(found: Found) -> list[str]:
    """What failed, and why."""
    return [
        f"- {peer.label}, {row.label}: {why}"
        for row in found.rows
        for peer in found.peers
        for why in sorted(set(found.failures(row, peer)))
    ]


def page(found: Found) -> str:
    parts = [
        about(found),
        vendor(found),
        costs(found),
        clock(found),
        "In times of rightcall's cost:",
        ratios(found),
        *([many(found)] if any(row.fresh and not row.sleeps for row in found.rows) else []),
        *([sleeping(found)] if any(row.sleeps for row in found.rows) else []),
        cold(found),
        table(["aim", "reached"], list(aims(found)), "---"),
    ]
    if failed := failures(found):
        parts += ["What failed:", "\n".join(failed)]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--features", type=Path, default=FEATURES)
    parser.add_argument(
        "--write", type=Path, help="a page with markers: <!-- peers -->, <!-- /peers -->"
    )
    given = parser.parse_args()
    found, features = Found(given.results), Features(given.features)
    sections = {
        "summary": summary(found, features),
        "peers": page(found),
        "features": features.page(),
    }
    if given.write:
        write(given.write, sections)
    else:
        print("\n\n".join(sections.values()))


if __name__ == "__main__":
    main()
