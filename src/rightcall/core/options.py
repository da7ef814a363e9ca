"""Checks keywords and options against the annotations of a function, a typed dict or a struct.

A misspelt ``budget`` would silently remove a limit. So every name that a developer writes is looked up
in the annotations of the thing that takes it, and so is the type of its value. An unknown name is
refused with the nearest known one, or with our name for another library's option.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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

_OF_A_BUDGET = ("turns", "calls", "seconds", "tokens", "cost")
"""Words so common that they mean a budget only where one can be given."""

_OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "dependencies=… of agent.run": ("deps", "context", "dependency", "context_variables"),
    "budget=rc.Budget(turns=…)": (
        *("max_turns", "max_steps", "max_iterations", "max_iter", "recursion_limit"),
    ),
    "budget=rc.Budget(…)": ("usage_limits", "limits_per_run", "max_budget"),
    "budget=rc.Budget(cost=…)": ("max_cost", "dollars", "usd"),
    "instructions=… of rc.Agent": ("system_prompt", "system", "system_message", "prompt_template"),
    "output=… of rc.Agent": (
        *("response_model", "output_type", "result_type", "output_schema"),
        *("response_format", "response_schema", "text_format"),
    ),
    "history=… of agent.run": ("message_history", "messages", "chat_history"),
    "output=rc.Output(…, on_no_output=…) of rc.Agent": ("on_no_output",),
    "choice=… of agent.run": ("tool_choice",),
    "tools=… of rc.Agent": ("functions", "toolsets", "toolkits", "mcp_servers"),
    "options={…} of rc.Agent": ("model_settings", "model_kwargs", "settings"),
    "max_tokens=… of rc.Agent": ("max_output_tokens", "max_completion_tokens"),
    "options={'parallel': …} of rc.Agent": ("parallel_tool_calls",),
    "options={'reasoning': …} of rc.Agent": ("reasoning_effort", "thinking", "thinking_budget"),
    "options={'stop': …} of rc.Agent": ("stop_sequences",),
    "options={'top_p': …} of rc.Agent": ("topP",),
    "options={'logprobs': …} of rc.Agent": ("top_logprobs",),
    "options={'cache_key': …} of rc.Agent": ("prompt_cache_key",),
    "options={'cache_ttl': …} of rc.Agent": ("prompt_cache_retention", "prompt_cache_ttl"),
    "options={'eager': …} of rc.Agent": ("eager_input_streaming",),
    "compact=rc.Compaction(…) of rc.Agent": (
        *("summarise", "summarize", "compaction", "history_processors", "context_management"),
    ),
    "observers=[…] of rc.Agent": ("callbacks", "event_handler", "tracing"),
    "journal=… of rc.Agent": ("checkpointer", "store"),
    "run=… of agent.run, with a journal": ("session", "session_id", "thread_id", "run_id"),
    "approval=True of a tool": ("needs_approval", "require_approval", "requires_approval"),
    "retries=… of a tool, and retry=rc.models.Retry(attempts=…) of rc.connect": (
        *("retries", "max_retries", "num_retries", "tries"),
    ),
    "rc.Tool(name, description, schema)": ("args_schema", "input_schema", "inputSchema"),
    'effect="read" of a tool': ("readOnlyHint", "read_only"),
    'effect="idempotent" of a tool': ("idempotentHint",),
    "agent.stream(…)": ("stream", "event_stream_handler"),
    "observers=[rc.observe.OpenTelemetry()] of rc.Agent": ("instrument", "instrumentation"),
    "hooks=rc.Hooks(…) of rc.Agent": (
        *("middleware", "capabilities", "guardrails", "input_guardrails", "output_guardrails"),
    ),
    "rc.Agent([first, second])": ("fallbacks", "fallback_models"),
    "agent.resume(paused, {call_id: True})": ("deferred_tool_results",),
    "rc.Agent[Deps, Output](…), for type checkers": ("deps_type", "context_schema"),
    "name=… of a tool": ("name_override",),
    "description=… of a tool": ("description_override",),
}
"""What an option is called here, and by other libraries."""

_ELSEWHERE: dict[str, str] = {name: f"budget=rc.Budget({name}=…)" for name in _OF_A_BUDGET}
for _ours, _theirs in _OTHER_WORDS.items():
    _ELSEWHERE.update(dict.fromkeys(_theirs, _ours))
for _name in ("api_key", "base_url", "headers", "keep_raw"):
    _ELSEWHERE[_name] = f"rc.Agent(rc.connect(name, {_name}=…))"

_HINTS = {
    "choice": 'one tool is chosen by rc.models.Named("its_name")',
    "budget": "as in rc.Budget(turns=5)",
    "limits": "as in rc.Limits(timeout=5)",
    "rate": "so many calls in so many seconds, as in (5, 60)",
    "retry_on": "as in (ConnectionError, TimeoutError)",
    "hooks": "as in rc.Hooks(before_tool=…)",
    "window": "as in rc.conversation.Window(tokens=…)",
    "journal": 'as in rc.record.SqliteJournal("runs.db")',
    "observers": "as in [watch]",
    "history": "as in history=result.transcript; an empty one is ()",
}

_places: list["KnownOptions"] = []
"""Every place with declared options, to find where an option that is unknown here belongs."""


class KnownOptions:
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
        if unknown := self.describe_unknown(given):
            raise UsageError(f"{self.place} takes no {unknown}")

    def describe_unknown(self, given: Mapping[str, object]) -> str:
        """Returns what each unknown name may have meant, and what there is; empty if all are known."""
        if given.keys() <= self.kinds.keys():
            return ""
        names = []
        for name in given:
            if name not in self.kinds:
                names.append(f"{shorten(name)}{self._instead(name)}")
        more = f"; {self._more}" if self._more else ""
        return f"{', no '.join(names)}. There is: {', '.join(self.kinds)}{more}"

    def _instead(self, name: str) -> str:
        if name in _ELSEWHERE and (name not in _OF_A_BUDGET or "budget" in self.kinds):
            return f" (here it is {_ELSEWHERE[name]})"
        near = get_close_matches(name, self.kinds, n=1)
        if near:
            return f" (did you mean {near[0]!r}?)"
        for other in _places:
            if name in other.kinds and other is not self:
                return f" (it belongs to {other.place}: {other._say.format(name)})"  # noqa: SLF001
        return ""


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated type. Checks only the outer type, not what is inside."""
    if kind is Any or isinstance(kind, str | TypeVar):
        return True
    if kind is None:
        return value is None
    origin = get_origin(kind)
    inner = get_args(kind)
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
    if is_typeddict(plain):
        return isinstance(value, Mapping)
    if getattr(plain, "_is_protocol", False):
        members = [name for name in vars(plain) if name == "__call__" or not name.startswith("_")]
        if isinstance(value, type) and "__call__" not in members:
            # The class itself has the methods as well, and nobody to call them on.
            return False
        return all(hasattr(value, name) for name in members)
    return not isinstance(plain, type) or isinstance(value, plain)


