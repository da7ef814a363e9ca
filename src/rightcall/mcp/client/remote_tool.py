"""Turns a server's definition into our tool: its name, its limits, and our own view of its dangers."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import PurePosixPath
from typing import Any, Literal, TypeAlias, assert_never
from urllib.parse import urlsplit

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp_types import Tool as Listed

from rightcall.core.facts import Effect, Facts
from rightcall.core.handler import Context, Handler
from rightcall.core.jsontext import JsonError, JsonObject, dump, parse
from rightcall.core.limits import Limits
from rightcall.core.parts import Media
from rightcall.core.problem import Problem, Valid
from rightcall.core.schema import Schema, SchemaTooCostly
from rightcall.core.tool import Tool
from rightcall.declare.manual import first_sentence, quote_description
from rightcall.errors import ToolFailure
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


def validator_for(schema: JsonObject) -> Schema | DeadlineValidator:
    """The validator of a server's schema: here, or in a process if its cost is unbounded."""
    try:
        return Schema(schema)
    except SchemaTooCostly:
        return DeadlineValidator(schema)


class _ArgumentsValidator:
    """Validates arguments by their schema, and binds them as one parameter, whatever their names are."""

    def __init__(self, schema: JsonObject) -> None:
        self._judge = validator_for(schema)
        self.waits = isinstance(self._judge, DeadlineValidator)

    def validate(self, text: str, value: JsonObject) -> Valid | tuple[Problem, ...]:
        """Called by the gate, for tools that validate their own arguments."""
        verdict = self._judge.validate(text, value)
        if isinstance(verdict, Valid):
            return Valid({"arguments": value})
        return verdict


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
    # The effect says what running a call again would mean.
    effect: Effect = "write"
    if hints.read_only:
        effect = "read"
    elif hints.idempotent:
        effect = "idempotent"
    # The dangers are known as far as trusted hints state them.
    reach: Literal["user", "outside"] | None = None
    if hints.open_world is not None:
        reach = "outside" if hints.open_world else "user"
    deletes = hints.destructive is True and not hints.read_only
    # The server's text is marked as the server's unless it is trusted.
    words = definition.description or definition.title or definition.name
    description = quote_description(server, words)
    short = f"{server} says: {dump(first_sentence(words))}"
    if "descriptions" in trust:
        description = words
        short = first_sentence(words)

    async def handler(arguments: JsonObject, context: Context[Any]) -> Any:
        return await invoke(definition, arguments, effect, context)

    return Tool(
        name,
        description,
        definition.parameters,
        handler,
        short=short,
        origin="" if "descriptions" in trust else server,
        effect=effect,
        limits=limits,
        errors="neutral",
        facts=Facts(
            untrusted="results" not in trust, reach=reach, dangers=("deletes",) if deletes else None
        ),
        validator=_ArgumentsValidator(definition.parameters),
        calling=Handler(function=handler, is_async=True, context="context"),
    )


def definition_of(listed: Listed, output: JsonObject | None) -> Definition:
    """The SDK's listed tool as a definition."""
    stated = listed.annotations
    hints = Hints()
    if stated is not None:
        hints = Hints(
            read_only=stated.read_only_hint,
            destructive=stated.destructive_hint,
            idempotent=stated.idempotent_hint,
            open_world=stated.open_world_hint,
        )
    return Definition(
        name=listed.name,
        title=listed.title or (stated.title if stated else None) or "",
        description=listed.description or "",
        parameters=listed.input_schema,
        output=output,
        hints=hints,
    )


def fit_name(name: str) -> str:
    """The name if it is valid, or the nearest valid one; a long one is cut and ends in a hash."""
    if _VALID.fullmatch(name):
        return name
    cleaned = _INVALID_CHARACTER.sub("_", name)
    if not cleaned or cleaned[0] in "-0123456789":
        cleaned = f"_{cleaned}"
    if len(cleaned) <= _LONGEST:
        return cleaned
    return _add_hash(cleaned, name)


