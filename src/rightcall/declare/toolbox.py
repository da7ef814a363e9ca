"""An ordered set of tools with unique names; and how much of it a model is sent."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Union

from msgspec import Struct
from typing_extensions import TypeVar

from rightcall.core.handler import unwrap
from rightcall.core.options import KnownOptions, TypeCheckedMeta, annotations_of
from rightcall.core.tool import Tool
from rightcall.declare.definition import is_definition, tools_defined
from rightcall.declare.function import FunctionTool, tool
from rightcall.errors import DeclarationError, UsageError
from rightcall.log import logger

D = TypeVar("D", default=Any)


class FunctionLike(Protocol):
    """A function or method, and no other callable: a tool declares its own dependencies."""

    @property
    def __kwdefaults__(self) -> dict[str, Any] | None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""


ToolSource: TypeAlias = Union[
    Tool[D], "Toolbox", FunctionLike, type, partial[Any], Mapping[str, Any], Iterable["ToolSource[D]"]
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
        for found in _flatten_sources(sources):
            if found.name in self._tools:
                first = self._tools[found.name]
                if found.handler is not None and found.handler == first.handler:
                    raise DeclarationError(
                        found.name,
                        f"{_origin(found)} is given twice.",
                        where="name",
                        fix="Leave one out.",
                    )
                raise DeclarationError(
                    found.name,
                    f"two tools have this name: {_origin(first)} and {_origin(found)}.",
                    where="name",
                    fix="Rename one, or prefix a toolbox.",
                )
            self._tools[found.name] = found
            if not found.description and not found.native:
                _warn_once(found.name, _origin(found))

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

    @classmethod
    def of(cls, source: object) -> "Toolbox":
        """The methods of an object that are declared with ``@rc.tool``, for type checkers.

        Everything that takes tools takes the object itself, too, which type checkers cannot tell.
        """
        methods = _tool_methods(source)
        if not methods:
            fix = "Declare some with @rc.tool."
            raise DeclarationError(type(source).__name__, "it has no methods that are tools.", fix=fix)
        return cls(methods)

    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._tools)

    def filter(self, keep: Selection) -> "Toolbox":
        """Only the tools that are named, or for which ``keep`` returns true."""
        selected = self._selected_names(keep)
        return Toolbox([each for each in self if each.name in selected])

    def prefix(self, text: str) -> "Toolbox":
        """Every name with ``text`` in front."""
        return Toolbox([_rename_tool(each, text + each.name) for each in self])

    def rename(self, names: Mapping[str, str]) -> "Toolbox":
        """Some tools under other names."""
        self._require(names)
        return Toolbox([_rename_tool(each, names.get(each.name, each.name)) for each in self])

    def require_approval(self, which: Selection | None = None) -> "Toolbox":
        """A person must approve calls of these tools; by default of all."""
        return self._with(which, approval=True)

    def deferred(self, which: Selection | None = None) -> "Toolbox":
        """These tools are sent only after the model has found them by a search; by default all."""
        return self._with(which, deferred=True)

    def _with(self, which: Selection | None, **options: bool) -> "Toolbox":
        selected = self._selected_names(self._tools if which is None else which)
        tools = []
        for each in self:
            if each.name in selected:
                each = each.replace(**options)  # noqa: PLW2901
            tools.append(each)
        return Toolbox(tools)

    def _selected_names(self, selection: Selection) -> set[str]:
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
                fix = f"Did you mean {near[0]}?" if near else ""
                raise DeclarationError(
                    name, f"no such tool in this toolbox, which has {there}.", fix=fix
                )


def _rename_tool(found: Tool, name: str) -> Tool:
    """The tool under another name. A vendor's own definition holds for the vendor's own name only."""
    if name == found.name:
        return found
    return found.replace(name=name, native={})


def _flatten_sources(sources: Iterable[ToolSource]) -> Iterator[Tool]:
    for source in sources:
        if isinstance(source, Tool):
            declared = source
        elif isinstance(source, list | tuple | Toolbox):
            yield from _flatten_sources(source)
            continue
        elif is_definition(source):
            # Before other iterables: a model's instance is one, too.
            yield from tools_defined(source)
            continue
        elif isinstance(source, Iterable) and not isinstance(source, type | str):
            yield from _flatten_sources(source)
            continue
        elif methods := _tool_methods(source):
            yield from _flatten_sources(methods)
            continue
        else:
            declare: Callable[[Any], Tool] = tool()
            declared = declare(source)
        if isinstance(declared, FunctionTool) and declared.unbound:
            raise DeclarationError(
                declared.name, "it is a method.", fix="Take it from an instance: instance.method."
            )
        yield declared


def _tool_methods(source: object) -> list[FunctionTool[..., Any, Any]]:
    """Returns the tools among the methods of an object or a class, in the order of their declaration."""
    kind = source if isinstance(source, type) else type(source)
    if getattr(kind, "__module__", "builtins") == "builtins":
        return []
    names: dict[str, None] = {}
    for each in reversed(kind.__mro__):
        names.update(dict.fromkeys(vars(each)))
    found = []
    for name in names:
        # Looked at as it is declared: no property is called.
        held = inspect.getattr_static(kind, name, None)
        method: object = None
        if isinstance(held, classmethod):
            # From Python 3.13 on, a class method no longer binds what it wraps.
            if isinstance(held.__func__, FunctionTool):
                method = held.__func__.__get__(kind, kind)
        elif isinstance(held, FunctionTool | staticmethod):
            method = getattr(source, name, None)
        if isinstance(method, FunctionTool):
            found.append(method)
    return found


@lru_cache(maxsize=512)
def _warn_once(name: str, origin: str) -> None:
    logger.warning(
        "tool %r (%s) has no description, so a model can only choose it by its name; "
        "write a docstring, or pass description=",
        name,
        origin,
    )


def _origin(found: Tool) -> str:
    if found.handler is None:
        return "one without a handler"
    function = getattr(found.handler, "__func__", unwrap(found.handler))
    # What is written in C may lack a module.
    module = getattr(function, "__module__", "builtins")
    if module == tools_defined.__module__:
        return "a definition without a handler"
    return f"{module}.{function.__qualname__}"


SEARCH = "search_tools"
LOOKUP = "tool_lookup"
SKILL = "skill"
"""The tool that reads skills. Its description lists them, so it is sent whole."""
VENDOR_SEARCH = {"anthropic": SEARCH, "openai_responses": "tool_search"}
"""The dialects whose vendors load the tools that a search finds, with the search tool's name there."""