def misfit(name: str, value: object, kind: Any) -> str:
    """Returns the message for a value of the wrong type."""
    words = list(dict.fromkeys(_kind_words(kind)))
    meant = ""
    if isinstance(value, str):
        choices = [word for word in words if word.startswith("'")]
        if near := get_close_matches(repr(value), choices, n=1):
            meant = f"; did you mean {near[0]}?"
    hint = f" ({_HINTS[name]})" if name in _HINTS else ""
    if isinstance(value, str | int | float | None):
        got = repr(value)
        if len(got) > 60:  # noqa: PLR2004
            got = shorten(got)[1:-1]
    else:
        got = f"of the type {type(value).__name__}"
    return f"{name} must be {' or '.join(words)}, not {got}{meant}{hint}"


_KIND_WORDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "True or False"}


def _kind_words(kind: Any) -> Iterator[str]:
    origin = get_origin(kind)
    plain = origin or kind
    if origin in (Union, UnionType):
        for each in get_args(kind):
            yield from _kind_words(each)
    elif origin is Literal:
        yield from map(repr, get_args(kind))
    elif kind in (None, NoneType):
        yield "None"
    elif plain is Callable:
        yield "a function"
    elif plain is type:
        yield "a class"
    else:
        name = getattr(plain, "__name__", str(kind))
        yield _KIND_WORDS.get(name, f"a {name}")


