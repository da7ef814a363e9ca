"""The results as a picture: one panel of bars for each row, on a logarithmic scale."""

import argparse
import math
from html import escape
from pathlib import Path

from figures import Found, short
from peers import RESULTS, ROOT, Kind, Peer

WIDTH, MARGIN, GAP = 900, 20, 30
PANEL = (WIDTH - 2 * MARGIN - GAP) / 2
NAMES, VALUES = 142, 62
"""How much of a panel the names take on the left, and the values on the right."""
BAR, TITLE, BELOW, TOP = 16, 26, 26, 72
COLOURS: dict[Kind, str] = {
    "floor": "#9aa5b1",
    "ours": "#d9480f",
    "sdk": "#74a9cf",
    "framework": "#3b6ea5",
}
FONT = "font-family='-apple-system,Segoe UI,Helvetica,Arial,sans-serif'"

Bars = list[tuple[Peer, float | None]]


def text(at: tuple[float, float], words: str, size: int = 11, **style: str) -> str:
    given = "".join(f" {name.replace('_', '-')}='{value}'" for name, value in style.items())
    fill = "" if "fill" in style else " fill='#1f2933'"
    return (
        f"<text x='{at[0]:.1f}' y='{at[1]:.1f}' font-size='{size}'{fill}{given}>{escape(words)}</text>"
    )


def box(at: tuple[float, float], size: tuple[float, float], fill: str) -> str:
    place, extent = f"x='{at[0]:.1f}' y='{at[1]:.1f}'", f"width='{size[0]:.1f}' height='{size[1]:.1f}'"
    return f"<rect {place} {extent} fill='{fill}'/>"


def seconds(value: float) -> str:
    return f"{short(value)} s" if value >= 1 else f"{short(value * 1000)} ms"


def tick(power: int) -> str:
    return f"{10**power:,} s" if power >= 0 else f"{10 ** (power + 3):g} ms"


def panel(at: tuple[float, float], title: str, bars: Bars) -> list[str]:
    """One row's bars; they begin at half of the smallest, since a logarithm has no zero."""
    left, top = at[0] + NAMES, at[1] + TITLE
    room, height = PANEL - NAMES - VALUES, BAR * len(bars)
    known = [value for _, value in bars if value]
    drawn = [text((at[0], at[1] + 14), title, 12, font_weight="600")]
    if not known:
        return [*drawn, text((left, top + BAR), "not measured")]
    low, high = math.log10(min(known) / 2), math.log10(max(known))

    def place(value: float) -> float:
        return left + room * (math.log10(value) - low) / (high - low)

    for power in range(math.ceil(low), math.floor(high) + 1):
        x = place(10.0**power)
        drawn.append(
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{top}' y2='{top + height}' stroke='#d5dbe1'/>"
        )
        drawn.append(text((x, top + height + 11), tick(power), 9, text_anchor="middle", fill="#616e7c"))
    for n, (peer, value) in enumerate(bars):
        y, ours = top + n * BAR, {"font_weight": "700"} if peer.kind == "ours" else {}
        drawn.append(text((left - 6, y + 12), peer.label, 11, text_anchor="end", **ours))
        if value:
            end = place(value)
            drawn.append(box((left, y + 2), (end - left, BAR - 4), COLOURS[peer.kind]))
            drawn.append(text((end + 5, y + 12), seconds(value), 11, **ours))
        else:
            drawn.append(text((left + 5, y + 12), "failed", 11, font_style="italic"))
    return drawn


def panels(found: Found) -> list[tuple[str, Bars]]:
    made: list[tuple[str, Bars]] = []
    for row in found.rows:
        figures = [(peer, found.figure(row, peer)) for peer in found.peers]
        what = "CPU for a run" if row.measure == "cpu" else "wall time"
        what += ", over the runs" if row.fresh else ""
        made.append(
            (f"{row.label}: {what}", [(peer, each.median if each else None) for peer, each in figures])
        )
    ready = [(peer, found.cold(peer, "ready")) for peer in found.peers]
    made.append(
        (
            "until an agent stands ready: CPU",
            [(peer, each.median if each else None) for peer, each in ready],
        )
    )
    return made


def picture(found: Found) -> str:
    made = panels(found)
    tall = TITLE + BAR * len(found.peers) + BELOW
    height = TOP + tall * math.ceil(len(made) / 2)
    drawn = [
        box((0, 0), (WIDTH, height), "#ffffff"),
        text((MARGIN, 28), "The same work by every client: less is better", 17, font_weight="700"),
        text(
            (MARGIN, 48),
            f"Medians; logarithmic scales, each from half of its least value; {found.raw['date']}",
            11,
            fill="#616e7c",
        ),
    ]
    legend = WIDTH - MARGIN - 330
    for n, (kind, words) in enumerate(
        (("ours", "rightcall"), ("floor", "by hand"), ("sdk", "SDK"), ("framework", "framework"))
    ):
        drawn.append(box((legend + n * 88, 39), (10, 10), COLOURS[kind]))  # type: ignore[index]
        drawn.append(text((legend + n * 88 + 15, 48), words))
    for n, (title, bars) in enumerate(made):
        drawn += panel((MARGIN + (n % 2) * (PANEL + GAP), TOP + (n // 2) * tall), title, bars)
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' "
        f"height='{height}' {FONT}>"
    )
    return "\n".join([head, *drawn, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--write", type=Path, default=ROOT / "docs" / "benchmarks.svg")
    given = parser.parse_args()
    given.write.write_text(picture(Found(given.results)))


if __name__ == "__main__":
    main()
