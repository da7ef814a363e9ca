"""What was measured, as medians with their spread."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import FLOOR, OURS, PEERS, ROWS, Kind, Peer, Row


@dataclass(frozen=True)
class Figure:
    """A median, and what it is the median of."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def shown(self, scale: float = 1.0, rounds: int = 1) -> str:
        """With three digits, and below the least and the most, and of how many if those are fewer."""
        spread = [f"{short(min(self.samples) * scale)} to {short(max(self.samples) * scale)}"]
        few = [f"n = {len(self.samples)}"] if len(self.samples) < max(rounds, 2) else []
        below = ", ".join((spread if len(self.samples) > 1 else []) + few)
        return f"{short(self.median * scale)}<br><sub>{below}</sub>"


class Found:
    """The results of one benchmark."""

    def __init__(self, path: Path) -> None:
        self.raw: dict[str, Any] = json.loads(path.read_text())
        self.peers = [peer for peer in PEERS if peer.name in self.raw["cold"]]
        self.rows = [row for row in ROWS if row.name in self.raw["cells"]]

    def figure(self, row: Row, peer: Peer, what: str = "") -> Figure | None:
        """One client at one row: by what the row measures, if nothing else is asked for."""
        samples = self.raw["cells"].get(row.name, {}).get(peer.name, {}).get("samples", [])
        return Figure(tuple(each[what or row.measure] for each in samples)) if samples else None

    def failures(self, row: Row, peer: Peer) -> list[str]:
        failures: list[str] = self.raw["cells"].get(row.name, {}).get(peer.name, {}).get("failures", [])
        return failures

    def cold(self, peer: Peer, when: str) -> Figure | None:
        """What a client had taken by then: ``imported``, ``ready`` or ``answered``."""
        samples = [each[when] for each in self.raw["cold"].get(peer.name, ()) if when in each]
        return Figure(tuple(samples)) if samples else None

    def best(self, row: Row, what: str = "", kind: Kind = "framework") -> tuple[Peer, float] | None:
        """The framework that needs least, or the SDK."""
        known = [(peer, self.figure(row, peer, what)) for peer in self.peers if peer.kind == kind]
        medians = [(peer, figure.median) for peer, figure in known if figure]
        return min(medians, key=lambda each: each[1], default=None)

    def ours(self, row: Row, what: str = "") -> float | None:
        figure = self.figure(row, OURS, what)
        return figure.median if figure else None

    def floor(self, row: Row, what: str = "") -> float | None:
        figure = self.figure(row, FLOOR, what)
        return figure.median if figure else None

    def growth(self, peer: Peer) -> float | None:
        """What one of the turns from 11 to 100 costs, in times of one of those from 2 to 10."""
        medians = {}
        for row in self.rows:
            if row.name.startswith("turns") and (figure := self.figure(row, peer, "cpu")):
                medians[row.name] = figure.median
        if len(medians) < 3:
            return None
        early = (medians["turns10"] - medians["turns1"]) / 9
        return (medians["turns100"] - medians["turns10"]) / 90 / early


def short(value: float) -> str:
    """Three digits of a number, and no more than it needs."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"
