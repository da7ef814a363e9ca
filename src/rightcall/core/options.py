"""Checks keywords and options against the annotations of a function, a typed dict or a struct.

A misspelt ``budget`` would silently remove a limit. So every name that a developer writes is looked up
in the annotations of the thing that takes it, and so is the type of its value. An unknown name is
refused with the nearest known one, or with our name for another library's option.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

from msgspec import StructMeta

from rightcall.core.jsontext import shorten
from rightcall.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

_TURNS = "budget=rc.Budget(turns=…)"
_INSTRUCTIONS = "instructions=… of rc.Agent"
_OUTPUT = "output=… of rc.Agent"
_OPTIONS = "options={{{!r}: …}} of rc.Agent"
_CONNECT = "rc.Agent(rc.connect(name, {}=…))"
_OF_A_BUDGET = ("turns", "calls", "seconds", "tokens", "cost")
"""Words so common that they mean a budget only where one can be given."""
_RETRY = "retries=… of a tool, and retry=rc.Retry(attempts=…) of rc.connect"

_ELSEWHERE = {
    **dict.fromkeys(
        ["deps", "context", "dependency", "context_variables"], "dependencies=… of agent.run"
    ),
    **dict.fromkeys(["max_turns", "max_steps", "max_iterations", "max_iter", "recursion_limit"], _TURNS),
    **{name: f"budget=rc.Budget({name}=…)" for name in _OF_A_BUDGET},
    **dict.fromkeys(["usage_limits", "limits_per_run", "max_budget"], "budget=rc.Budget(…)"),
    **dict.fromkeys(["max_cost", "dollars", "usd"], "budget=rc.Budget(cost=…)"),
    **dict.fromkeys(["system_prompt", "system", "system_message", "prompt_template"], _INSTRUCTIONS),
    **dict.fromkeys(["response_model", "output_type", "result_type", "output_schema"], _OUTPUT),
    **dict.fromkeys(["response_format", "response_schema", "text_format"], _OUTPUT),
    **dict.fromkeys(["message_history", "messages", "chat_history"], "history=… of agent.run"),
    "tool_choice": "choice=… of agent.run",
    **dict.fromkeys(["functions", "toolsets", "toolkits", "mcp_servers"], "tools=… of rc.Agent"),
    **dict.fromkeys(["model_settings", "model_kwargs", "settings"], "options={…} of rc.Agent"),
    **dict.fromkeys(["max_output_tokens", "max_completion_tokens"], "max_tokens=… of rc.Agent"),
    "parallel_tool_calls": _OPTIONS.format("parallel"),
    **dict.fromkeys(["reasoning_effort", "thinking", "thinking_budget"], _OPTIONS.format("reasoning")),
    "stop_sequences": _OPTIONS.format("stop"),
    "topP": _OPTIONS.format("top_p"),
    "top_logprobs": _OPTIONS.format("logprobs"),
    "prompt_cache_key": _OPTIONS.format("cache_key"),
    **dict.fromkeys(["prompt_cache_retention", "prompt_cache_ttl"], _OPTIONS.format("cache_ttl")),
    "eager_input_streaming": _OPTIONS.format("eager"),
    **{name: _CONNECT.format(name) for name in ("api_key", "base_url", "headers", "keep_raw")},
    **dict.fromkeys(["callbacks", "event_handler", "tracing"], "observers=[…] of rc.Agent"),
    **dict.fromkeys(["checkpointer", "store"], "journal=… of rc.Agent"),
    **dict.fromkeys(
        ["session", "session_id", "thread_id", "run_id"], "run=… of agent.run, with a journal"
    ),
    **dict.fromkeys(
        ["needs_approval", "require_approval", "requires_approval"], "approval=True of a tool"
    ),
    **dict.fromkeys(["retries", "max_retries", "num_retries", "tries"], _RETRY),
    **dict.fromkeys(
        ["args_schema", "input_schema", "inputSchema"], "rc.Tool(name, description, schema)"
    ),
    **dict.fromkeys(["readOnlyHint", "read_only"], 'effect="read" of a tool'),
    "idempotentHint": 'effect="idempotent" of a tool',
    **dict.fromkeys(["stream", "event_stream_handler"], "agent.stream(…)"),
    **dict.fromkeys(
        ["instrument", "instrumentation"], "observers=[rc.observe.OpenTelemetry()] of rc.Agent"
    ),
    **dict.fromkeys(
        ["middleware", "capabilities", "guardrails", "input_guardrails", "output_guardrails"],
        "hooks=rc.Hooks(…) of rc.Agent",
    ),
    "handoffs": "tools=[other.as_tool()] of rc.Agent",
    **dict.fromkeys(["fallbacks", "fallback_models"], "rc.Agent([first, second])"),
    "deferred_tool_results": "agent.resume(paused, {call_id: True})",
    **dict.fromkeys(["deps_type", "context_schema"], "rc.Agent[Deps, Output](…), for type checkers"),
    "name_override": "name=… of a tool",
    "description_override": "description=… of a tool",
}
"""Other libraries' names, and what they are called here."""

