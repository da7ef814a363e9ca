"""A server's answer to a call into our tool's return value, or into its failure.

Text stays text, images, sounds and files become media, and a link is described in text: nothing is
fetched. An answer that does not fit the server's own output schema is a failure, because nobody knows
what it means.
"""

import base64
import binascii
from pathlib import PurePosixPath
from typing import Any, TypeAlias, assert_never
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

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.parts import Media
from rightcall.core.schema import Schema
from rightcall.errors import ToolFailure
from rightcall.process.deadline_validator import DeadlineValidator

_SHOWN_PROBLEMS = 5

Judge: TypeAlias = Schema | DeadlineValidator
"""Validates a value against a server's schema."""
Piece: TypeAlias = str | Media


def value_of(result: CallToolResult, output: Judge | None) -> Any:
    """The tool's return value. Raises ToolFailure for an error, and for a value that does not fit."""
    pieces = [_piece(block) for block in result.content]
    if result.is_error:
        raise ToolFailure(_words(pieces) or "The server says that it failed, and not why.")
    structured = "structured_content" in result.model_fields_set
    if output is not None:
        _check(result, output, given=structured)
    if not structured or result.structured_content is None:
        return _returned(pieces)
    value = _unwrapped(result.structured_content)
    if not pieces or _says_the_same(pieces, value) or _says_the_same(pieces, result.structured_content):
        return value
    return _returned([*pieces, dump(result.structured_content)])


def _check(result: CallToolResult, output: Judge, *, given: bool) -> None:
    if not given:
        raise ToolFailure("It ran, but its answer lacks the structured content that it promises.")
    problems = output.problems(result.structured_content)
    if problems:
        listed = "; ".join(map(str, problems[:_SHOWN_PROBLEMS]))
        raise ToolFailure(f"It ran, but its answer does not fit the form that it promises: {listed}.")


def _unwrapped(structured: Any) -> Any:
    """The value itself: SDKs wrap a value that is not an object in an object with one member."""
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        return structured["result"]
    return structured


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


def _returned(pieces: list[Piece]) -> Any:
    if any(isinstance(piece, Media) for piece in pieces):
        return pieces[0] if len(pieces) == 1 else pieces
    return "\n".join(piece for piece in pieces if isinstance(piece, str))


def _words(pieces: list[Piece]) -> str:
    """The content as text only: a failure is text."""
    return "\n".join(piece if isinstance(piece, str) else f"[{piece.about}]" for piece in pieces)


def _piece(block: ContentBlock) -> Piece:
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
    except (binascii.Error, ValueError):
        return f"[{kind} left out: it is not valid base64]"
