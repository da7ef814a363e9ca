"""Texts that clients may read as resources, each at its URI."""

from collections.abc import Sequence
from typing import Any, Protocol

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
)

_MARKDOWN = "text/markdown"


class Texts(Protocol):
    """The texts that are offered: listed newest first, and any of them by its URI."""

    async def resources(self) -> Sequence[tuple[str, str]]:
        """The URI and the name of each."""
        ...

    async def resource(self, address: str, /) -> str | None:
        """The text at a URI; None if there is none."""
        ...


class ServedTexts:
    """Handles clients' requests for resources."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    async def list(
        self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """Every listed text."""
        found = await self._texts.resources()
        listed = [Resource(uri=at, name=name, mime_type=_MARKDOWN) for at, name in found]
        return ListResourcesResult(resources=listed)

    async def read(
        self, _: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """One text."""
        text = await self._texts.resource(params.uri)
        if text is None:
            raise MCPError(INVALID_PARAMS, "there is nothing at this address")
        contents = TextResourceContents(uri=params.uri, mime_type=_MARKDOWN, text=text)
        return ReadResourceResult(contents=[contents])