_HINTS = {
    "choice": 'one tool is chosen by rc.Named("its_name")',
    "budget": "as in rc.Budget(turns=5)",
    "limits": "as in rc.Limits(timeout=5)",
    "rate": "so many calls in so many seconds, as in (5, 60)",
    "retry_on": "as in (ConnectionError, TimeoutError)",
    "hooks": "as in rc.Hooks(before_tool=…)",
    "window": "as in rc.Window(tokens=…)",
    "journal": 'as in rc.record.SqliteJournal("runs.db")',
    "observers": "as in [watch]",
    "history": "as in history=result.transcript; an empty one is ()",
}

_places: list["Known"] = []
"""Every place with declared options, to find where an option that is unknown here belongs."""


class Known:
    """The options that one place accepts, by name, with their types."""

    def __init__(self, place: str, kinds: Mapping[str, Any], *, say: str = "", more: str = "") -> None:
        self.place = place
        self.kinds = kinds
        """The annotation of each option."""
        self._say = say
        """How one of them is written, for a message to someone who wrote it in the wrong place."""
        self._more = more
        """Where to put options that are not listed, if there is such a place."""
        if say:
            _places.append(self)

    def check(self, given: Mapping[str, object]) -> None:
        """Raise UsageError for unknown options, and for values of the wrong type."""
        self.check_names(given)
        for name, value in given.items():
            if not fits(value, self.kinds[name]):
                raise UsageError(f"{self.place}: {misfit(name, value, self.kinds[name])}")

    def check_names(self, given: Mapping[str, object]) -> None:
        """Raise UsageError for unknown options."""
        if not given.keys() <= self.kinds.keys():
            unknown = [name for name in given if name not in self.kinds]
            raise UsageError(f"{self.place} takes no {self.unknown(unknown)}")

    def unknown(self, names: Iterable[str]) -> str:
        """Returns the message for unknown names: what each may have meant, and what there is."""
        told = [f"{shorten(name)}{self._instead(name)}" for name in names]
        more = f"; {self._more}" if self._more else ""
        return f"{', no '.join(told)}. There is: {', '.join(self.kinds)}{more}"

    def _instead(self, name: str) -> str:
        if name in _ELSEWHERE and (name not in _OF_A_BUDGET or "budget" in self.kinds):
            return f" (here it is {_ELSEWHERE[name]})"
        near = get_close_matches(name, self.kinds, n=1)
        if near:
            return f" (did you mean {near[0]!r}?)"
        place = next((each for each in _places if name in each.kinds and each is not self), None)
        return "" if place is None else f" (it belongs to {place.place}: {place._say.format(name)})"  # noqa: SLF001


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated type. Checks only the outer type, not what is inside."""
    if kind is Any or isinstance(kind, str | TypeVar):
        return True
    if kind is None:
        return value is None
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if origin is Annotated:
        return fits(value, inner[0])
    plain = origin or kind
    if plain in (int, float):
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        # 1e6 counts as an int, although it is a float in Python.
        return plain is float or isinstance(value, Integral) or float(value).is_integer()
    if plain is Callable:
        return callable(value)
    if plain is type:
        # A class of errors, for example; whoever takes it checks the rest.
        return isinstance(value, type)
    if plain is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return _is_one(value, plain)


def _is_one(value: object, kind: Any) -> bool:
    if is_typeddict(kind):
        return isinstance(value, Mapping)
    if getattr(kind, "_is_protocol", False):
        members = [name for name in vars(kind) if name == "__call__" or not name.startswith("_")]
        return all(hasattr(value, name) for name in members)
    return not isinstance(kind, type) or isinstance(value, kind)


def misfit(name: str, value: object, kind: Any) -> str:
    """Returns the message for a value of the wrong type."""
    wanted = " or ".join(dict.fromkeys(_described(kind)))
    words = [word for word in _described(kind) if word.startswith("'")]
    near = get_close_matches(repr(value), words, n=1) if isinstance(value, str) else []
    meant = f"; did you mean {near[0]}?" if near else ""
    hint = f" ({_HINTS[name]})" if name in _HINTS else ""
    shown = repr(value) if isinstance(value, str | int | float | None) else ""
    got = shorten(shown)[1:-1] if len(shown) > 60 else shown  # noqa: PLR2004
    return f"{name} must be {wanted}, not {got or f'of the type {type(value).__name__}'}{meant}{hint}"


def _described(kind: Any) -> Iterable[str]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for each in inner:
            yield from _described(each)
    elif origin is Literal:
        yield from map(repr, inner)
    elif kind in (None, NoneType):
        yield "None"
    elif (origin or kind) is Callable:
        yield "a function"
    elif (origin or kind) is type:
        yield "a class"
    else:
        name = getattr(origin or kind, "__name__", str(kind))
        yield {"int": "a whole number", "float": "a number", "str": "text", "bool": "True or False"}.get(
            name, f"a {name}"
        )


def checked(place: str, *, say: str = "", more: str = "") -> Callable[[F], F]:
    """Check a function's keywords, and show its ``**options`` in its signature.

    The options are those of the typed dict in ``**options: Unpack[...]``, beside the parameters. Only
    for plain functions: nothing in ``core`` awaits.
    """

    def decorate(function: F) -> F:
        check = known_of(function, place, say=say, more=more).check

        @wraps(function)
        def wrapper(*args: Any, **options: Any) -> Any:
            if options:
                check(options)
            return function(*args, **options)

        show_options(wrapper)
        return cast("F", wrapper)

    return decorate


def known_of(function: Callable[..., Any], place: str, *, say: str = "", more: str = "") -> Known:
    """Returns what a function takes by name, including the members of its typed dict."""
    named = [each for each in _shown(function).parameters.values() if each.kind in _BY_NAME]
    kinds = {each.name: each.annotation for each in named if each.name != "self"}
    return Known(place, kinds, say=say, more=more)


def show_options(function: Callable[..., Any]) -> None:
    """Show a function's ``**options`` in its signature."""
    function.__signature__ = _shown(function)  # type: ignore[attr-defined]


