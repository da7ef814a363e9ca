"""Makes tools from functions, methods, callables and pydantic models."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Unpack, overload
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import TypeVar

from rightcall.core.facts import Effect, Facts
from rightcall.core.handler import Context, Handler, Parameters, ignore, inspect_handler, unwrap
from rightcall.core.jsontext import JsonObject
from rightcall.core.lazy import pattern
from rightcall.core.limits import LIMITS, LimitOptions, Limits
from rightcall.core.options import KnownOptions, annotations_of, show_options
from rightcall.core.problem import Description
from rightcall.core.tool import ErrorWords, InputForm, Needs_contra, Tool, check_options, worded_limits
from rightcall.declare.definition import is_definition, tool_defined
from rightcall.declare.plain import describe_model, describe_parameters, is_model
from rightcall.errors import DeclarationError

if TYPE_CHECKING:
    from pydantic import BaseModel


_PARAMETERS = r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)"
_DROPPED = r"(?:Returns?|Yields?|Raises|Warns|Attributes)"
_GOOGLE = pattern(rf"(?P<header>(?P<parameters>{_PARAMETERS})|{_DROPPED}):\s*")
_NUMPY = pattern(rf"(?P<header>(?P<parameters>{_PARAMETERS})|{_DROPPED})\s*")
_NUMPY_ANY = pattern(r"[A-Z][A-Za-z ]*")
_RULE = pattern(r"-{3,}\s*")
_FIELD = pattern(
    r":(?:(?P<parameters>param|parameter|arg|argument|key|keyword)"
    r"|type|return|returns|rtype|yield|yields|raise|raises|except|exception)"
    r"(?P<rest>(?:\s[^:]*)?):\s*(?P<text>.*)"
)
_GOOGLE_ITEM = pattern(r"\*{0,2}(?P<names>\w+)\s*(?:\([^)]*(?:\([^)]*\)[^)]*)*\))?\s*:\s*(?P<text>.*)")
_NUMPY_ITEM = pattern(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")


class Docstring(Struct, frozen=True):
    """A parsed docstring."""

    description: str
    parameters: dict[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Parse a docstring in the styles of Google, NumPy and reST, mixed if need be; None is an empty one.

    Sections about parameters, results and exceptions are taken out of the description; everything else
    (notes, examples) stays in it.
    """
    lines = inspect.cleandoc(text or "").splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    position = 0
    while position < len(lines):
        line = lines[position]
        if header := _GOOGLE.fullmatch(line):
            block, position = _indented_block(lines, position + 1)
            items = _items(block, _GOOGLE_ITEM)
        elif (header := _NUMPY.fullmatch(line)) and _is_rule(lines, position + 1):
            block, position = _section_block(lines, position + 2)
            items = _items(block, _NUMPY_ITEM)
        elif header := _FIELD.fullmatch(line):
            block, position = _indented_block(lines, position + 1)
            names = [word.lstrip("*") for word in header["rest"].split()[-1:]]
            items = [(names, [header["text"], *block])]
        else:
            description.append(line)
            position += 1
            continue
        if header["parameters"]:
            for names, text_lines in items:
                if words := " ".join(filter(None, map(str.strip, text_lines))):
                    parameters.update(dict.fromkeys(names, words))
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(description)).strip(), parameters)


def _is_rule(lines: list[str], position: int) -> bool:
    return position < len(lines) and _RULE.fullmatch(lines[position]) is not None


