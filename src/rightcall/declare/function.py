"""Functions, methods, callables and pydantic models into tools, with what their docstrings say of them.

Docstrings are read in the styles of Google, NumPy and reST, mixed if need be. Sections about parameters,
results and exceptions are taken out of the description; everything else (notes, examples) stays in it.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FrameType, MethodType
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel

from rightcall.core.handler import Handler, Parameters, inspect_handler, unwrap
from rightcall.core.jsontext import JsonObject
from rightcall.core.tool import Effect, Facts, Limits, Tool
from rightcall.declare.definition import is_definition, tool_defined
from rightcall.declare.signature import describe_model, describe_parameters
from rightcall.errors import DeclarationError

P = ParamSpec("P")
R = TypeVar("R")


class ToolOptions(TypedDict, total=False):
    """What ``@tool`` takes; ``Tool`` documents each."""

    name: str
    description: str
    short: str
    examples: Sequence[JsonObject]
    questions: Sequence[str]
    effect: Effect
    approval: bool
    serial: bool
    repair: bool
    strict: bool | None
    limits: Limits
    facts: Facts


class FunctionTool(Tool, Generic[P, R], frozen=True, eq=False, dict=True, weakref=True):
    """A tool made from a function, which can still be called as one."""

    unbound: bool = False
    """It was declared on a class and waits for an instance: ``instance.method`` is the tool to use."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, past the gate."""
        assert self.handler is not None
        result: R = self.handler(*args, **kwargs)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> "FunctionTool[..., R]":
        if not self.unbound or (instance is None and not isinstance(self.handler, classmethod)):
            return self
        assert self.handler is not None
        return self._with_handler(self.handler.__get__(instance, owner))

    def bound_to(self, first: object) -> "FunctionTool[..., R]":
        """The tool with its first parameter filled in."""
        assert self.handler is not None
        return self._with_handler(MethodType(self.handler, first))

    def _with_handler(self, bound: Callable[..., Any]) -> "FunctionTool[..., R]":
        assert self.calling is not None
        return replace(self, handler=bound, calling=replace(self.calling, function=bound), unbound=False)

    @property
    def __wrapped__(self) -> Callable[P, R] | None:
        return self.handler

    @property
    def __name__(self) -> str:
        return self.name


