"""Recorded runs as tools and resources for agents: list, search, show.

Recorded text may be anybody's, so the results are untrusted, and private as the runs are.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from rightcall.core.facts import Facts
from rightcall.core.tool import Tool
from rightcall.declare.function import tool
from rightcall.errors import RightcallError, ToolFailure
from rightcall.record.transcript_markdown import markdown_lines
from rightcall.serve.studio.export import transcript_of
from rightcall.serve.studio.run_reader import NoRun, RunReader
from rightcall.serve.studio.search import RunFilter, find, rows_of
from rightcall.serve.studio.sources import Place

SCHEME = "rightcall-run:///"
_FACTS = Facts(untrusted=True, private=True, reach="nothing")
_MOST_LISTED = 50
_LONGEST = 60_000
"""Characters of a run that are shown at once."""
_MEMBERS = ("shown", "at", "agent", "model", "state", "stop", "turns", "calls", "bad_calls", "tools")


class RunTools:
    """The runs of a journal, for agents. Nothing here changes them."""

    def __init__(self, journal: Place, *, cache: Path | None = None) -> None:
        self._reader = RunReader(journal, cache=cache)

    def tools(self) -> tuple[Tool, ...]:
        """Three tools: list_runs, search_runs, show_run."""
        reader = self._reader

        @tool(effect="read", facts=_FACTS)
        async def list_runs(
            count: int = 20, state: str = "", tool_name: str = "", model: str = "", before: int = 0
        ) -> str:
            """List recorded runs, newest first: which agent and model, how each ended, what it cost.

            Args:
                count: How many, at most 50.
                state: Only those that are running, paused, decided, ended, failed or cut_off.
                tool_name: Only those that called this tool.
                model: Only those of this model.
                before: Go on after an earlier page, with the number that it gave as "next".
            """
            wanted = RunFilter(
                count=min(count, _MOST_LISTED),
                states=(state,) if state else (),
                tools=(tool_name,) if tool_name else (),
                models=(model,) if model else (),
                before=before or None,
            )
            return await _list_runs(reader, wanted)

        @tool(effect="read", facts=_FACTS)
        async def search_runs(words: str, count: int = 20) -> str:
            """Search the text of recorded runs: what was asked, answered, called with and returned.

            Args:
                words: Words that must all be there; a phrase in double quotes.
                count: How many runs, at most 50.
            """
            return await _list_runs(reader, RunFilter(q=words, count=min(count, _MOST_LISTED)))

        @tool(effect="read", facts=_FACTS)
        async def show_run(run: str, start: int = 0) -> str:
            """Show one recorded run: everything that was said, every call and its result.

            Args:
                run: The run's name, as a list gives it.
                start: Where to go on in a long one, with the number that was given as "next".
            """
            try:
                return await self.show(run, start)
            except NoRun:
                raise ToolFailure("There is no run of that name; list_runs lists them.") from None

        return (list_runs, search_runs, show_run)

    async def show(self, run: str, start: int = 0) -> str:
        """A run as Markdown, or a part of it."""
        await self._reader.catch_up_fully()
        reading = await self._reader.read(run)
        row = await self._reader.row(run)
        text = "\n".join(markdown_lines(transcript_of(reading)))
        part = text[start : start + _LONGEST]
        if not start:
            part = f"Run {run}: {row['state']}, {row['stop']}\n\n{part}"
        if start + _LONGEST < len(text):
            part = f"{part}\n\n(next: {start + _LONGEST})"
        return part

    async def resources(self) -> Sequence[tuple[str, str]]:
        """The newest runs: the URI and the name of each."""
        await self._reader.catch_up_fully()
        found = await self._reader.ask(find, RunFilter(count=_MOST_LISTED), self._reader.held_locks())
        return [(address_of(each.run), each.run) for each in (*found.live, *found.runs)]

    async def resource(self, address: str) -> str | None:
        """The run at a URI, as Markdown; None if there is none."""
        if not address.startswith(SCHEME):
            return None
        try:
            return await self.show(unquote(address.removeprefix(SCHEME)))
        except (NoRun, RightcallError):
            return None

    async def close(self) -> None:
        """Close the journal."""
        await self._reader.close()


def run_tools(journal: Place, *, cache: Path | None = None) -> tuple[Tool, ...]:
    """Tools with which an agent reads a journal: ``list_runs``, ``search_runs``, ``show_run``."""
    return RunTools(journal, cache=cache).tools()


def address_of(run: str) -> str:
    """The URI of a run as a resource."""
    return f"{SCHEME}{quote(run, safe='')}"


async def _list_runs(reader: RunReader, wanted: RunFilter) -> str:
    await reader.catch_up_fully()
    held = reader.held_locks()
    found = await reader.ask(find, wanted, held)
    shown = (*found.live, *found.runs)
    rows = await reader.ask(rows_of, shown, held)
    told = []
    for facts, row in zip(shown, rows, strict=True):
        entry = {name: row[name] for name in _MEMBERS} | {"cost": row["usage"]["cost"]}
        entry |= {"run": entry.pop("shown"), "question": row["prompt"], "answer": row["answer"]}
        if facts.id in found.snippets:
            entry["found"] = "".join(str(text) for text, _ in found.snippets[facts.id])
        told.append(entry)
    whole: dict[str, Any] = {"runs": told, "next": found.next, "total": found.total}
    return json.dumps(whole, ensure_ascii=False)
