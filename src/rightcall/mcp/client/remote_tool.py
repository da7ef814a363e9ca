"""A server's definition into our tool: its name, its limits, and our own view of its dangers."""

import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Literal, TypeAlias

from mcp_types import Tool as Listed

from rightcall.core.facts import Effect, Facts
from rightcall.core.handler import Context, Handler
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.limits import Limits
from rightcall.core.problem import Problem, Valid
from rightcall.core.schema import Schema, SchemaTooCostly
from rightcall.core.tool import Tool
from rightcall.declare.manual import first_sentence
from rightcall.declare.stranger import quoted
from rightcall.mcp.pins import Definition, Hints
from rightcall.process.deadline_validator import DeadlineValidator

_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_INVALID_CHARACTER = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 64
_MARK = 8

Trusted: TypeAlias = Literal["annotations", "descriptions", "results"]
"""What can be trusted of a server: its statements on what its tools do, its descriptions for the model,
and its results."""

EVERYTHING: frozenset[Trusted] = frozenset({"annotations", "descriptions", "results"})

Invoke: TypeAlias = Callable[[Definition, JsonObject, Effect, Context[Any]], Awaitable[Any]]
"""Sends a call to the server: arguments into its return value."""


def judge_of(schema: JsonObject) -> Schema | DeadlineValidator:
    """The validator of a server's schema: here, or in a process if its cost is unbounded."""
    try:
        return Schema(schema)
    except SchemaTooCostly:
        return DeadlineValidator(schema)


class _Whole:
    """Validates arguments by their schema, and binds them as one parameter, whatever their names are."""

    def __init__(self, schema: JsonObject) -> None:
        self._judge = judge_of(schema)
        self.waits = isinstance(self._judge, DeadlineValidator)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Called by the gate, for tools that validate their own arguments."""
        verdict = self._judge.validate(text, value)
        return Valid({"arguments": value}) if isinstance(verdict, Valid) else verdict


def tool_of(
    definition: Definition,
    *,
    name: str,
    server: str,
    invoke: Invoke,
    limits: Limits,
    trust: Collection[Trusted],
) -> Tool:
    """The tool, under its name here."""
    hints = definition.hints if "annotations" in trust else Hints()
    effect = effect_of(hints)

    async def handler(arguments: JsonObject, context: Context[Any]) -> Any:
        return await invoke(definition, arguments, effect, context)

    return Tool(
        name,
        described(definition, server, believed="descriptions" in trust),
        definition.parameters,
        handler,
        short=_short(definition, server, believed="descriptions" in trust),
        origin="" if "descriptions" in trust else server,
        effect=effect,
        limits=limits,
        errors="neutral",
        facts=facts_of(hints, believed="results" in trust),
        validator=_Whole(definition.parameters),
        calling=Handler(function=handler, is_async=True, context="context"),
    )


def described(definition: Definition, server: str, *, believed: bool) -> str:
    """The description for the model: the server's text, marked as the server's unless it is trusted."""
    words = definition.description or definition.title or definition.name
    return words if believed else quoted(server, words)


def _short(definition: Definition, server: str, *, believed: bool) -> str:
    """One line of the same text."""
    words = first_sentence(definition.description or definition.title or definition.name)
    return words if believed else f"{server} says: {dump(words)}"


def effect_of(hints: Hints) -> Effect:
    """The tool's effect: what running a call again would mean."""
    if hints.read_only:
        return "read"
    return "idempotent" if hints.idempotent else "write"


def facts_of(hints: Hints, *, believed: bool) -> Facts:
    """The dangers, as far as trusted hints state them."""
    reach: Literal["user", "outside"] | None = None
    if hints.open_world is not None:
        reach = "outside" if hints.open_world else "user"
    deletes = hints.destructive is True and not hints.read_only
    return Facts(untrusted=not believed, reach=reach, dangers=("deletes",) if deletes else None)


def definition_of(listed: Listed, output: JsonObject | None) -> Definition:
    """The SDK's listed tool as a definition."""
    hints = listed.annotations
    return Definition(
        name=listed.name,
        title=listed.title or (hints.title if hints else None) or "",
        description=listed.description or "",
        parameters=listed.input_schema,
        output=output,
        hints=Hints()
        if hints is None
        else Hints(
            read_only=hints.read_only_hint,
            destructive=hints.destructive_hint,
            idempotent=hints.idempotent_hint,
            open_world=hints.open_world_hint,
        ),
    )


def fit(name: str) -> str:
    """The name if it is valid, or the nearest valid one; a long one is cut and ends in a hash."""
    if _VALID.fullmatch(name):
        return name
    cleaned = _INVALID_CHARACTER.sub("_", name)
    if not cleaned or cleaned[0] in "-0123456789":
        cleaned = f"_{cleaned}"
    return cleaned if len(cleaned) <= _LONGEST else _marked(cleaned, name)


def fit_all(names: Sequence[str]) -> dict[str, str]:
    """Each name and its name here. Names that would be the same get a hash."""
    fitted = {name: fit(name) for name in names}
    counts = Counter(fitted.values())
    return {
        name: here if here == name or counts[here] == 1 else _marked(here, name)
        for name, here in fitted.items()
    }


def _marked(cleaned: str, name: str) -> str:
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    return f"{cleaned[: _LONGEST - _MARK - 1]}_{mark}"