@overload
def tool(  # type: ignore[overload-overlap]
    target: type[BaseModel], /, **options: Unpack[ToolOptions]
) -> Tool: ...
@overload
def tool(
    target: Mapping[str, Any],
    /,
    *,
    handler: Callable[..., Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool: ...
@overload
def tool(target: Callable[P, R], /, **options: Unpack[ToolOptions]) -> FunctionTool[P, R]: ...
@overload
def tool(
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    target: Any = None,
    /,
    *,
    handler: Callable[..., Any] | None = None,
    **options: Unpack[ToolOptions],
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


def _names_around(frame: FrameType | None) -> dict[str, Any]:
    """The local names that annotations may use; around a class body, those of its function, too."""
    names: dict[str, Any] = {}
    while frame is not None:
        names = {**frame.f_locals, **names}
        frame = frame.f_back if "__qualname__" in frame.f_locals else None
    return names


def _declare(target: Any, *, namespace: Mapping[str, Any], options: ToolOptions) -> Tool:
    if isinstance(target, MethodType) and isinstance(target.__func__, FunctionTool):
        # @classmethod over @tool: from Python 3.13 on, what is taken from the class is such a method.
        target = target.__func__.bound_to(target.__self__)
    if isinstance(target, Tool):
        return target.replace(**options)
    if isinstance(target, partial) and isinstance(target.func, FunctionTool):
        return _from_partial(target.func, target, namespace, options)
    if inspect.isclass(target) and issubclass(target, BaseModel):
        return _from_model(target, options)
    if not callable(target) and not isinstance(target, classmethod):
        raise DeclarationError(
            options.get("name", type(target).__name__),
            f"{type(target).__name__} is not a function, a callable or a pydantic model.",
        )
    return _from_function(target, namespace, options)


def _from_model(model: type[BaseModel], options: ToolOptions) -> Tool:
    settings: dict[str, Any] = dict(options)
    name = settings.pop("name", model.__name__)
    own_words = inspect.cleandoc(model.__doc__) if model.__doc__ else ""
    described = describe_model(name, model)
    return Tool(
        name,
        settings.pop("description", own_words),
        described.parameters,
        validator=described.validator,
        **{"effect": "pure", **settings},
    )


def _from_partial(
    base: FunctionTool[..., Any], bound: partial[Any], namespace: Mapping[str, Any], options: ToolOptions
) -> FunctionTool[..., Any]:
    """A tool with some of its parameters filled in. Examples name those, too, so they are not kept."""
    assert base.handler is not None
    filled = inspect.signature(base.handler).bind_partial(*bound.args, **bound.keywords).arguments
    facts = base.facts
    left = {
        role: names and tuple(name for name in names if name not in filled)
        for role, names in (("targets", facts.targets), ("content", facts.content))
    }
    kept = ToolOptions(
        name=base.name,
        description=base.description,
        short=base.short,
        effect=base.effect,
        approval=base.approval,
        serial=base.serial,
        repair=base.repair,
        strict=base.strict,
        limits=base.limits,
        facts=replace(facts, **left),
    )
    function = partial(base.handler, *bound.args, **bound.keywords)
    return _from_function(function, namespace, {**kept, **options})


def _from_function(
    target: Any, namespace: Mapping[str, Any], options: ToolOptions
) -> FunctionTool[..., Any]:
    settings: dict[str, Any] = dict(options)
    function: Any = target.__func__ if isinstance(target, classmethod | staticmethod) else target
    handler: Any = target if isinstance(target, classmethod) else function
    name = settings.pop("name", None) or _name_of(function)
    _refuse_generator(name, function)
    calling, parameters = _inspect(name, function, namespace)
    unbound = _waits_for_instance(parameters)
    if unbound:
        first = next(iter(parameters))
        del parameters[first]
        calling = replace(calling, positional=tuple(n for n in calling.positional if n != first))
    words = parse_docstring(_docstring_of(function))
    described = describe_parameters(name, parameters, words.parameters)
    return FunctionTool(
        name,
        settings.pop("description", words.description),
        described.parameters,
        handler,
        validator=described.validator,
        calling=calling,
        unbound=unbound,
        **settings,
    )


def _inspect(
    name: str, function: Callable[..., Any], namespace: Mapping[str, Any]
) -> tuple[Handler, Parameters]:
    try:
        return inspect_handler(function, namespace)
    except (TypeError, ValueError) as error:
        raise DeclarationError(
            name,
            "Python cannot tell its signature.",
            fix="Wrap it in a function with annotated parameters, or use rc.Tool with a schema.",
        ) from error


def _waits_for_instance(parameters: Parameters) -> bool:
    """Whether the function is a method that was declared in its class body."""
    first = next(iter(parameters.values()), None)
    return first is not None and first.annotation is first.empty and first.name in {"self", "cls"}


def _refuse_generator(name: str, function: Callable[..., Any]) -> None:
    plain = unwrap(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise DeclarationError(
            name, "it is a generator, and a tool returns one value.", fix="Return a list."
        )


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def _docstring_of(function: Any) -> str | None:
    plain = unwrap(function)
    if plain.__doc__ or inspect.isroutine(function) or isinstance(function, partial):
        return plain.__doc__
    return type(function).__doc__


_PARAMETERS = r"(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)"
_DROPPED = r"(?:Returns?|Yields?|Raises|Warns|Attributes)"
_GOOGLE = re.compile(rf"(?P<header>(?P<parameters>{_PARAMETERS})|{_DROPPED}):\s*")
_NUMPY = re.compile(rf"(?P<header>(?P<parameters>{_PARAMETERS})|{_DROPPED})\s*")
_NUMPY_ANY = re.compile(r"[A-Z][A-Za-z ]*")
_RULE = re.compile(r"-{3,}\s*")
_FIELD = re.compile(
    r":(?:(?P<parameters>param|parameter|arg|argument|key|keyword)"
    r"|type|return|returns|rtype|yield|yields|raise|raises|except|exception)"
    r"(?P<rest>(?:\s[^:]*)?):\s*(?P<text>.*)"
)
_GOOGLE_ITEM = re.compile(
    r"\*{0,2}(?P<names>\w+)\s*(?:\([^)]*(?:\([^)]*\)[^)]*)*\))?\s*:\s*(?P<text>.*)"
)
_NUMPY_ITEM = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")


class Docstring(Struct, frozen=True):
    """What a docstring says."""

    description: str
    parameters: dict[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Read a docstring; none at all is an empty one."""
    lines = inspect.cleandoc(text or "").splitlines()
    kept: list[str] = []
    parameters: dict[str, str] = {}
    position = 0
    while position < len(lines):
        line = lines[position]
        if header := _GOOGLE.fullmatch(line):
            block, position = _indented(lines, position + 1)
            items = _items(block, _GOOGLE_ITEM)
        elif (header := _NUMPY.fullmatch(line)) and _is_rule(lines, position + 1):
            block, position = _ruled(lines, position + 2)
            items = _items(block, _NUMPY_ITEM)
        elif header := _FIELD.fullmatch(line):
            block, position = _indented(lines, position + 1)
            items = _field(header, block)
        else:
            kept.append(line)
            position += 1
            continue
        if header["parameters"]:
            parameters.update(items)
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters)


def _is_rule(lines: list[str], position: int) -> bool:
    return position < len(lines) and _RULE.fullmatch(lines[position]) is not None


def _indented(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from ``start`` that are blank or indented, and where they end."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end][0].isspace()):
        end += 1
    return lines[start:end], end


def _ruled(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines from ``start`` up to the next underlined header or another style, and where they end."""
    end = start
    while end < len(lines) and not (
        (_NUMPY_ANY.fullmatch(lines[end].rstrip()) and _is_rule(lines, end + 1))
        or _GOOGLE.fullmatch(lines[end])
        or _FIELD.fullmatch(lines[end])
    ):
        end += 1
    return lines[start:end], end


def _items(block: list[str], item: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The items of a section: each begins at the section's own indent, what is deeper continues it."""
    block = inspect.cleandoc("\n" + "\n".join(block)).splitlines()
    names: list[str] = []
    text: list[str] = []
    for line in block:
        if line[:1].strip() and (match := item.fullmatch(line)):
            yield from _described(names, text)
            names = re.findall(r"\w+", match["names"])
            text = [match.groupdict().get("text") or ""]
        else:
            text.append(line)
    yield from _described(names, text)


def _field(header: re.Match[str], block: list[str]) -> Iterator[tuple[str, str]]:
    if words := header["rest"].split():
        yield from _described([words[-1].lstrip("*")], [header["text"], *block])


def _described(names: list[str], text: list[str]) -> Iterator[tuple[str, str]]:
    description = " ".join(line.strip() for line in text if line.strip())
    if description:
        yield from ((name, description) for name in names)