def fit_names(names: Sequence[str]) -> dict[str, str]:
    """Each name and its name here. Names that would be the same get a hash."""
    fitted = {name: fit_name(name) for name in names}
    counts = Counter(fitted.values())
    return {
        name: here if here == name or counts[here] == 1 else _add_hash(here, name)
        for name, here in fitted.items()
    }


def _add_hash(cleaned: str, name: str) -> str:
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    return f"{cleaned[: _LONGEST - _MARK - 1]}_{mark}"


_SHOWN_PROBLEMS = 5

Judge: TypeAlias = Schema | DeadlineValidator
"""Validates a value against a server's schema."""
Piece: TypeAlias = str | Media


def value_of(result: CallToolResult, output: Judge | None) -> Any:
    """The tool's return value. Raises ToolFailure for an error, and for a value that does not fit.

    Text stays text, images, sounds and files become media, and a link is described in text: nothing is
    fetched. An answer that does not fit the server's own output schema is a failure, because nobody
    knows what it means.
    """
    pieces = [piece_of(block) for block in result.content]
    if result.is_error:
        raise ToolFailure(
            "\n".join(piece if isinstance(piece, str) else f"[{piece.about}]" for piece in pieces)
            or "The server says that it failed, and not why."
        )
    structured = "structured_content" in result.model_fields_set
    if output is not None:
        if not structured:
            raise ToolFailure("It ran, but its answer lacks the structured content that it promises.")
        problems = output.problems(result.structured_content)
        if problems:
            listed = "; ".join(map(str, problems[:_SHOWN_PROBLEMS]))
            raise ToolFailure(
                f"It ran, but its answer does not fit the form that it promises: {listed}."
            )
    if not structured or result.structured_content is None:
        return join_pieces(pieces)
    value: Any = result.structured_content
    if isinstance(value, dict) and value.keys() == {"result"}:
        # SDKs wrap a value that is not an object in an object with one member.
        value = value["result"]
    if not pieces or _says_the_same(pieces, value) or _says_the_same(pieces, result.structured_content):
        return value
    return join_pieces([*pieces, dump(result.structured_content)])


def _says_the_same(pieces: list[Piece], value: Any) -> bool:
    """Whether the texts only repeat the structured content, as servers send it for older clients."""
    read = [_read(piece) for piece in pieces]
    return value in ((pieces[0], read[0]) if len(pieces) == 1 else (pieces, read))


def _read(piece: Piece) -> Any:
    if not isinstance(piece, str):
        return None
    try:
        return parse(piece)
    except JsonError:
        return piece


def join_pieces(pieces: list[Piece]) -> Any:
    """Pieces as a tool's return value: a text, or media and texts."""
    if any(isinstance(piece, Media) for piece in pieces):
        if len(pieces) == 1:
            return pieces[0]
        return pieces
    return "\n".join(piece for piece in pieces if isinstance(piece, str))


def piece_of(block: ContentBlock) -> Piece:
    """A block of content as text or media."""
    match block:
        case TextContent(text=text):
            return text
        case ImageContent(data=data, mime_type=kind) | AudioContent(data=data, mime_type=kind):
            return media_of(data, kind, None)
        case ResourceLink():
            about = ": ".join(filter(None, [block.title or block.name, block.description]))
            return f"[link to {block.uri} ({about})]"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[{resource.uri}]\n{resource.text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            parts = urlsplit(str(resource.uri))
            name = PurePosixPath(parts.netloc + parts.path).name
            return media_of(
                resource.blob, resource.mime_type or "application/octet-stream", name or None
            )
        case EmbeddedResource():  # both kinds of contents are above; types cannot tell
            return "[a resource of an unknown kind]"
        case _:
            assert_never(block)


def media_of(data: str, kind: str, name: str | None) -> Piece:
    """Base64 data as media; or a text that says that it cannot be decoded."""
    try:
        return Media(base64.b64decode(data, validate=True), kind, name)
    except ValueError:
        return f"[{kind} left out: it is not valid base64]"