Embedder: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Embeds texts: returns a vector for each, close to each other if the texts mean the same."""

Descriptions: TypeAlias = Literal["full", "short", "lines"]
"""How much of each tool is sent: everything; a short line and the schema; or only a short line. The
model gets the rest with ``tool_lookup``."""


class Defer(Struct, frozen=True, kw_only=True, eq=False, metaclass=TypeCheckedMeta):
    """Which tools are sent only after the model has found them, and how it finds them."""

    which: Selection | None = None
    """Their names, or a function of a tool; None for all."""
    limit: int = 5
    """How many tools one search finds."""
    tokens: int = 4_000
    """The token limit for their definitions together; the best match is always included."""
    by_name: bool = True
    """Whether the model may call a tool that it has not found yet; otherwise it is told to search
    first."""
    embed: Embedder | None = None
    """Ranks by meaning, too; by default only by the words of names, descriptions and schemas."""
    vendor: bool = False
    """Have the vendor load found tools at the place of the search (Anthropic's tool references, OpenAI's
    ``tool_search``), so that the tools before it never change."""

    def __post_init__(self) -> None:
        if self.limit < 1 or self.tokens < 1:
            raise UsageError(
                f"rc.tools.Defer(limit={self.limit}, tokens={self.tokens}): a search finds at least 1"
            )


Level: TypeAlias = Literal["fine", "note", "warning", "over"]
LEVELS: tuple[Level, ...] = ("fine", "note", "warning", "over")
"""From the best to the worst."""
Then: TypeAlias = Literal["warn", "refuse", "off"]
"""What an agent does if its tools exceed the thresholds: log a warning, raise an error, or nothing."""


class Thresholds(TypedDict, total=False):
    """From where on tools are too many."""

    tools: tuple[int, int, int]
    """More than so many tools are worth a note, a warning, and too many: 5, 15 and 20."""
    share: tuple[float, float]
    """More than this share of the context is worth a warning, and too much: 0.05 and 0.10."""
    then: Then
    """What an agent does about too many or too much; warns, unless said."""


DEFAULTS: Thresholds = {}
_KNOWN = KnownOptions("footprint", annotations_of(Thresholds))
_TOOLS = (5, 15, 20)
_SHARE = (0.05, 0.10)

_OF_TOOLS = {
    "fine": "a choice among so few is easy",
    "note": "keep descriptions tight, and say in each when to use it and when not",
    "warning": "split them: by MCP server, or into agents that have a few each",
    "over": "defer them, and let the model search: rc.Agent(…, defer=True)",
}
_OF_SHARE = {
    "fine": "little is sent with every turn",
    "note": "little is sent with every turn",
    "warning": 'tighten descriptions, send short ones (descriptions="short"), let the vendor cache them',
    "over": 'defer them (defer=True), or send one line of each (descriptions="lines")',
}


class FootprintVerdict(Struct, frozen=True):
    """The verdict on a number of tools, or on their tokens."""

    level: Level
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.level}: {self.what}: {self.advice}"


def checked_thresholds(given: Thresholds | Then) -> Thresholds:
    """The thresholds, validated. Raises an error that says what is wrong with them."""
    thresholds: Thresholds = {"then": given} if isinstance(given, str) else given
    _KNOWN.check(thresholds)
    for name, values, known in (
        ("tools", thresholds.get("tools", _TOOLS), _TOOLS),
        ("share", thresholds.get("share", _SHARE), _SHARE),
    ):
        if len(values) != len(known) or not all(map(_is_number, values)):
            raise UsageError(f"footprint: {name} are {len(known)} numbers, as {known}, not {values}")
        if list(values) != sorted(values):
            raise UsageError(f"footprint: {name} must rise, and {values} does not")
    return thresholds


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


def verdicts(
    tools: int, tokens: int, context: int, thresholds: Thresholds
) -> tuple[FootprintVerdict, FootprintVerdict]:
    """The verdicts on that many tools, and on that many tokens of a context."""
    few, many, most = thresholds.get("tools", _TOOLS)
    much, too_much = thresholds.get("share", _SHARE)
    count = LEVELS[(tools > few) + (tools > many) + (tools > most)]
    share = tokens / context
    if share > too_much:
        weight: Level = "over"
    elif share > much:
        weight = "warning"
    else:
        weight = "fine"
    number = "1 tool" if tools == 1 else f"{tools} tools"
    size = f"{tokens:,} tokens, {share:.1%} of a context of {context:,}"
    return (
        FootprintVerdict(count, number, _OF_TOOLS[count]),
        FootprintVerdict(weight, size, _OF_SHARE[weight]),
    )


def too_many(tools: int, tokens: int, context: int, thresholds: Thresholds) -> str:
    """A message about an agent's tools that exceed the thresholds; empty if they do not."""
    few = thresholds.get("tools", _TOOLS)[2]
    if tools <= few and tokens <= context * thresholds.get("share", _SHARE)[1]:
        return ""
    return "; ".join(
        f"{each.what}: {each.advice}"
        for each in verdicts(tools, tokens, context, thresholds)
        if each.level == "over"
    )
