"""``connect``: where a server is into a set of tools that may change, and that any agent takes."""

from collections.abc import Iterator
from pathlib import PurePath
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import urlsplit

from mcp.client.client import Client

from rightcall.background import Background
from rightcall.core.context import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.schema import Schema
from rightcall.core.tool import Effect, Tool
from rightcall.errors import UsageError
from rightcall.mcp.client.calls import Caller
from rightcall.mcp.client.connection import Connection
from rightcall.mcp.client.content import value_of
from rightcall.mcp.client.lint import Finding
from rightcall.mcp.client.live import LiveView
from rightcall.mcp.client.names import fit
from rightcall.mcp.client.notes import Note, Notes
from rightcall.mcp.client.settings import Options, Settings, settings_of
from rightcall.mcp.client.shelf import Listing, Shelf, fetch, stock
from rightcall.mcp.client.target import Given, Http, Target, target_of
from rightcall.mcp.client.tool import Invoke, effect_of
from rightcall.mcp.definition import Definition, Hints


def connect(target: Given, *, name: str | None = None, **options: Unpack[Options]) -> "Server":
    """A server, to be opened with ``async with``, or with ``with`` where nothing can be awaited.

    ``target`` is an address, a program and its arguments as a list, or an entry of ``load_config``.
    ``name`` is what the server is called here: in notes, pins and what the model is told.
    """
    found = target_of(target)
    return Server(settings_of(name or name_of(found), found, options))


class Server(LiveView):
    """The tools of one server, as they are now. Goes wherever tools go.

    An agent looks at them again before each turn. What ``filter``, ``prefix``, ``rename`` and
    ``require_approval`` give follows the changes; ``toolbox()`` is the tools of this moment.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(self)
        self.name = settings.name
        self._settings = settings
        self._notes = Notes(settings.name, settings.record)
        self._connection = Connection(settings, self._notes, self._stock)
        self._caller = Caller(self._connection, settings.name, settings.limits.timeout)
        self._background: Background | None = None
        self._shelf: Shelf | None = None
        self._version = 0
        self.protocol_version = ""
        self.instructions = ""
        """What the server says of itself to models. Untrusted, and shown to none."""

    async def open(self) -> Self:
        """Start it and list its tools. Raises TransportError, ProtocolError or UsageError."""
        await self._connection.open()
        return self

    async def close(self) -> None:
        """End it, and its process. Never takes long, and can be done again."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        self._background = Background(f"mcp {self.name}")
        try:
            self._background.run(self.open())
        except BaseException:
            self._background.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._background is not None
        try:
            self._background.run(self.close())
        finally:
            self._background.stop()

    @property
    def version(self) -> int:
        """Another number whenever the tools are not the same any more."""
        return self._version

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._stocked().tools)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The tools as the server lists them, those included that are refused here."""
        return self._stocked().listing.definitions

    @property
    def refused(self) -> dict[str, str]:
        """The tools that are not offered, by the server's names, and why."""
        return dict(self._stocked().refused)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What in the definitions speaks to the model instead of about a tool."""
        return self._stocked().findings

    @property
    def notes(self) -> tuple[Note, ...]:
        """What happened lately: the server's log, changes, losses."""
        return self._notes.kept()

    async def call(self, name: str, arguments: JsonObject | None = None) -> Any:
        """Call a tool by the server's own name for it, past every gate. Raises ToolFailure."""
        known = {each.name: each for each in self._stocked().listing.definitions}
        definition = known.get(name) or Definition(name=name, parameters={"type": "object"})
        return await self._put(definition, arguments or {}, "write", None)

    def _stocked(self) -> Shelf:
        if self._shelf is None:
            raise UsageError(
                f"the server {self.name} is not open; use it inside async with connect(...)"
            )
        return self._shelf

    async def _stock(self, client: Client) -> None:
        """Take the tools that a server has now. What was approved and is not the same is refused."""
        listing = await fetch(client)
        self.protocol_version = client.protocol_version
        self.instructions = client.instructions or ""
        before = self._shelf
        if before is not None and listing == before.listing:
            return
        refusal = self._unapproved(listing)
        if refusal and before is None:
            raise UsageError(refusal)
        if refusal:
            self._notes.add("refused", refusal)
            refused = {each.name: refusal for each in listing.definitions}
            self._shelf = Shelf(listing=listing, refused=refused)
        else:
            self._shelf = stock(listing, self._settings, self._invoke)
        self._version += 1
        self._tell(self._shelf, before)

    def _unapproved(self, listing: Listing) -> str:
        if self._settings.pins is None:
            return ""
        found = self._settings.pins.differences(self.name, listing.definitions)
        if not found:
            return ""
        listed = "; ".join(map(str, found[:10]))
        return f"the server {self.name} is not as it was approved: {listed}. See: rightcall mcp verify"

    def _tell(self, shelf: Shelf, before: Shelf | None) -> None:
        """Note what is new: that there are other tools, and what became of them."""
        if before is not None:
            self._notes.add("changed", f"the server offers {len(shelf.tools)} tools now")
        known = before or Shelf()
        for own, here in shelf.names.items() - known.names.items():
            if own != here:
                self._notes.add("renamed", f"{own} is called {here} here")
        for tool, reason in shelf.refused.items() - known.refused.items():
            self._notes.add("refused", f"{tool}: {reason}")

    def _invoke(self, definition: Definition) -> Invoke:
        hints = definition.hints if "annotations" in self._settings.trust else Hints()
        effect = effect_of(hints)

        async def invoke(arguments: JsonObject, context: Context[Any]) -> Any:
            return await self._put(definition, arguments, effect, context)

        return invoke

    async def _put(
        self, definition: Definition, arguments: JsonObject, effect: Effect, context: Context[Any] | None
    ) -> Any:
        output = None if definition.output is None else Schema(definition.output)
        progress = None if context is None else context.progress
        answer = await self._caller.call(definition.name, arguments, effect, progress)
        return value_of(answer, output)


def name_of(target: Target) -> str:
    """What a server is called when nobody gave it a name."""
    if isinstance(target, Http):
        return fit(urlsplit(target.url).hostname or "server")
    return fit(PurePath(target.command).name)