def check_keywords(place: str, *, say: str = "", more: str = "") -> Callable[[F], F]:
    """Check a function's keywords, and show its ``**options`` in its signature.

    The options are those of the typed dict in ``**options: Unpack[...]``, beside the parameters. Only
    for plain functions: nothing in ``core`` awaits.
    """

    def decorate(function: F) -> F:
        check = known_options(function, place, say=say, more=more).check

        @wraps(function)
        def wrapper(*args: Any, **options: Any) -> Any:
            if options:
                check(options)
            return function(*args, **options)

        show_options(wrapper)
        return cast("F", wrapper)

    return decorate


def known_options(
    function: Callable[..., Any], place: str, *, say: str = "", more: str = ""
) -> KnownOptions:
    """Returns what a function takes by name, including the members of its typed dict."""
    kinds = {}
    for parameter in _expanded_signature(function).parameters.values():
        if parameter.kind in _BY_NAME and parameter.name != "self":
            kinds[parameter.name] = parameter.annotation
    return KnownOptions(place, kinds, say=say, more=more)


def show_options(function: Callable[..., Any]) -> None:
    """Show a function's ``**options`` in its signature."""
    function.__signature__ = _expanded_signature(function)  # type: ignore[attr-defined]


class _LeftOut:
    """The default of an optional option in a signature."""

    def __repr__(self) -> str:
        return "..."


_LEFT_OUT = _LeftOut()
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _expanded_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Returns the signature with the members of the typed dict in place of ``**options``."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if not parameters or get_origin(parameters[-1].annotation) is not Unpack:
        return signature
    *before, last = parameters
    (options,) = get_args(last.annotation)
    expanded = {each.name: each for each in before}
    for name, annotation in annotations_of(options).items():
        expanded.setdefault(
            name,
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=_LEFT_OUT, annotation=annotation
            ),
        )
    return signature.replace(parameters=list(expanded.values()))


def annotations_of(kind: Any) -> Mapping[str, Any]:
    """Returns the annotation of every member of a typed dict or a struct, inherited ones included."""
    plain = get_origin(kind) or kind
    if is_typeddict(plain):
        members: Mapping[str, Any] = plain.__annotations__
        return members
    merged: dict[str, Any] = {}
    for each in reversed(plain.__mro__):
        merged |= inspect.get_annotations(each)
    return merged


_ROOMS = (
    "builtin",
    "local",
    "manifest",
    "mcp",
    "models",
    "process",
    "record",
    "testing",
    "tools",
    "trust",
)
"""The packages that are part of a public name: ``rc.trust.Rules``."""
_OFFERED_BY = {
    "Window": "conversation",
    **dict.fromkeys(("LargeResults",), "conversation"),
    **dict.fromkeys(("Named", "Profile", "Request", "Retry", "Timeouts"), "models"),
    **dict.fromkeys(("Defer", "Spec"), "tools"),
}
"""The packages that offer a struct of the core or of the declarations under their own name."""


@cache
def _of_struct(struct: type) -> KnownOptions:
    annotations = annotations_of(struct)
    fields: Collection[str] = struct.__struct_fields__  # type: ignore[attr-defined]
    kinds = {name: annotations[name] for name in annotations if name in fields}
    room = struct.__module__.partition(".")[2].partition(".")[0]
    place = f"rc.{room}" if room in _ROOMS else "rc"
    if struct.__name__ in _OFFERED_BY:
        place = f"rc.{_OFFERED_BY[struct.__name__]}"
    return KnownOptions(f"{place}.{struct.__name__}", kinds)


_make: Callable[..., Any] = StructMeta.__call__
"""Looked up once: ``super()`` would take longer than making the struct."""


class NameCheckedMeta(StructMeta):
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


class TypeCheckedMeta(NameCheckedMeta):
    """The metaclass of structs whose values are checked too: one of the wrong type raises UsageError.

    Decoding and replacing do not pass through here, and need no such messages.
    """

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **fields: Any) -> Any:
            """Make a struct; an unknown field or a value of the wrong type raises UsageError."""
            if fields:
                _of_struct(self).check(fields)
            return super().__call__(*args, **fields)


def other_words(words: Mapping[str, str]) -> Callable[[object, str], Any]:
    """Returns a ``__getattr__`` whose errors give our name for other libraries' attributes."""

    def missing(self: object, name: str) -> Any:
        if name in words:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r} (here it is {words[name]})")
        # Look it up again, to raise Python's own message, or that of a property that failed.
        return object.__getattribute__(self, name)

    return missing