def _indented_block(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from ``start`` that are blank or indented, and where they end."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end][0].isspace()):
        end += 1
    return lines[start:end], end


def _section_block(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from ``start`` up to the next underlined header or another style, and where they end."""
    end = start
    while end < len(lines) and not (
        (_NUMPY_ANY.fullmatch(lines[end].rstrip()) and _is_rule(lines, end + 1))
        or _GOOGLE.fullmatch(lines[end])
        or _FIELD.fullmatch(lines[end])
    ):
        end += 1
    return lines[start:end], end


def _items(block: list[str], item: re.Pattern[str]) -> list[tuple[list[str], list[str]]]:
    """The items of a section, their names and lines: each begins at the section's own indent."""
    items: list[tuple[list[str], list[str]]] = []
    for line in inspect.cleandoc("\n" + "\n".join(block)).splitlines():
        if line[:1].strip() and (match := item.fullmatch(line)):
            text = match.groupdict().get("text") or ""
            items.append((re.findall(r"\w+", match["names"]), [text]))
        elif items:
            items[-1][1].append(line)
    return items


P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D", default=Any)


class ToolOptions(LimitOptions, total=False):
    """What ``@tool`` takes; ``Tool`` documents each, and ``Limits`` the limits."""

    name: str
    description: str
    short: str
    examples: Sequence[JsonObject]
    questions: Sequence[str]
    effect: Effect
    approval: bool
    serial: bool
    repair: bool
    dry_run: bool
    reconcile: Callable[[str], Any] | None
    errors: ErrorWords | None
    strict: bool | None
    deferred: bool
    input: InputForm
    grammar: Mapping[str, str]
    cache: bool
    limits: Limits
    facts: Facts


_KNOWN = KnownOptions("@rc.tool", annotations_of(ToolOptions))


class FunctionTool(
    Tool[Needs_contra], Generic[P, R, Needs_contra], frozen=True, eq=False, dict=True, weakref=True
):
    """A tool made from a function, which can still be called as one."""

    unbound: bool = False
    """Whether it was declared on a class and is not bound yet: use ``instance.method`` as the tool."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly, bypassing the gate."""
        assert self.handler is not None
        result: R = self.handler(*args, **kwargs)
        return result

    def __get__(
        self, instance: object, owner: type | None = None
    ) -> "FunctionTool[..., R, Needs_contra]":
        if not self.unbound or (instance is None and not isinstance(self.handler, classmethod)):
            return self
        assert self.handler is not None
        return self._with_handler(self.handler.__get__(instance, owner))

    def bound_to(self, first: object) -> "FunctionTool[..., R, Needs_contra]":
        """The tool bound to its first parameter."""
        assert self.handler is not None
        return self._with_handler(MethodType(self.handler, first))

    def _with_handler(self, bound: Callable[..., Any]) -> "FunctionTool[..., R, Needs_contra]":
        assert self.calling is not None
        calling = replace(self.calling, function=bound)
        return replace(self, handler=bound, calling=calling, unbound=False).copied_from(self)

    @property
    def __wrapped__(self) -> Callable[P, R] | None:
        return self.handler

    @property
    def __name__(self) -> str:
        return self.name


# A type checker finds the dependencies of a context among a function's first four parameters; Python's
# types cannot express one that comes later or by keyword. Then the other parameters of the tool, called
# as a function, are not checked: they cannot be told from the context's place.
class Declare(Protocol):
    """The decorator that ``@tool`` with options returns."""

    @overload
    def __call__(
        self, target: Callable[Concatenate[Context[D], P], R], /
    ) -> FunctionTool[..., R, D]: ...
    @overload
    def __call__(self, target: Callable[[Any, Context[D]], R], /) -> FunctionTool[..., R, D]: ...
    @overload
    def __call__(self, target: Callable[[Any, Any, Context[D]], R], /) -> FunctionTool[..., R, D]: ...
    @overload
    def __call__(
        self, target: Callable[[Any, Any, Any, Context[D]], R], /
    ) -> FunctionTool[..., R, D]: ...
    @overload
    def __call__(self, target: Callable[P, R], /) -> FunctionTool[P, R]: ...


# Options are typed only where functions and decorators need it: of a call that fits none, a type checker
# prints every overload with every option. A function that is given its options in the same call does not
# tell the type of its dependencies.
@overload
def tool(  # type: ignore[overload-overlap]
    target: "type[BaseModel]", /, **options: Any
) -> Tool: ...
@overload
def tool(
    target: Mapping[str, Any], /, *, handler: Callable[..., Any] | None = None, **options: Any
) -> Tool: ...
@overload
def tool(target: Callable[Concatenate[Context[D], P], R], /) -> FunctionTool[..., R, D]: ...
@overload
def tool(target: Callable[[Any, Context[D]], R], /) -> FunctionTool[..., R, D]: ...
@overload
def tool(target: Callable[[Any, Any, Context[D]], R], /) -> FunctionTool[..., R, D]: ...
@overload
def tool(target: Callable[[Any, Any, Any, Context[D]], R], /) -> FunctionTool[..., R, D]: ...
@overload
def tool(target: Callable[P, R], /, **options: Unpack[ToolOptions]) -> FunctionTool[P, R]: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Declare: ...
def tool(  # type: ignore[misc]  # Any takes less than every option
    target: Any = None, /, *, handler: Callable[..., Any] | None = None, **options: Unpack[ToolOptions]
) -> Any:
    """Declare a tool: on a function as a decorator, bare or with options, or on a pydantic model.

    The schema comes from the signature, the descriptions from the docstring and ``Field``. A model
    becomes a tool without a handler: calling it returns the instance.

    A vendor's definition of a function becomes a tool with ``handler``, which is called with the
    arguments by name. Without one somebody else runs it, and each call waits for its ``Answer``.
    """
    namespace = _names_around(sys._getframe(1))  # noqa: SLF001 - where the tool is declared
    if is_definition(target):
        return tool_defined(target, handler, **options)
    if handler is not None:
        raise DeclarationError(
            options.get("name", "tool"),
            "a handler goes with a definition, and this is none.",
            where="handler",
            fix="Declare the function itself, or write rc.Tool(name, description, schema, handler).",
        )
    if target is None:
        return partial(_declare, namespace=namespace, options=options)
    return _declare(target, namespace=namespace, options=options)


show_options(tool)


def _names_around(frame: FrameType | None) -> dict[str, Any]:
    """The local names that annotations may use; for a class body, also those of its function."""
    names: dict[str, Any] = {}
    while frame is not None:
        names = {**frame.f_locals, **names}
        if "__qualname__" not in frame.f_locals:
            break
        frame = frame.f_back
    return names


def _declare(target: Any, *, namespace: Mapping[str, Any], options: ToolOptions) -> Tool:
    if isinstance(target, MethodType) and isinstance(target.__func__, FunctionTool):
        # @classmethod over @tool: from Python 3.13 on, taking it from the class gives a bound method.
        target = target.__func__.bound_to(target.__self__)
    name = options.get("name") or getattr(target, "name", "") or _name_of(target)
    check_options(name, _KNOWN, options)
    if isinstance(target, Tool):
        return target.replace(**options)
    if isinstance(target, partial) and isinstance(target.func, FunctionTool):
        return _from_partial(target.func, target, namespace, options)
    if is_model(target):
        return _from_model(target, options)
    if not callable(target) and not isinstance(target, classmethod):
        raise DeclarationError(
            options.get("name", target if isinstance(target, str) else type(target).__name__),
            f"{type(target).__name__} is not a function, a callable or a pydantic model.",
            fix=_say_what_to_give(target),
        )
    return _from_function(target, namespace, options)


def _say_what_to_give(target: object) -> str:
    """What to write instead of something that cannot be a tool."""
    if hasattr(target, "as_tool"):
        return "An agent becomes a tool by as_tool()."
    if isinstance(target, str):
        if target.startswith(("http://", "https://")):
            return "The tools of an MCP server come from rc.mcp.connect(…)."
        if " " in target:
            return f"Words about a tool are its docstring, or @rc.tool(description={target!r})."
        return f"Give the function itself, not its name; another name is @rc.tool(name={target!r})."
    if isinstance(target, ModuleType):
        return "Give its functions."
    if type(target).__module__ == "builtins":
        return "Give the function itself, not what it returned: get_weather, without parentheses."
    return "Give its methods, as instance.method, or define __call__."


def _from_model(model: "type[BaseModel]", options: ToolOptions) -> Tool:
    settings = worded_limits(model.__name__, options)
    name = settings.pop("name", model.__name__)
    described = describe_model(name, model)
    return Tool(
        name,
        settings.pop("description", inspect.cleandoc(model.__doc__ or "")),
        described.parameters,
        validator=described.validator,
        **{"effect": "pure", **settings},
    )


def _from_partial(
    base: FunctionTool[..., Any], bound: partial[Any], namespace: Mapping[str, Any], options: ToolOptions
) -> FunctionTool[..., Any]:
    """A tool with some parameters bound."""
    assert base.handler is not None
    filled = inspect.signature(base.handler).bind_partial(*bound.args, **bound.keywords).arguments
    roles: dict[str, Any] = {}
    if base.facts.targets:
        roles["targets"] = tuple(name for name in base.facts.targets if name not in filled)
    # Examples name the bound parameters, too, so they are left out.
    left_out = {*LIMITS, "examples", "questions"}
    inherited = {each: getattr(base, each) for each in _KNOWN.kinds if each not in left_out}
    inherited["facts"] = replace(base.facts, **roles)
    function = partial(base.handler, *bound.args, **bound.keywords)
    settings = {**inherited, **worded_limits(base.name, options, base.limits)}
    return _from_function(function, namespace, settings).copied_from(base)  # type: ignore[arg-type]


def _from_function(
    target: Any, namespace: Mapping[str, Any], options: ToolOptions
) -> FunctionTool[..., Any]:
    settings: dict[str, Any] = dict(options)
    function = target
    handler = target
    if isinstance(target, classmethod | staticmethod):
        function = target.__func__
    if isinstance(target, staticmethod):
        handler = function
    name = settings.pop("name", None) or _name_of(function)
    settings = worded_limits(name, settings)
    plain = unwrap(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise DeclarationError(
            name, "it is a generator, and a tool returns one value.", fix="Return a list."
        )
    declared = _declaration_of(name, function, namespace)
    return FunctionTool(
        name,
        settings.pop("description", declared.text),
        declared.described.parameters,
        handler,
        validator=declared.described.validator,
        calling=replace(declared.calling, function=function),
        unbound=declared.unbound,
        **settings,
    )


class _Declaration(Struct, frozen=True, kw_only=True, eq=False):
    """What a function says of itself."""

    calling: Handler
    """How it is called. It lacks the function itself, which would otherwise never be forgotten."""
    text: str
    described: Description
    unbound: bool
    annotations: Mapping[str, Any]
    """The resolved annotations of the parameters that a model fills."""
    written: Mapping[str, Any]
    """All annotations as they stand there."""
    read_from: tuple[object, ...]
    """What else it was read from."""


_DECLARED: WeakKeyDictionary[CodeType, _Declaration] = WeakKeyDictionary()
"""The code of functions whose declarations were read. Services make an agent of the same functions for
every request, or of functions within one, whose code is the same; and reading a declaration takes longer
than the rest of making the agent."""


def _declaration_of(name: str, function: Any, namespace: Mapping[str, Any]) -> _Declaration:
    known = None
    read_from: tuple[object, ...] = ()
    # Anything else, or with attributes such as ``__wrapped__``, says elsewhere what it is.
    is_plain = type(function) is FunctionType and not function.__dict__
    if is_plain:
        read_from = (name, function.__doc__, function.__defaults__, function.__kwdefaults__)
        known = _DECLARED.get(function.__code__)
        if known is not None and not all(map(is_, known.read_from, read_from)):
            known = None
        unquoted = known is not None and known.annotations.items() <= known.written.items()
        if known is not None and unquoted and known.written == function.__annotations__:
            return known
    try:
        calling, parameters = inspect_handler(function, namespace)
    except (TypeError, ValueError) as error:
        raise DeclarationError(
            name,
            "Python cannot tell its signature.",
            fix="Wrap it in a function with annotated parameters, or use rc.Tool with a schema.",
        ) from error
    # Annotations in quotes are resolved anew each time: they may mean something else by now.
    annotations = {each.name: each.annotation for each in parameters.values()}
    if known is not None and known.annotations == annotations:
        return known
    declared = _describe(name, function, calling, parameters, read_from)
    if is_plain:
        _DECLARED[function.__code__] = declared
    return declared


def _describe(
    name: str, function: Any, calling: Handler, parameters: Parameters, read_from: tuple[object, ...]
) -> _Declaration:
    # A method that is declared in its class body waits for its instance.
    first = next(iter(parameters.values()), None)
    unbound = first is not None and first.annotation is first.empty and first.name in {"self", "cls"}
    if first is not None and unbound:
        del parameters[first.name]
        positional = tuple(each for each in calling.positional if each != first.name)
        calling = replace(calling, positional=positional)
    docstring = unwrap(function).__doc__
    if not docstring and not inspect.isroutine(function) and not isinstance(function, partial):
        # A callable object: its class says what it is.
        docstring = type(function).__doc__
    words = parse_docstring(docstring)
    described = describe_parameters(name, parameters, words.parameters)
    return _Declaration(
        calling=replace(calling, function=ignore),
        text=words.description,
        described=described,
        unbound=unbound,
        annotations={each.name: each.annotation for each in parameters.values()},
        written=dict(getattr(function, "__annotations__", ())),
        read_from=read_from,
    )


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    name: str = getattr(function, "__name__", type(function).__name__)
    return name
