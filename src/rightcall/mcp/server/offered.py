"""Tools, which may change, into what clients are offered now."""

import logging
from collections.abc import Iterator, Mapping

from mcp_types import ListToolsResult

from rightcall.core.ports import LiveTools
from rightcall.core.tool import Tool
from rightcall.declare.returns import Returns
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError
from rightcall.mcp.server.describe import Offer, offer

logger = logging.getLogger("rightcall")


class Offered:
    """What is offered of a source, as it is at each look."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self._take(Toolbox(source))

    tools: Toolbox
    listed: ListToolsResult
    returns: Mapping[str, Returns | None]
    """By tool: what its values must fit."""

    @property
    def changes(self) -> bool:
        """Whether anything in the source may change."""
        return bool(self._live)

    def look(self) -> "Offered":
        """Itself, brought up to date.

        What would make no toolbox, as two tools of one name, leaves things as they were.
        """
        versions = self._versions()
        if versions != self._seen:
            self._seen = versions
            try:
                self._take(Toolbox(self._source))
            except DeclarationError as error:
                logger.warning("the tools changed and cannot be served as they are now: %s", error)
        return self

    def _take(self, tools: Toolbox) -> None:
        offers: dict[str, Offer] = {tool.name: offer(tool) for tool in tools}
        self.tools = tools
        self.listed = ListToolsResult(tools=[each.listed for each in offers.values()])
        self.returns = {name: each.returns for name, each in offers.items()}

    def _versions(self) -> tuple[int, ...]:
        return tuple([each.version for each in self._live])


def _live_in(source: ToolSource) -> Iterator[LiveTools]:
    if isinstance(source, LiveTools):
        yield source
    elif isinstance(source, list | tuple) and not isinstance(source, Tool):
        for each in source:
            yield from _live_in(each)
