"""How a tool's function is called: its arguments, its context, and whether it is awaited."""

import builtins
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Generic, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, field
from typing_extensions import TypeVar

from rightcall.core.jsontext import JsonObject, shorten
from rightcall.core.options import NameCheckedMeta
from rightcall.core.parts import Usage
from rightcall.errors import UsageError


class CallProgress(Struct, frozen=True, gc=False, tag=True):
    """A running call reports its progress: how much is done, of how much, with a text."""

    call_id: str
    done: float
    total: float | None = None
    text: str = ""


D = TypeVar("D", default=Any)


def ignore(_: object) -> None:
    """Accept a value and do nothing."""


class Context(Struct, Generic[D], frozen=True, kw_only=True, eq=False):
    """Annotate a parameter with it, and the runtime fills it in; the model never sees it.

    ``Context[Database]`` says what ``dependencies`` holds.
    """

    call_id: str
    tool: str
    attempt: int = 1
    """1 for the first attempt, more after a retryable failure."""
    key: str = ""
    """The same for every attempt at this call; use it as an idempotency key."""
    run: str = ""
    """The run's name; empty outside of runs."""
    dependencies: D
    """What the caller passed for tools to share: a client, a database, the current user."""
    dry_run: bool = False
    """True in a dry run: the tool must change nothing, and should say what it would do."""
    is_cancelled: Callable[[], bool] = bool
    """True once the call was cancelled. A function in a thread cannot be interrupted; one that loops
    should check this."""
    spend: Callable[[Usage], None] = ignore
    """Report what this call spends on models, so that the run's budget counts it."""
    tell: Callable[[CallProgress], None] = ignore
    """Receives what ``progress`` reports."""

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Report progress: how much is done, of how much, with a text. Works from any thread."""
        if type(done) is not float or total is not None or text:
            _check_progress(done, total, text)
        self.tell(CallProgress(self.call_id, done, total, text))


def _check_progress(done: object, total: object, text: object) -> None:
    for name, value in (("done", done), ("total", total)):
        is_left_out = value is None and name == "total"
        if not is_left_out and not isinstance(value, Real):
            raise UsageError(
                f"context.progress: {name} is a number, and not {shorten(repr(value))[1:-1]}; "
                'words go into text, as in context.progress(1, 2, "half")'
            )
    if not isinstance(text, str):
        raise UsageError(f"context.progress: text is words, and not {type(text).__name__}")


Parameters = dict[str, inspect.Parameter]


class HandlerMisuse(UsageError):
    """A handler finds that the developer declared it wrongly. It ends the run: no model can mend it."""


class Handler(Struct, frozen=True, kw_only=True, eq=False):
    """A function, ready to be called with bound arguments."""

    function: Callable[..., Any]
    is_async: bool
    context: str | None = None
    """The name of the parameter that takes the Context."""
    needs: str = ""
    """The type of the dependencies that the Context must have; empty if it may have none."""
    positional: tuple[str, ...] = ()
    """Parameters that Python accepts only by position."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The defaults of those: if one is left out, the next must not shift into its place."""

    def call(self, bound: Mapping[str, Any], context: Context[Any] | None) -> Any:
        """Call the function; the caller awaits the result of an async one.

        ``context`` may be None for a handler that takes none.
        """
        if self.context is None and not self.positional:
            return self.function(**bound)
        arguments = {**self.defaults, **bound}
        if self.context is not None:
            arguments[self.context] = context
        first = [arguments.pop(name) for name in self.positional if name in arguments]
        return self.function(*first, **arguments)


