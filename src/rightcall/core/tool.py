"""A tool: spec, handler, limits and security facts.

A tool that contradicts itself is refused when it is made.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, Unpack, get_args

from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import TypeVar

from rightcall.core.facts import Danger, Effect, Facts, Kind, Reach
from rightcall.core.handler import Handler, Parameters, inspect_handler
from rightcall.core.jsontext import JsonObject, JsonValue, dump, kind_of
from rightcall.core.limits import LimitOptions, Limits, with_limits
from rightcall.core.options import KnownOptions, NameCheckedMeta, TypeCheckedMeta, annotations_of
from rightcall.core.parts import Call, Repair
from rightcall.core.problem import Problem, Valid, Validator, describe_unexpected, json_path
from rightcall.errors import DeclarationError, UsageError

if TYPE_CHECKING:
    from rightcall.core.schema import Schema


ErrorWords: TypeAlias = Literal["words", "neutral", "raise"]
"""What the model reads when a tool raises anything but a ToolFailure: the exception's message, or one
neutral sentence."""

InputForm: TypeAlias = Literal["json", "text"]
"""What a model writes for a tool: arguments as JSON, or one plain text."""

_ROOT = "_root"
"""Where a copy keeps its root: beside the fields, so that no field is needed for it."""

# The strictest vendors' rules: Gemini wants a letter or underscore first, OpenAI allows 64 characters.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Spec(Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=NameCheckedMeta):
    """What the model is told about a tool."""

    name: str
    description: str
    parameters: JsonObject
    short: str = ""
    examples: tuple[JsonObject, ...] = ()
    questions: tuple[str, ...] = ()
    native: Mapping[str, JsonObject] = field(default_factory=dict)
    """The vendor's own definition of this tool, by dialect, for one that its models were trained on."""
    strict: bool | None = None
    """Whether the vendor enforces the schema while the model writes; None: as the request says."""
    origin: str = ""
    """Who wrote this, if it was a stranger."""
    input: "InputForm" = "json"
    """``text``: the model writes plain text instead of JSON, at vendors that have such tools."""
    grammar: Mapping[str, str] = field(default_factory=dict)
    """The grammar of the text, by notation."""
    cache: bool = False
    """Have the vendor cache the tools up to this one, if it supports that."""
    found: bool = False
    """The model found it by a search, and the vendor loads it where the search's result is, instead of
    with the other tools; for dialects that can express that."""


class _ToolMeta(TypeCheckedMeta):
    """The metaclass of tools: takes limits one by one; unknown options raise DeclarationError."""

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **fields: Any) -> Any:
            """Make a tool; an unknown option raises DeclarationError."""
            first = args[0] if args else fields.get("name", self.__name__)
            if callable(first):
                raise DeclarationError(
                    getattr(first, "__name__", self.__name__),
                    "rc.Tool takes a name, a description and a schema.",
                    fix="A function becomes a tool by rc.tool(function).",
                )
            name = str(first)
            check_options(name, _TOOL, fields)
            # Not through TypeCheckedMeta: a tool reports problems with its fields itself.
            try:
                return type(Struct).__call__(self, *args, **worded_limits(name, fields))
            except TypeError as error:
                raise DeclarationError(name, f"{error}.") from error


def check_options(tool: str, known: KnownOptions, given: Mapping[str, Any]) -> None:
    """Raise DeclarationError for unknown options of a tool."""
    if unknown := known.describe_unknown(given):
        raise DeclarationError(tool, f"no {unknown}.", where="options")


def worded_limits(tool: str, options: Mapping[str, Any], base: Limits | None = None) -> dict[str, Any]:
    """``with_limits``, with errors as the tool's DeclarationError."""
    given = options.get("limits", Limits)
    if given is not Limits and not isinstance(given, Limits):
        reason = f"limits must be rc.Limits(…), not {kind_of(given)}."
        raise DeclarationError(tool, reason, where="limits", fix="Or give them flat: timeout=5.")
    try:
        return with_limits(options, base)
    except UsageError as error:
        raise DeclarationError(tool, f"{error}.", where="limits") from None


