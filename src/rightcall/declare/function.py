"""Makes tools from functions, methods, callables and pydantic models."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Unpack, overload

from msgspec.structs import replace
from typing_extensions import TypeVar

from rightcall.core.facts import Effect, Facts
from rightcall.core.handler import Context, Handler, Parameters, inspect_handler, unwrap
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import LimitOptions, Limits
from rightcall.core.options import Known, annotations_of, show_options
from rightcall.core.tool import (
    ErrorWords,
    InputForm,
    Needs_contra,
    Tool,
    check_options,
    worded_limits,
)
from rightcall.declare.definition import is_definition, tool_defined
from rightcall.declare.docstring import parse_docstring
from rightcall.declare.parameters import describe_model, describe_parameters, is_model
from rightcall.errors import DeclarationError

if TYPE_CHECKING:
    from pydantic import BaseModel

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


_KNOWN = Known("@rc.tool", annotations_of(ToolOptions))


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


@overload
def tool(  # type: ignore[overload-overlap]
    target: "type[BaseModel]", /, **options: Unpack[ToolOptions]
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
def tool(
    target: Callable[Concatenate[Context[D], P], R], /, **options: Unpack[ToolOptions]
) -> FunctionTool[..., R, D]: ...
@overload
def tool(
    target: Callable[[Any, Context[D]], R], /, **options: Unpack[ToolOptions]
) -> FunctionTool[..., R, D]: ...
@overload
def tool(
    target: Callable[[Any, Any, Context[D]], R], /, **options: Unpack[ToolOptions]
) -> FunctionTool[..., R, D]: ...
@overload
def tool(
    target: Callable[[Any, Any, Any, Context[D]], R], /, **options: Unpack[ToolOptions]
) -> FunctionTool[..., R, D]: ...
@overload
def tool(target: Callable[P, R], /, **options: Unpack[ToolOptions]) -> FunctionTool[P, R]: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Declare: ...
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


show_options(tool)


def _names_around(frame: FrameType | None) -> dict[str, Any]:
    """The local names that annotations may use; for a class body, also those of its function."""
    names: dict[str, Any] = {}
    while frame is not None:
        names = {**frame.f_locals, **names}
        frame = frame.f_back if "__qualname__" in frame.f_locals else None
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
        hint = " An agent becomes a tool by as_tool()." if hasattr(target, "as_tool") else ""
        raise DeclarationError(
            options.get("name", type(target).__name__),
            f"{type(target).__name__} is not a function, a callable or a pydantic model.{hint}",
        )
    return _from_function(target, namespace, options)


def _from_model(model: "type[BaseModel]", options: ToolOptions) -> Tool:
    settings = worded_limits(model.__name__, options)
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
    """A tool with some parameters bound. Examples name those parameters, too, so they are dropped."""
    assert base.handler is not None
    filled = inspect.signature(base.handler).bind_partial(*bound.args, **bound.keywords).arguments
    facts = base.facts
    left: dict[str, Any] = {
        role: names and tuple(name for name in names if name not in filled)
        for role in ("targets", "content", "sources", "bounded")
        for names in (getattr(facts, role),)
    }
    if facts.widens is not None:
        left["widens"] = {name: each for name, each in facts.widens.items() if name not in filled}
    kept = ToolOptions(
        name=base.name,
        description=base.description,
        short=base.short,
        effect=base.effect,
        approval=base.approval,
        serial=base.serial,
        repair=base.repair,
        dry_run=base.dry_run,
        reconcile=base.reconcile,
        errors=base.errors,
        strict=base.strict,
        deferred=base.deferred,
        input=base.input,
        grammar=base.grammar,
        cache=base.cache,
        limits=base.limits,
        facts=replace(facts, **left),
    )
    function = partial(base.handler, *bound.args, **bound.keywords)
    settings = {**kept, **worded_limits(base.name, options, base.limits)}
    return _from_function(function, namespace, settings).copied_from(base)  # type: ignore[arg-type]


def _from_function(
    target: Any, namespace: Mapping[str, Any], options: ToolOptions
) -> FunctionTool[..., Any]:
    settings: dict[str, Any] = dict(options)
    function: Any = target.__func__ if isinstance(target, classmethod | staticmethod) else target
    handler: Any = target if isinstance(target, classmethod) else function
    name = settings.pop("name", None) or _name_of(function)
    settings = worded_limits(name, settings)
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