def inspect_handler(
    function: Callable[..., Any], namespace: Mapping[str, Any] | None = None
) -> tuple[Handler, Parameters]:
    """Returns the handler for a function, and the parameters that the model must fill.

    Annotations are resolved in ``namespace`` and the function's module, and stay strings if they cannot
    be. Raises ValueError or TypeError if Python cannot tell the signature.
    """
    parameters = dict(inspect.signature(function).parameters)
    if isinstance(function, partial):
        # The model must neither see nor change arguments that the developer has bound.
        for name in function.keywords:
            parameters.pop(name, None)
    hints = _resolve_hints(function, namespace or {})
    context = None
    needs = ""
    positional = []
    defaults = {}
    for name, parameter in parameters.items():
        resolved = parameter.replace(annotation=hints.get(name, parameter.annotation))
        parameters[name] = resolved
        several = resolved.kind in {resolved.VAR_POSITIONAL, resolved.VAR_KEYWORD}
        if context is None and not several and is_context(resolved.annotation):
            context = name
            needs = needed_dependencies(resolved.annotation)
        if resolved.kind is resolved.POSITIONAL_ONLY:
            positional.append(name)
            if resolved.default is not resolved.empty:
                defaults[name] = resolved.default
    if context is not None:
        del parameters[context]
    handler = Handler(
        function=function,
        is_async=inspect.iscoroutinefunction(unwrap(function)),
        context=context,
        needs=needs,
        positional=tuple(positional),
        defaults=defaults,
    )
    return handler, parameters


def _resolve_hints(function: Callable[..., Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve the annotations of a callable one by one; one that cannot be resolved stays a string."""
    target = inspect.unwrap(unwrap(function))
    around = getattr(target, "__globals__", {})
    hints = {}
    for name, hint in getattr(target, "__annotations__", {}).items():
        named = hint
        if isinstance(hint, str) and hint.isidentifier():
            named = namespace.get(hint, around.get(hint, vars(builtins).get(hint)))
        if isinstance(named, type):
            # Most annotations are a class or its name, and ``get_type_hints`` compiles each anew.
            hints[name] = named
            continue
        alone = SimpleNamespace(__annotations__={name: hint})
        try:
            hints.update(get_type_hints(alone, around, dict(namespace), include_extras=True))
        except (NameError, TypeError, SyntaxError, AttributeError):
            hints[name] = hint
    return hints


def unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the plain function behind a partial, a bound method or a callable object."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def is_context(annotation: object) -> bool:
    """Whether an annotation is the Context, or ``Context | None``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_context(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return any(map(is_context, get_args(annotation)))
    return annotation is Context or origin is Context


def needed_dependencies(annotation: Any) -> str:
    """Returns the type that ``Context[…]`` names for dependencies; empty if None would do."""
    origin = get_origin(annotation)
    inner = get_args(annotation)
    if origin is Annotated:
        return needed_dependencies(inner[0])
    if origin in {Union, UnionType}:
        return next(filter(None, map(needed_dependencies, inner)), "")
    if origin is not Context:
        return ""
    (kind,) = inner
    is_optional = get_origin(kind) in {Union, UnionType} and type(None) in get_args(kind)
    if is_optional or kind in (Any, object, type(None)) or isinstance(kind, TypeVar):
        return ""
    return getattr(kind, "__name__", str(kind))


class Later(Struct, frozen=True, gc=False, metaclass=NameCheckedMeta):
    """What a tool returns that has begun something whose answer comes later, from outside.

    The run pauses until it is answered, days later and in another process if need be: with ``rc.Answer``
    by ``agent.resume``, or by ``app.answer`` of a durable app.
    """

    handle: str
    """What it is called where it was begun: the number of a ticket, an order, a job."""
    meanwhile: str = ""
    """What the model reads instead of an answer. If given, the run goes on and waits for nothing."""

    def __post_init__(self) -> None:
        handle: object = self.handle
        if not isinstance(handle, str) or not handle:
            raise UsageError(f"rc.Later: a handle is a text, and not {handle!r}")


class FoundTools(Struct, frozen=True, gc=False):
    """What some of our tools return: text, whose it is, and what the model is offered from then on."""

    text: str
    names: tuple[str, ...] = ()
    source: str | None = None
    """Who wrote the text, if it was not the developer."""
    vendor: Mapping[str, JsonObject] = {}
    """By dialect: what the result holds instead of the text, so that a vendor loads the tools."""
