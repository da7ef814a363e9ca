"""The state of a studio: its journal, its watchers, and what it may do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from rightcall.agent import Agent
from rightcall.durable.app import App
from rightcall.serve.studio.agents import agents_of
from rightcall.serve.studio.live import Watcher
from rightcall.serve.studio.run_actions import RunActions
from rightcall.serve.studio.run_reader import RunReader
from rightcall.serve.studio.sources import Place
from rightcall.serve.studio.subscribers import Subscribers

_READ_ONLY = "This studio only shows: start it with --write to decide here."


class Studio:
    """Everything that the routes share. Belongs to one event loop."""

    def __init__(
        self,
        journal: Place,
        *,
        agents: Mapping[str, Agent[Any]] | Sequence[Agent[Any]] | Agent[Any] = (),
        can_write: bool = False,
        cache: Path | None = None,
    ) -> None:
        self.can_write = can_write
        self.csrf = token_urlsafe(24)
        """The token that changes must carry: only a page that can read our answers knows it."""
        if isinstance(journal, App) and not agents:
            agents = journal.agents
        self.reader = RunReader(journal, agents=agents_of(agents), cache=cache, may_make=can_write)
        self.subscribers = Subscribers()
        self.watcher = Watcher(self.reader, self.subscribers)
        self.actions = RunActions(self.reader, self.subscribers)

    @property
    def why_not(self) -> str:
        """Why nobody can decide here; empty if somebody can."""
        return "" if self.can_write else _READ_ONLY

    async def close(self) -> None:
        """Stop the runs, and close the journal."""
        await self.actions.close()
        await self.reader.close()
