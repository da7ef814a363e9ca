"""An ordered set of tools with unique names, and the small algebra over it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, Union

from toolwright.core.tool import Tool
from toolwright.declare.function import FunctionTool, tool
from toolwright.errors import DeclarationError

ToolSource: TypeAlias = Union[Tool, "Toolbox", Callable[..., Any], Iterable["ToolSource"]]
"""Whatever can become tools: a function, a model, a tool, a toolbox, or any nesting of lists of them."""

Selection: TypeAlias = Collection[str] | Callable[[Tool], bool]
"""Which tools: their names, or a question asked of each."""


class Toolbox:
    """An ordered set of tools with unique names. Every operation gives a new toolbox.

    Everything that takes tools takes functions, models, tools, toolboxes and lists of them, and so
    does this.
    """

    __slots__ = ("_tools",)

    def __init__(self, *sources: ToolSource) -> None:
        self._tools: dict[str, Tool] = {}
        for found in _flatten(sources):
            if found.name in self._tools:
                raise DeclarationError(
                    found.name,
                    f"two tools have this name: {_origin(self._tools[found.name])} and {_origin(found)}.",
                    where="name",
                    fix="Rename one, or prefix a toolbox.",
                )
            self._tools[found.name] = found

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __add__(self, other: ToolSource) -> "Toolbox":
        return Toolbox(self, other)

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._tools)})"

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    def filter(self, keep: Selection) -> "Toolbox":
        """Only the tools that are named, or for which ``keep`` says yes."""
        return Toolbox([each for each in self if self._selects(keep, each)])

    def prefix(self, text: str) -> "Toolbox":
        """Every name with ``text`` before it."""
        return Toolbox([each.replace(name=text + each.name) for each in self])

    def rename(self, names: Mapping[str, str]) -> "Toolbox":
        """Some tools under other names."""
        self._require(names)
        return Toolbox([each.replace(name=names.get(each.name, each.name)) for each in self])

    def require_approval(self, which: Selection | None = None) -> "Toolbox":
        """A person must say yes to calls of these tools; of all, unless told which."""
        return Toolbox(
            [
                each.replace(approval=True) if which is None or self._selects(which, each) else each
                for each in self
            ]
        )

    def _selects(self, selection: Selection, each: Tool) -> bool:
        if callable(selection):
            return selection(each)
        self._require(selection)
        return each.name in selection

    def _require(self, names: Iterable[str]) -> None:
        for name in [names] if isinstance(names, str) else names:
            if name not in self._tools:
                raise DeclarationError(
                    name, f"no such tool in this toolbox, which has {', '.join(self._tools)}."
                )


def _flatten(sources: Iterable[ToolSource]) -> Iterator[Tool]:
    for source in sources:
        if isinstance(source, FunctionTool) and source.unbound:
            raise DeclarationError(
                source.name, "it is a method.", fix="Take it from an instance: instance.method."
            )
        if isinstance(source, Tool):
            yield source
        elif isinstance(source, Iterable) and not isinstance(source, type):
            yield from _flatten(source)
        else:
            yield tool(source)


def _origin(found: Tool) -> str:
    handler = getattr(found.handler, "__func__", found.handler)
    if handler is None:
        return "one without a handler"
    module = getattr(handler, "__module__", None) or "?"
    return f"{module}.{getattr(handler, '__qualname__', type(handler).__qualname__)}"