def object_schema(required: Sequence[str], /, **properties: JsonValue) -> dict[str, JsonValue]:
    """The schema of an object with these members and no others."""
    schema: dict[str, JsonValue] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    return schema


class ToolSettings(Struct, frozen=True, kw_only=True, eq=False, metaclass=_ToolMeta):
    """The options of any tool, however it was declared."""

    short: str = ""
    """One line, for places where the whole description is too long."""
    examples: Sequence[JsonObject] = ()
    """Example arguments for the model; each must be valid."""
    questions: Sequence[str] = ()
    """What a user would say for each of the examples; small models learn from the pair."""
    native: Mapping[str, JsonObject] = field(default_factory=dict)
    """By dialect: the vendor's own definition, sent instead of ours, for tools that its models were
    trained on."""
    effect: Effect = "write"
    """What a call does to the world. Calls of ``pure`` and ``read`` tools may start while the reply
    streams. What a crash cut off is run again, unless it is a ``write``: then the model is told."""
    approval: bool = False
    """A person must approve each call."""
    serial: bool = False
    """Runs alone: earlier calls finish first, later calls wait."""
    delegates: bool = False
    """A call of it is an inner run, recorded by the outer run: started again, it continues where it
    was."""
    inside: Callable[[str], "Tool[Any] | None"] | None = None
    """Returns the tools, by name, of the agent that a call of it runs."""
    unpriced: str = ""
    """The model without known prices that a call of it asks: a limit in dollars does not count it."""
    repair: bool = False
    """Arguments that fit the schema after a lossless change are changed, and the change recorded."""
    dry_run: bool = False
    """Runs in dry runs whatever its effect; ``Context.dry_run`` is then true."""
    reconcile: Callable[[str], Any] | None = None
    """A function, sync or async, that finds out what happened to a ``write`` that a crash cut off. It
    gets the call's ``Context.key`` and returns what the call returned, or None if it did not happen;
    then it is run. Without it, or if it raises, the model is told that the call may have run."""
    errors: ErrorWords | None = None
    """What becomes of anything that it raises but a ToolFailure: the model reads ``"words"``, the first
    line of the message, or ``"neutral"``, a fixed sentence; or the run ends, and ``"raise"`` raises it
    there. None: the agent's setting, and without one the exception's type and first line."""
    strict: bool | None = None
    """Whether the vendor's strict mode enforces this tool's schema. None: the agent's option, whose
    default is strict where that loses nothing. True demands it."""
    deferred: bool = False
    """Not sent with every request: the model finds it by a search, and it is sent from then on."""
    origin: str = ""
    """Who wrote the description and the schema, if it was a stranger, such as an MCP server."""
    input: InputForm = "json"
    """``"text"`` for a tool with one string parameter, which the model writes as plain text: code."""
    grammar: Mapping[str, str] = field(default_factory=dict)
    """The grammar of the text: ``{"lark": "…"}`` or ``{"regex": "…"}``. The vendor enforces it if it
    can; otherwise the description contains it."""
    cache: bool = False
    """Have the vendor keep the tools up to this one in its prompt cache, if it supports that."""
    limits: Limits = Limits()
    """May be given one by one, too: ``timeout=5``."""
    facts: Facts = Facts()
    """The risks of the tool, for trust rules."""
    formats: bool = False
    """In a raw schema, enforce ``format`` instead of treating it as an annotation."""
    resources: Mapping[str, JsonObject] = field(default_factory=dict)
    """Schemas that a raw schema's ``$ref`` may name, by URI. Nothing is ever fetched."""
    validator: Validator | None = None
    """Validates arguments instead of the schema; ``@tool`` puts pydantic or plain types here."""
    calling: Handler | None = None
    """How the handler is called; by default read from its signature."""


