"""Which lines of a log each client wants: those of the level it set, and what is graver."""

from collections import OrderedDict
from typing import Any, get_args

from mcp.server.context import ServerRequestContext
from mcp_types import LoggingLevel

_ORDER: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From the least grave to the gravest, as the protocol lists them."""
_MOST = 1024
"""Clients whose level is remembered."""


class Levels:
    """The level that each session has set. Only the older protocols have sessions, and levels."""

    def __init__(self) -> None:
        self._set: OrderedDict[str, LoggingLevel] = OrderedDict()

    def choose(self, context: ServerRequestContext[Any, Any], level: LoggingLevel) -> None:
        """Remember what a client wants."""
        self._set[_session(context)] = level
        self._set.move_to_end(_session(context))
        if len(self._set) > _MOST:
            self._set.popitem(last=False)

    def wants(self, context: ServerRequestContext[Any, Any], level: LoggingLevel) -> bool:
        """Whether a client wants a line of that level; all of them unless it said otherwise."""
        least = self._set.get(_session(context), _ORDER[0])
        return _ORDER.index(level) >= _ORDER.index(least)


def _session(context: ServerRequestContext[Any, Any]) -> str:
    """What names the session: nothing over stdio, where there is one only."""
    request = context.request
    return "" if request is None else str(request.headers.get("mcp-session-id", ""))
