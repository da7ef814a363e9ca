"""Tools that change, filtered, prefixed or made to ask: and still changing."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from rightcall.core.ports import LiveTools
from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Selection, Toolbox
from rightcall.mcp.client.names import fit

_Change: TypeAlias = Callable[[Tool], Tool | None]
"""What becomes of a tool; None: it is left out."""


class LiveView:
    """What a toolbox's operations give of tools that change: looked at anew whenever it is looked at.

    Names that are asked for must be there now; one that goes away later is just not there, and is there
    again when it comes back.
    """

    def __init__(self, source: LiveTools, change: _Change | None = None) -> None:
        self._source = source
        self._change = change

    @property
    def version(self) -> int:
        """Another number whenever the tools are not the same any more."""
        return self._source.version

    def __iter__(self) -> Iterator[Tool]:
        for tool in self._source:
            changed = tool if self._change is None else self._change(tool)
            if changed is not None:
                yield changed

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def names(self) -> tuple[str, ...]:
        """The names now, in order."""
        return tuple(tool.name for tool in self)

    def toolbox(self) -> Toolbox:
        """The tools as they are now, for good: an ordinary toolbox."""
        return Toolbox(list(self))

    def filter(self, keep: Selection) -> "LiveView":
        """Only the tools that are named, or for which ``keep`` says yes."""
        chosen = self._chooser(keep)
        return LiveView(self, lambda tool: tool if chosen(tool) else None)

    def prefix(self, text: str) -> "LiveView":
        """Every name with ``text`` before it; one that becomes too long is shortened, with a mark."""
        return LiveView(self, lambda tool: tool.replace(name=fit(text + tool.name)))

    def rename(self, names: Mapping[str, str]) -> "LiveView":
        """Some tools under other names."""
        self.toolbox().rename(names)
        return LiveView(self, lambda tool: tool.replace(name=names.get(tool.name, tool.name)))

    def require_approval(self, which: Selection | None = None) -> "LiveView":
        """A person must say yes to calls of these tools; of all, unless told which."""
        chosen = (lambda _: True) if which is None else self._chooser(which)
        return LiveView(self, lambda tool: tool.replace(approval=True) if chosen(tool) else tool)

    def _chooser(self, selection: Selection) -> Callable[[Tool], bool]:
        # The toolbox of this moment knows which names are mistakes.
        self.toolbox().filter(selection)
        if callable(selection):
            return selection
        names = {selection} if isinstance(selection, str) else set(selection)
        return lambda tool: tool.name in names
