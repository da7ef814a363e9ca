"""A tool: what the model is told, what runs, under which limits, and what is known of its dangers."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.handler import Handler, Parameters, inspect_handler
from rightcall.core.jsontext import JsonObject, dump, kind_of
from rightcall.core.problem import Problem, Valid, Validator, json_path, unexpected
from rightcall.errors import DeclarationError, UsageError

if TYPE_CHECKING:
    from rightcall.core.schema import Schema

Effect: TypeAlias = Literal["pure", "read", "idempotent", "write"]
"""What running a call again would mean: nothing ever (pure), nothing but a fresh look (read), the same
end state (idempotent), or a second act (write)."""

Reach: TypeAlias = Literal["nothing", "user", "outside"]
"""What a tool touches: nothing, the user's own data, or the world outside."""

Danger: TypeAlias = Literal["money", "deletes", "credentials"]
"""What makes a tool worse than its reach says: it moves money, deletes, or touches credentials."""

# The strictest of the vendors: Gemini wants a letter or underscore first, OpenAI stops at 64.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class Limits(Struct, frozen=True, kw_only=True):
    """What a tool may cost. Every tool has limits from birth."""

    timeout: float = 60.0
    """Seconds for one call, retries and the waits between them included."""
    retries: int = 0
    """How often a failure that the tool marks retryable is tried again."""
    backoff: float = 0.5
    """Seconds before the first retry; doubled before each further one."""
    rate: tuple[int, float] | None = None
    """At most so many calls in so many seconds: ``(5, 60)``. A call over it waits."""
    concurrency: int = 16
    """How many calls of this tool may run at once."""
    max_output_bytes: int = 64 * 1024
    """Text beyond it is cut in the middle, with a marker that says so."""
    max_media_bytes: int = 5 * 1024 * 1024
    """A larger image or file is left out, with a note that says so."""
    max_arguments_bytes: int = 1024 * 1024
    """Longer arguments are refused unread."""

    def __post_init__(self) -> None:
        for name in ("timeout", "concurrency", "max_output_bytes", "max_arguments_bytes"):
            if not getattr(self, name) > 0:
                raise UsageError(f"limits: {name} must be more than 0, not {getattr(self, name)!r}")
        for name in ("retries", "backoff", "max_media_bytes"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"limits: {name} must not be negative")
        if self.rate is not None and not (self.rate[0] >= 1 and self.rate[1] > 0):
            raise UsageError("limits: rate must be (calls, seconds), each more than 0")


