"""Tools that change while they are used, as those of an MCP server, into a toolbox that follows them."""

import logging
from collections.abc import Callable, Iterator

from rightcall.core.ports import LiveTools
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError

logger = logging.getLogger("rightcall")


class Following:
    """Looks now and then whether the tools of a source are still the same."""

    def __init__(self, source: ToolSource, make: Callable[[ToolSource], Toolbox]) -> None:
        self._source = source
        self._make = make
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self.toolbox = make(source)
        """The tools when this began to follow them."""

    def changed(self) -> Toolbox | None:
        """The tools as they are now, if they changed since the last look.

        What would make no toolbox, as two tools of one name, leaves things as they were: a server must
        not be able to end a run.
        """
        versions = self._versions()
        if versions == self._seen:
            return None
        self._seen = versions
        try:
            return self._make(self._source)
        except DeclarationError as error:
            logger.warning("the tools changed and cannot be used as they are now: %s", error)
            return None

    def _versions(self) -> tuple[int, ...]:
        return tuple([each.version for each in self._live])


def is_live(source: ToolSource) -> bool:
    """Whether anything in the source may change."""
    return any(True for _ in _live_in(source))


def _live_in(source: ToolSource) -> Iterator[LiveTools]:
    if isinstance(source, LiveTools):
        yield source
    elif isinstance(source, list | tuple):
        for each in source:
            yield from _live_in(each)
