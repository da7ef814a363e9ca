"""An ordered set of tools with unique names, and operations on it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol, TypeAlias, Union

from typing_extensions import TypeVar

from rightcall.core.handler import unwrap
from rightcall.core.tool import Tool
from rightcall.declare.definition import is_definition, tools_defined
from rightcall.declare.function import FunctionTool, tool
from rightcall.errors import DeclarationError

D = TypeVar("D", default=Any)


class Function(Protocol):
    """A function or method, and no other callable: a tool declares its own dependencies."""

    @property
    def __kwdefaults__(self) -> dict[str, Any] | None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""


ToolSource: TypeAlias = Union[
    Tool[D],
    "Toolbox",
    Function,
    type,
    partial[Any],
    Mapping[str, Any],
    Iterable["ToolSource[D]"],
]
"""What can become tools: a function, a model, a tool, a toolbox, a vendor's definition of one, or any
nesting of lists of them."""

Selection: TypeAlias = Collection[str] | Callable[[Tool], bool]
"""Which tools: their names, or a function of a tool."""


class Toolbox:
    """An ordered set of tools with unique names. Every operation returns a new toolbox.

    Everything that takes tools takes functions, models, tools, toolboxes and lists of them, and so does
    this.
    """

    __slots__ = ("_tools", "get")

    get: Callable[[str], Tool | None]
    """The tool of that name; None if there is none."""

    def __init__(self, *sources: ToolSource) -> None:
        self._tools: dict[str, Tool] = {}
        self.get = self._tools.get
        for found in _flatten(sources):
            if found.name in self._tools:
                first = self._tools[found.name]
                raise DeclarationError(
                    found.name,
                    f"two tools have this name: {_origin(first)} and {_origin(found)}.",
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

    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    def filter(self, keep: Selection) -> "Toolbox":
        """Only the tools that are named, or for which ``keep`` returns true."""
        selected = self._selected(keep)
        return Toolbox([each for each in self if each.name in selected])

    def prefix(self, text: str) -> "Toolbox":
        """Every name with ``text`` in front."""
        return Toolbox([_renamed(each, text + each.name) for each in self])

    def rename(self, names: Mapping[str, str]) -> "Toolbox":
        """Some tools under other names."""
        self._require(names)
        return Toolbox([_renamed(each, names.get(each.name, each.name)) for each in self])

    def require_approval(self, which: Selection | None = None) -> "Toolbox":
        """A person must approve calls of these tools; by default of all."""
        selected = set(self._tools) if which is None else self._selected(which)
        return Toolbox([each.replace(approval=True) if each.name in selected else each for each in self])

    def deferred(self, which: Selection | None = None) -> "Toolbox":
        """These tools are sent only after the model has found them by a search; by default all."""
        selected = set(self._tools) if which is None else self._selected(which)
        return Toolbox([each.replace(deferred=True) if each.name in selected else each for each in self])

    def _selected(self, selection: Selection) -> set[str]:
        if callable(selection):
            return {each.name for each in self if selection(each)}
        names = [selection] if isinstance(selection, str) else list(selection)
        self._require(names)
        return set(names)

    def _require(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._tools:
                there = ", ".join(self._tools) or "none"
                near = get_close_matches(name, self._tools, n=1)
                reason = f"no such tool in this toolbox, which has {there}."
                raise DeclarationError(name, reason, fix=f"Did you mean {near[0]}?" if near else "")


def _renamed(found: Tool, name: str) -> Tool:
    """The tool under another name. A vendor's own definition holds for the vendor's own name only."""
    return found if name == found.name else found.replace(name=name, native={})


def _flatten(sources: Iterable[ToolSource]) -> Iterator[Tool]:
    for source in sources:
        if is_definition(source):
            yield from tools_defined(source)
            continue
        if isinstance(source, Iterable) and not isinstance(source, type | str):
            yield from _flatten(source)
            continue
        declare: Callable[[Any], Tool] = tool()
        found = source if isinstance(source, Tool) else declare(source)
        if isinstance(found, FunctionTool) and found.unbound:
            raise DeclarationError(
                found.name, "it is a method.", fix="Take it from an instance: instance.method."
            )
        yield found


def _origin(found: Tool) -> str:
    if found.handler is None:
        return "one without a handler"
    function = getattr(found.handler, "__func__", unwrap(found.handler))
    return f"{function.__module__}.{function.__qualname__}"