class Facts(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """What is known of a tool's dangers. None: nobody said, and rules must take that for the worst.

    A field is named by its key, wherever it is in what the tool returns, or by the end of the path to
    it: ``"body"``, ``"author.name"``. Everything below it is meant, too.
    """

    untrusted: bool | tuple[str, ...] | None = None
    """Whether outsiders could have written what it returns; or the fields they could have written, and
    the others are the system's own word."""
    names: bool | tuple[str, ...] = ()
    """The fields with names that outsiders chose and the system knows: of files, of channels, of people;
    or True for every text. They count as untrusted, but each, as a whole, vouches for what it names."""
    private: bool | tuple[str, ...] | None = None
    """Whether it returns data that not everyone may see; or the fields that are."""
    reach: Reach | None = None
    dangers: tuple[Danger, ...] | None = None
    """What else it does: moves money, deletes, touches credentials; () when it does nothing of it."""
    targets: tuple[str, ...] | None = None
    """The parameters that say who, where or which account; () when none does."""
    content: tuple[str, ...] | None = None
    """The parameters whose text travels to the targets. None: all that are no targets. Those in neither
    are harmless."""
    derived: bool = False
    """What it returns is made of its arguments, as a model's answer is and a pure tool's: it vouches for
    no more than they do."""


class Spec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the model is told about a tool."""

    name: str
    description: str
    parameters: JsonObject
    short: str = ""
    examples: tuple[JsonObject, ...] = ()
    questions: tuple[str, ...] = ()
    native: Mapping[str, JsonObject] = field(default_factory=dict)
    """The vendor's own definition of this tool, by dialect, for one that its models were trained on."""


class Options(Struct, frozen=True, kw_only=True, eq=False):
    """What can be said of any tool, however it was declared."""

    short: str = ""
    """One line, for places where the whole description is too long."""
    examples: Sequence[JsonObject] = ()
    """Worked arguments for the model to see; each must be valid."""
    questions: Sequence[str] = ()
    """What a user would say for each of the examples; small models learn from the pair."""
    native: Mapping[str, JsonObject] = field(default_factory=dict)
    """By dialect: the vendor's own definition, sent in place of ours. Its models call what they know."""
    effect: Effect = "write"
    approval: bool = False
    """A person must say yes to each call."""
    serial: bool = False
    """Runs alone: calls before it finish first, calls after it wait."""
    repair: bool = False
    """Arguments that fit the schema after a lossless change are changed, and the change recorded."""
    limits: Limits = Limits()
    facts: Facts = Facts()
    formats: bool = False
    """In a raw schema, demand ``format`` instead of treating it as a note."""
    resources: Mapping[str, JsonObject] = field(default_factory=dict)
    """Schemas that a raw schema's ``$ref`` may name, by URI. Nothing is ever fetched."""
    validator: Validator | None = None
    """Judges arguments in place of the schema; ``@tool`` puts pydantic here."""
    calling: Handler | None = None
    """How the handler is called; read from its signature unless given."""


class Tool(Options, frozen=True, eq=False, dict=True, weakref=True):
    """A tool from a JSON Schema 2020-12 and a handler, which is called with the arguments by name.

    Without a handler a call returns its own checked arguments: a form for the model to fill in.
    """

    name: str
    description: str
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    handler: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DeclarationError(
                self.name,
                "the name must be 1 to 64 letters, digits, _ or -, and not begin with a digit or -.",
                where="name",
                fix='Give it another with name="…".',
            )
        self._check_words()
        if self.validator is None:
            self._check_schema()
            self._check_handler()
        self._check_roles()
        self._check_examples()

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
        )

    @cached_property
    def schema(self) -> "Schema":
        """The parameters' schema, compiled."""
        from rightcall.core.schema import (  # noqa: PLC0415 - light until used
            Schema,
            SchemaError,
            SchemaTooCostly,
        )

        try:
            return Schema(self.parameters, resources=self.resources, formats=self.formats)
        except SchemaTooCostly as error:
            reason = f"a schema that can take too long to check with: it {error.problem.message}."
            fix = "Nest fewer alternatives in each other, or judge arguments yourself with validator=."
            raise DeclarationError(self.name, reason, where="parameters", fix=fix) from None
        except SchemaError as error:
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
        """Judges arguments, given both as text and as that text parsed."""
        return self._validate_raw if self.validator is None else self.validator.validate

    def _validate_raw(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        verdict = self.schema.validate(text, value)
        if self._accepted is None or not isinstance(verdict, Valid):
            return verdict
        extra = [name for name in value if name not in self._accepted]
        return tuple(_unexpected(extra, self._accepted)) or verdict

    def replace(self, **changes: Any) -> "Tool":
        """The same tool with some things changed."""
        if "handler" in changes:
            changes.setdefault("calling", None)
        return replace(self, **changes)

    def _check_words(self) -> None:
        reach = self.facts.reach
        dangers = [("facts.dangers", danger, Danger) for danger in self.facts.dangers or ()]
        for where, word, words in (
            ("effect", self.effect, Effect),
            ("facts.reach", reach, Reach),
            *dangers,
        ):
            if word is not None and word not in get_args(words):
                raise DeclarationError(
                    self.name,
                    f"{word!r} is not one of {', '.join(get_args(words))}.",
                    where=where,
                )

    def _check_schema(self) -> None:
        given: object = self.parameters
        if not isinstance(given, Mapping) or given.get("type") != "object":
            raise DeclarationError(
                self.name,
                "a tool's arguments are an object.",
                where="parameters at $.type",
                fix='Write {"type": "object", "properties": {…}}.',
            )
        _ = self.schema

    @cached_property
    def _takes(self) -> Parameters | None:
        """What the handler takes; None when there is no telling."""
        if self.handler is None:
            return None
        try:
            return inspect_handler(self.handler)[1]
        except (TypeError, ValueError):
            return None

    @cached_property
    def _accepted(self) -> tuple[str, ...] | None:
        """The argument names the handler takes; None when it takes any."""
        if self._takes is None or any(p.kind is p.VAR_KEYWORD for p in self._takes.values()):
            return None
        return tuple(n for n, p in self._takes.items() if p.kind is not p.VAR_POSITIONAL)

    def _check_handler(self) -> None:
        """Whether the handler takes what the schema promises. Only where Python can tell."""
        if self.handler is not None and not callable(self.handler):
            raise DeclarationError(self.name, "the handler is not callable.", where="handler")
        for name in _keys(self.parameters.get("properties")):
            if self._accepted is not None and name not in self._accepted:
                raise DeclarationError(
                    self.name,
                    f"the handler has no parameter {name!r}, which the schema offers.",
                    where="handler",
                    fix="Add it, or **arguments.",
                )
        required = _strings(self.parameters.get("required"))
        for name in self._needed():
            if name not in required:
                raise DeclarationError(
                    self.name,
                    f"the handler needs {name!r}, which the schema does not require.",
                    where="handler",
                    fix="Give it a default, or list it under required.",
                )

    def _needed(self) -> list[str]:
        """The handler's parameters without a default."""
        takes = self._takes or {}
        several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        return [n for n, p in takes.items() if p.default is p.empty and p.kind not in several]

    def _check_roles(self) -> None:
        known = _keys(self.parameters.get("properties"))
        for where, names in (("targets", self.facts.targets), ("content", self.facts.content)):
            for name in names or ():
                if name not in known:
                    raise DeclarationError(
                        self.name, f"there is no parameter {name!r}.", where=f"facts.{where}"
                    )

    def _check_examples(self) -> None:
        if len(self.questions) > len(self.examples):
            raise DeclarationError(
                self.name,
                f"{len(self.questions)} questions, but {len(self.examples)} examples.",
                where="questions",
                fix="Give each question the arguments it asks for, in examples.",
            )
        for index, example in enumerate(self.examples):
            if not isinstance(example, Mapping):
                raise DeclarationError(
                    self.name,
                    f"an example is an object of arguments, not {kind_of(example)}.",
                    where=f"examples[{index}]",
                )
            verdict = self.validate(dump(example), example)
            if not isinstance(verdict, Valid):
                raise DeclarationError(
                    self.name,
                    f"the example does not fit the schema: {'; '.join(map(str, verdict))}.",
                    where=f"examples[{index}]",
                )


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _keys(value: object) -> list[str]:
    return list(value) if isinstance(value, Mapping) else []


def _unexpected(names: list[str], known: Sequence[str]) -> Iterator[Problem]:
    for name in names:
        yield Problem(json_path([name]), unexpected(name, list(known)))
