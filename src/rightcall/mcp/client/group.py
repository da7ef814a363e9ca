"""Several servers into one set of tools, opened at once; one that fails takes nobody with it."""

import asyncio
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self, Unpack

from rightcall.core.tool import Tool
from rightcall.errors import RightcallError
from rightcall.mcp.client.live import LiveView
from rightcall.mcp.client.names import fit
from rightcall.mcp.client.server import Server, connect
from rightcall.mcp.client.settings import Options
from rightcall.mcp.client.target import Given


def connect_all(servers: Mapping[str, Given], **options: Unpack[Options]) -> "Group":
    """Servers by name, as ``load_config`` gives them, to be opened together with ``async with``.

    Each server's tools have its name and ``_`` before their own. The options hold for every server.
    """
    return Group({name: connect(target, name=name, **options) for name, target in servers.items()})


class Group(LiveView):
    """The tools of several servers, as they are now."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        super().__init__(self)
        self.servers: dict[str, Server] = {}
        """Those that are open."""
        self.failed: dict[str, RightcallError] = {}
        """Those that could not be opened, and why."""
        self._all = servers
        self._views: tuple[LiveView, ...] = ()

    @property
    def version(self) -> int:
        """Another number whenever the tools are not the same any more."""
        return sum(view.version for view in self._views)

    def __iter__(self) -> Iterator[Tool]:
        for view in self._views:
            yield from view

    async def __aenter__(self) -> Self:
        tasks = {name: asyncio.ensure_future(server.open()) for name, server in self._all.items()}
        try:
            if tasks:
                await asyncio.wait(tasks.values())
        except asyncio.CancelledError:
            for task in tasks.values():
                task.cancel()
            await asyncio.wait(tasks.values())
            await self._close()
            raise
        for name, task in tasks.items():
            error = task.exception()
            if error is None:
                self.servers[name] = self._all[name]
            elif isinstance(error, RightcallError):
                self.failed[name] = error
            else:
                await self._close()
                raise error
        self._views = tuple(server.prefix(f"{fit(name)}_") for name, server in self.servers.items())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._all.values()))