class RawOptions(LimitOptions, total=False):
    """The keyword options of a tool; ``ToolSettings`` documents each."""

    short: str
    examples: Sequence[JsonObject]
    questions: Sequence[str]
    native: Mapping[str, JsonObject]
    effect: Effect
    approval: bool
    serial: bool
    repair: bool
    dry_run: bool
    reconcile: Callable[[str], Any] | None
    errors: ErrorWords | None
    strict: bool | None
    deferred: bool
    origin: str
    input: InputForm
    grammar: Mapping[str, str]
    cache: bool
    limits: Limits
    facts: Facts
    formats: bool
    resources: Mapping[str, JsonObject]
    validator: Validator | None
    calling: Handler | None


Needs_contra = TypeVar("Needs_contra", contravariant=True, default=Any)
"""The type of the dependencies in a tool's Context."""


def _never(_: str) -> bool:
    return False


class Tool(ToolSettings, Generic[Needs_contra], frozen=True, eq=False, dict=True, weakref=True):
    """A tool from a JSON Schema 2020-12 and a handler, which is called with the arguments by name.

    Without a handler a call returns its own checked arguments: a form for the model to fill in.
    """

    name: str
    """What the model calls it; of a function its own name, unless given."""
    description: str
    """What the model is told of it; of a function its docstring, unless given."""
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    handler: Callable[..., Any] | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            description: str,
            parameters: JsonObject = ...,
            handler: Callable[..., Any] | None = ...,
            **options: Unpack[RawOptions],
        ) -> None: ...

    def __post_init__(self) -> None:
        for where in ("name", "description"):
            given: object = getattr(self, where)
            if not isinstance(given, str):
                reason = f"it is text, not {kind_of(given)}."
                raise DeclarationError(str(self.name), reason, where=where)
        if not _NAME.fullmatch(self.name):
            raise DeclarationError(
                self.name,
                "the name must be 1 to 64 letters, digits, _ or -, and not begin with a digit or -.",
                where="name",
                fix='Give it another with name="…".',
            )
        _check_words(self)
        if self.validator is None:
            _check_schema(self)
        _check_facts(self)
        _check_text(self)
        _check_reconcile(self)
        _check_examples(self)

    @property
    def spec(self) -> Spec:
        """What the model is told."""
        return Spec(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            short=self.short,
            examples=tuple(self.examples),
            questions=tuple(self.questions),
            native=self.native,
            strict=self.strict,
            origin=self.origin,
            input=self.input,
            grammar=self.grammar,
            cache=self.cache,
        )

    @cached_property
    def schema(self) -> "Schema":
        """The parameters' schema, compiled."""
        from rightcall.core import schema  # noqa: PLC0415 - light until used

        try:
            return schema.Schema(self.parameters, resources=self.resources, formats=self.formats)
        except schema.SchemaTooCostly as error:
            reason = f"a schema that can take too long to check with: it {error.problem.message}."
            fix = (
                "Nest fewer alternatives in each other, or have it checked in a process that a deadline "
                "ends, with validator=rightcall.process.DeadlineValidator(schema)."
            )
            raise DeclarationError(self.name, reason, where="parameters", fix=fix) from None
        except schema.SchemaError as error:
            raise DeclarationError(
                self.name,
                f"not a valid JSON Schema: {error.problem.message}.",
                where=f"parameters at {error.problem.path}",
            ) from None

    @cached_property
    def invocation(self) -> Handler | None:
        """How the handler is called; None without one."""
        if self.handler is None:
            return None
        if self.calling is not None:
            return self.calling
        try:
            return inspect_handler(self.handler)[0]
        except (TypeError, ValueError):
            return Handler(function=self.handler, is_async=False)

    @cached_property
    def validate(self) -> Callable[[str, JsonObject], Valid | tuple[Problem, ...]]:
        """Validates arguments, given both as text and as that text parsed."""
        if self.validator is None:
            return self._validate_raw
        return self.validator.validate

    @cached_property
    def waits(self) -> bool:
        """Whether validation waits for another process, and so must not run on an event loop."""
        return bool(getattr(self.validator, "waits", False))

    @cached_property
    def loads_for(self) -> Callable[[str], bool]:
        """Tells whether to validate a text would first load what takes long."""
        return getattr(self.validator, "loads_for", None) or _never

    def _validate_raw(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        verdict = self.schema.validate(text, value)
        known = self.accepted_names
        if known is None or not isinstance(verdict, Valid):
            return verdict
        problems = []
        for name in value:
            if name not in known:
                problems.append(Problem(json_path([name]), describe_unexpected(name, list(known))))
        return tuple(problems) or verdict

    def replace(self, **changes: Any) -> "Tool[Needs_contra]":
        """A copy of the tool with other options; limits may be given one by one."""
        check_options(self.name, _TOOL, changes)
        if "handler" in changes:
            changes.setdefault("calling", None)
        copy = replace(self, **worded_limits(self.name, changes, self.limits))
        if copy.handler is self.handler:
            return copy.copied_from(self)
        return copy

    @property
    def root(self) -> "Tool[Any]":
        """The tool that this is a copy of, or itself: what ``concurrency`` and ``rate`` hold for."""
        root: Tool[Any] = self.__dict__.get(_ROOT, self)
        return root

    def copied_from(self, other: "Tool[Any]") -> Self:
        """Returns this tool, as a copy of another."""
        self.__dict__[_ROOT] = other.root
        return self

    @cached_property
    def takes(self) -> Parameters | None:
        """The handler's parameters; None if they cannot be determined."""
        if self.handler is None:
            return None
        try:
            return inspect_handler(self.handler)[1]
        except (TypeError, ValueError):
            return None

    @cached_property
    def accepted_names(self) -> tuple[str, ...] | None:
        """The argument names that the handler accepts; None when it accepts any."""
        if self.takes is None or any(p.kind is p.VAR_KEYWORD for p in self.takes.values()):
            return None
        return tuple(n for n, p in self.takes.items() if p.kind is not p.VAR_POSITIONAL)


class CheckedCall(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, eq=False):
    """A call that passed the gate. Only ``check`` makes one; only this can be executed."""

    call: Call
    tool: Tool
    arguments: JsonObject
    """The validated arguments as JSON; for policies and the journal."""
    bound: Any
    """The arguments as the handler takes them: coerced Python values by parameter name, or, for a
    model used as a tool, the instance."""
    repairs: tuple[Repair, ...] = ()


GRAMMARS = ("lark", "regex")
"""The grammar notations that vendors support."""
_LONGEST_WHAT = 200


def text_parameter(parameters: JsonObject) -> str | None:
    """Returns the only parameter of a tool, if it is a required string; None for any other tool."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping) or len(properties) != 1:
        return None
    ((name, schema),) = properties.items()
    is_text = isinstance(schema, Mapping) and schema.get("type") == "string"
    required = parameters.get("required")
    if is_text and isinstance(required, list) and name in required:
        return name
    return None


def _property_names(tool: Tool) -> list[str]:
    properties = tool.parameters.get("properties")
    if isinstance(properties, Mapping):
        return list(properties)
    return []


def _check_words(tool: Tool) -> None:
    for where, words, allowed in (
        ("effect", [tool.effect], Effect),
        ("input", [tool.input], InputForm),
        ("errors", [tool.errors], ErrorWords),
        ("facts.reach", [tool.facts.reach], Reach),
        ("facts.dangers", tool.facts.dangers or (), Danger),
        ("facts.kinds", tool.facts.kinds.values(), Kind),
    ):
        for word in words:
            if word is not None and word not in get_args(allowed):
                reason = f"{word!r} is not one of {', '.join(get_args(allowed))}."
                raise DeclarationError(tool.name, reason, where=where)


def _check_schema(tool: Tool) -> None:
    """Check the schema, and that the handler takes what it promises, as far as Python can tell."""
    parameters: object = tool.parameters
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        raise DeclarationError(
            tool.name,
            "a tool's arguments are an object.",
            where="parameters at $.type",
            fix='Write {"type": "object", "properties": {…}}.',
        )
    _ = tool.schema
    if tool.handler is not None and not callable(tool.handler):
        raise DeclarationError(tool.name, "the handler is not callable.", where="handler")
    for name in _property_names(tool):
        if tool.accepted_names is not None and name not in tool.accepted_names:
            raise DeclarationError(
                tool.name,
                f"the handler has no parameter {name!r}, which the schema offers.",
                where="handler",
                fix="Add it, or **arguments.",
            )
    required = parameters.get("required")
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    for name, parameter in (tool.takes or {}).items():
        is_needed = parameter.default is parameter.empty and parameter.kind not in several
        is_required = isinstance(required, list) and name in required
        if is_needed and not is_required:
            raise DeclarationError(
                tool.name,
                f"the handler needs {name!r}, which the schema does not require.",
                where="handler",
                fix="Give it a default, or list it under required.",
            )


def _check_facts(tool: Tool) -> None:
    what = tool.facts.what
    if len(what) > _LONGEST_WHAT or not what.isprintable():
        reason = f"must be one line of at most {_LONGEST_WHAT} characters."
        raise DeclarationError(tool.name, reason, where="facts.what")
    known = _property_names(tool)
    for name in tool.facts.targets or ():
        if name not in known:
            reason = f"there is no parameter {name!r}."
            raise DeclarationError(tool.name, reason, where="facts.targets")


def _check_text(tool: Tool) -> None:
    if tool.grammar and tool.input != "text":
        raise DeclarationError(
            tool.name, "a grammar is of text.", where="grammar", fix='Say input="text", too.'
        )
    if tool.input == "text" and text_parameter(tool.parameters) is None:
        raise DeclarationError(
            tool.name,
            "a tool whose input is text has one parameter, a string without a default.",
            where="input",
            fix='Take one: (text: str); or leave out input="text".',
        )
    notations = list(tool.grammar)
    if len(notations) > 1 or not set(notations) <= set(GRAMMARS):
        raise DeclarationError(
            tool.name,
            f"a grammar has one notation, {' or '.join(GRAMMARS)}, not {', '.join(notations)}.",
            where="grammar",
            fix='Write {"lark": "start: …"} or {"regex": "…"}.',
        )


def _check_reconcile(tool: Tool) -> None:
    if tool.reconcile is None:
        return
    if not callable(tool.reconcile):
        raise DeclarationError(tool.name, "reconcile is a function of a key.", where="reconcile")
    if tool.effect != "write":
        raise DeclarationError(
            tool.name,
            f"after a crash a call whose effect is {tool.effect} is run again, and nobody is asked.",
            where="reconcile",
            fix='Say effect="write", or leave reconcile out.',
        )


def _check_examples(tool: Tool) -> None:
    if len(tool.questions) > len(tool.examples):
        raise DeclarationError(
            tool.name,
            f"{len(tool.questions)} questions, but {len(tool.examples)} examples.",
            where="questions",
            fix="Give each question the arguments it asks for, in examples.",
        )
    if isinstance(tool.examples, Mapping):
        raise DeclarationError(
            tool.name, "examples are a list of objects.", where="examples", fix="Write examples=[{…}]."
        )
    examples: Sequence[object] = tool.examples
    for index, example in enumerate(examples):
        where = f"examples[{index}]"
        if not isinstance(example, Mapping):
            reason = f"an example is an object of arguments, not {kind_of(example)}."
            raise DeclarationError(tool.name, reason, where=where)
        verdict = tool.validate(dump(example), example)
        if not isinstance(verdict, Valid):
            reason = f"the example does not fit the schema: {'; '.join(map(str, verdict))}."
            raise DeclarationError(tool.name, reason, where=where)


_OWN = ("name", "description", "parameters", "handler", "unbound", "delegates", "inside", "unpriced")
_TOOL = KnownOptions("rc.Tool", {**dict.fromkeys(_OWN, Any), **annotations_of(RawOptions)})
