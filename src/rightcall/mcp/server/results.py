"""A result into the content of an MCP response."""

from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from rightcall.core.jsontext import JsonObject
from rightcall.core.parts import Media, Text
from rightcall.core.result import Result

_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")


def to_mcp(result: Result, structured: JsonObject | None = None) -> CallToolResult:
    """What the client is sent. Whatever is not ``returned`` is an error, in our own words."""
    return CallToolResult(
        content=list(_content(result)),
        structured_content=structured,
        is_error=result.is_error,
    )


def _content(result: Result) -> Iterator[ContentBlock]:
    for number, part in enumerate(result.content, 1):
        match part:
            case Text(text):
                yield TextContent(text=text)
            case Media(data, media_type) if media_type.startswith("image/"):
                yield ImageContent(data=b64encode(data).decode(), mime_type=media_type)
            case Media(data, media_type) if media_type.startswith("audio/"):
                yield AudioContent(data=b64encode(data).decode(), mime_type=media_type)
            case Media():
                yield _resource(part, f"{result.call_id}/{number}")


def _resource(media: Media, place: str) -> EmbeddedResource:
    """A file: as text where it is text, as bytes otherwise. A name that is an address is kept."""
    name = media.name or ""
    uri = name if "://" in name else f"result://{place}" + (f"/{quote(name)}" if name else "")
    if media.media_type.startswith(_TEXTUAL):
        try:
            text = media.data.decode()
        except UnicodeDecodeError:
            pass
        else:
            contents = TextResourceContents(uri=uri, mime_type=media.media_type, text=text)
            return EmbeddedResource(resource=contents)
    blob = b64encode(media.data).decode()
    return EmbeddedResource(
        resource=BlobResourceContents(uri=uri, mime_type=media.media_type, blob=blob)
    )