class _LeftOut:
    """The default of an optional option in a signature."""

    def __repr__(self) -> str:
        return "..."


_LEFT_OUT = _LeftOut()
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _shown(function: Callable[..., Any]) -> inspect.Signature:
    """Returns the signature with the members of the typed dict in place of ``**options``."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if not parameters or get_origin(parameters[-1].annotation) is not Unpack:
        return signature
    *before, last = parameters
    (options,) = get_args(last.annotation)
    taken = {each.name for each in before}
    members = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_LEFT_OUT, annotation=annotation)
        for name, annotation in annotations_of(options).items()
        if name not in taken
    ]
    return signature.replace(parameters=[*before, *members])


def annotations_of(kind: Any) -> Mapping[str, Any]:
    """Returns the annotation of every member of a typed dict or a struct, inherited ones included."""
    plain = get_origin(kind) or kind
    if is_typeddict(plain):
        found: Mapping[str, Any] = plain.__annotations__
        return found
    merged: dict[str, Any] = {}
    for each in reversed(plain.__mro__):
        merged |= inspect.get_annotations(each)
    return merged


_ROOMS = ("builtin", "local", "manifest", "mcp", "process", "record", "testing", "trust")
"""The packages that are part of a public name: ``rc.trust.Rules``."""


@cache
def _of_struct(struct: type) -> Known:
    fields: Collection[str] = struct.__struct_fields__  # type: ignore[attr-defined]
    kinds = {name: kind for name, kind in annotations_of(struct).items() if name in fields}
    room = struct.__module__.split(".")[1:2]
    return Known(".".join(["rc", *(each for each in room if each in _ROOMS), struct.__name__]), kinds)


_make: Callable[..., Any] = StructMeta.__call__
"""Looked up once: ``super()`` would take longer than making the struct."""


class Spelt(StructMeta):
    """The metaclass of structs that developers write: explains an unknown field in its error.

    The fields are looked up only after an error, so that a correct call costs nothing more. Structs that
    are made for every delta or call do not use it: it makes each construction pass through Python.
    """

    if not TYPE_CHECKING:  # type checkers read the parameters from the fields

        def __call__(self, *args: Any, **fields: Any) -> Any:
            """Make a struct; an unknown field raises UsageError."""
            try:
                return _make(self, *args, **fields)
            except TypeError as error:
                known = _of_struct(self)
                known.check_names(fields)
                words = f"{known.place}: {error}. Give by name: {', '.join(known.kinds)}"
                raise UsageError(words) from error


class Worded(Spelt):
    """The metaclass of structs whose values are checked too: one of the wrong type raises UsageError.

    Decoding and replacing do not pass through here, and need no such messages.
    """

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **fields: Any) -> Any:
            """Make a struct; an unknown field or a value of the wrong type raises UsageError."""
            if fields:
                _of_struct(self).check(fields)
            return super().__call__(*args, **fields)
