"""What rightcall's own features cost, as tables: from what ``bench/features.py`` saved."""

import json
from pathlib import Path
from typing import Any

from figures import Figure
from page import table

HISTORIES = """**A long history**: ms of CPU of a run of one request whose answer comes from memory.
*First* is a history that the agent has not seen, *next* goes on with that run's result. The journal is
SQLite. `bench/histories.py`."""
JOURNALS = """**Journals**: ms of CPU of a run with one tool call on a scripted model: nine entries, two
requests. `bench/journals.py`."""
TRUST = """**A result of 64 kB**: ms of CPU of its run, and the longest time that the event loop's thread
works in one go. The journal is in memory. `bench/trust.py`."""
TOOLS = """**Many tools**: ms of CPU of a run of one tool turn whose replies come from memory, and of
refusing a name that is none of 500. `bench/many_tools.py`."""
MCP = """**MCP** beside the official SDK {}: ms of CPU for one call, of the client's process or of the
server's. `bench/mcp_client.py`, `bench/mcp_server.py`."""
EARLY = """**Calls that start early**: a stream of 1 s that begins with four `read` calls of 1 s each, by
the clock; 2 s where nothing starts early. `bench/speculation.py`."""
WAYS = {"plain": "plain", "journal": "with a journal", "trust": "under `trust`", "both": "with both"}
DIALECTS = {
    "openai_chat": "OpenAI Chat",
    "openai_responses": "OpenAI Responses",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini",
}


class Features:
    """The figures of every part, by name."""

    def __init__(self, path: Path) -> None:
        self._raw: dict[str, Any] = json.loads(path.read_text())

    def figure(self, part: str, name: str) -> Figure:
        return Figure(tuple(self._raw["parts"][part][name]))

    def ms(self, part: str, name: str) -> str:
        return self.figure(part, name).shown(1000)

    def times(self, part: str, ours: str, theirs: str) -> str:
        """How many times the other's median ours is."""
        return f"{self.figure(part, ours).median / self.figure(part, theirs).median:.2f}"

    def page(self) -> str:
        """Every table, each with what it says above it."""
        made = {
            HISTORIES: self._histories(),
            JOURNALS: self._journals(),
            TRUST: self._trust(),
            TOOLS: self._tools(),
            MCP.format(self._raw["mcp"]): self._mcp(),
            EARLY: self._speculation(),
        }
        rounds = f"Medians of {self._rounds} rounds with the least and the most below."
        return "\n\n".join([rounds, *[f"{above}\n\n{each}" for above, each in made.items()]])

    @property
    def _rounds(self) -> str:
        each = [len(next(iter(part.values()))) for part in self._raw["parts"].values()]
        return f"{min(each)} to {max(each)}" if min(each) < max(each) else str(max(each))

    def _histories(self) -> str:
        lines = [
            [
                f"{count:,} messages, {when}",
                *[self.ms("histories", f"{count} {way} {when}") for way in WAYS],
            ]
            for count in (1000, 4000)
            for when in ("first", "next")
        ]
        return table(["ms of CPU", *WAYS.values()], lines)

    def _journals(self) -> str:
        none = self.figure("journals", "none").median
        lines = []
        for kind in ("none", "memory", "JSON lines", "SQLite"):
            more = (self.figure("journals", kind).median - none) * 1000
            lines.append([kind, self.ms("journals", kind), f"{more:.2f}", f"{more / 2:.2f}"])
        return table(["journal", "ms of CPU a run", "more than without", "a request"], lines)

    def _trust(self) -> str:
        rows = {"cpu": "CPU", "stall": "longest stall"}
        lines = [
            [f"{name}, ms", *[self.ms("trust", f"{way} {key}") for way in WAYS]]
            for key, name in rows.items()
        ]
        return table(["", *WAYS.values()], lines)

    def _tools(self) -> str:
        names = ("1 tools", "10 tools", "500 tools", "a wrong name among 500")
        heads = ["1 tool", "10 tools", "500 tools", "a wrong name among 500"]
        return table(["", *heads], [["ms of CPU", *[self.ms("many_tools", name) for name in names]]])

    def mcp(self, *, abreast: bool = True) -> list[tuple[str, str, str, str]]:
        """Each kind of call, those that come 16 at once too: rightcall's, the SDK's, and the ratio."""
        wires = ("stdio", "HTTP")
        kinds = [(f"one call by the client, over {wire}", "mcp_client", f"{wire} ") for wire in wires]
        for wire in wires:
            kinds.append((f"one call served over {wire}", "mcp_server", f"{wire} 1 "))
            if abreast:
                kinds.append((f"one call served over {wire}, 16 at once", "mcp_server", f"{wire} 16 "))
        return [
            (
                label,
                self.ms(part, f"{name}rightcall"),
                self.ms(part, f"{name}SDK"),
                self.times(part, f"{name}rightcall", f"{name}SDK"),
            )
            for label, part, name in kinds
        ]

    def _mcp(self) -> str:
        return table(
            ["ms of CPU", "**rightcall**", "SDK", "times the SDK's"], [list(each) for each in self.mcp()]
        )

    def _speculation(self) -> str:
        lines = [
            [
                label,
                *[self.figure("speculation", f"{name} {what}").shown() for what in ("wall", "started")],
            ]
            for name, label in DIALECTS.items()
        ]
        return table(["s by the clock", "the run", "until all four calls had started"], lines)
