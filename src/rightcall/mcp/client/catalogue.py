"""What a server offers besides tools: resources to read and prompts to use, as attachments and messages.

What a resource holds is an outsider's text. It goes into a prompt as an attachment that says so, and
trust rules count it as theirs. So are a prompt's messages, unless the server's words are trusted: the
person who chose it vouches for following it, and not for every value in it.
"""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from msgspec import Struct

from rightcall.core.facts import Effect
from rightcall.core.handler import Context
from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Message, Reply, User
from rightcall.core.options import NameCheckedMeta
from rightcall.core.parts import PLAIN_TEXT, Media, Text
from rightcall.core.tool import Tool
from rightcall.declare.attachment import file
from rightcall.errors import ProtocolError, ToolFailure, UsageError
from rightcall.mcp.client.remote_tool import Piece, fit_name, join_pieces, piece_of, tool_of
from rightcall.mcp.client.settings import ConnectionSettings
from rightcall.mcp.pins import Definition

T = TypeVar("T")
_MOST_PAGES = 200
_MOST = 2000

Fetch = Callable[[Callable[[Client], Awaitable[Any]]], Awaitable[Any]]
"""Asks the server, over whatever connection there is."""


class ListedResource(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A resource of a server, or, with ``arguments``, a template of many."""

    uri: str
    """Its address; of a template, with its arguments in braces."""
    name: str
    title: str = ""
    description: str = ""
    media_type: str = ""
    arguments: tuple[str, ...] = ()

    def address(self, **arguments: str) -> str:
        """The address of one of a template's resources. Raises UsageError."""
        if set(arguments) != set(self.arguments):
            raise UsageError(f"{self.uri} takes {', '.join(self.arguments) or 'nothing'}")
        for name, value in arguments.items():
            if not isinstance(value, str):
                raise UsageError(f"{self.uri}: {name} must be text, as in {name}={str(value)!r}")
        return UriTemplate.parse(self.uri).expand(arguments)


class ListedPrompt(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A prompt of a server."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    """Those of its arguments without which it cannot be used."""


async def list_resources(fetch: Fetch) -> tuple[ListedResource, ...]:
    """Every resource and every template, to the last page."""
    listed = await _list_all(fetch, _resource_page)
    templates = await _list_all(fetch, _template_page)
    found = [
        ListedResource(**_about(each), uri=each.uri, media_type=each.mime_type or "") for each in listed
    ]
    for each in templates:
        try:
            names = tuple(UriTemplate.parse(each.uri_template).variable_names)
        except InvalidUriTemplate:
            continue
        found.append(
            ListedResource(
                **_about(each),
                uri=each.uri_template,
                media_type=each.mime_type or "",
                arguments=names,
            )
        )
    return tuple(found)


async def list_prompts(fetch: Fetch) -> tuple[ListedPrompt, ...]:
    """Every prompt, to the last page."""
    found = []
    for each in await _list_all(fetch, _prompt_page):
        given = each.arguments or []
        found.append(
            ListedPrompt(
                **_about(each),
                arguments=tuple([argument.name for argument in given]),
                required=tuple([argument.name for argument in given if argument.required]),
            )
        )
    return tuple(found)


def _about(each: types.Resource | types.ResourceTemplate | types.Prompt) -> dict[str, Any]:
    return {"name": each.name, "title": each.title or "", "description": each.description or ""}


async def _resource_page(cursor: str | None, client: Client) -> tuple[list[Any], str | None]:
    if client.server_capabilities.resources is None:
        return [], None
    page = await client.list_resources(cursor=cursor)
    return page.resources, page.next_cursor


async def _template_page(cursor: str | None, client: Client) -> tuple[list[Any], str | None]:
    if client.server_capabilities.resources is None:
        return [], None
    try:
        page = await client.list_resource_templates(cursor=cursor)
    except MCPError as error:
        # Servers with resources need not have templates, and many know no request for them.
        if error.code != types.METHOD_NOT_FOUND:
            raise
        return [], None
    return page.resource_templates, page.next_cursor


async def _prompt_page(cursor: str | None, client: Client) -> tuple[list[Any], str | None]:
    if client.server_capabilities.prompts is None:
        return [], None
    page = await client.list_prompts(cursor=cursor)
    return page.prompts, page.next_cursor


async def _list_all(
    fetch: Fetch, read_page: Callable[[str | None, Client], Awaitable[tuple[list[Any], str | None]]]
) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        entries, following = await fetch(partial(read_page, cursor))
        found += entries
        if following is None or following == cursor or len(found) > _MOST:
            return found[:_MOST]
        cursor = following
    raise ProtocolError(f"a list of the server has more than {_MOST_PAGES} pages")


async def read_resource(fetch: Fetch, uri: str, source: str) -> tuple[Media, ...]:
    """What is at an address, as attachments; ``source`` says whose words they are, if an outsider's."""
    result: types.ReadResourceResult = await fetch(lambda client: client.read_resource(uri))
    found = []
    for contents in result.contents:
        if isinstance(contents, types.TextResourceContents):
            data = contents.text.encode(errors="replace")
            kind = contents.mime_type or PLAIN_TEXT
        else:
            try:
                data = b64decode(contents.blob, validate=True)
            except ValueError as error:
                raise ToolFailure(f"What the server sends of {uri} is not valid base64.") from error
            kind = contents.mime_type or ""
        whose = f"{contents.uri} of {source}" if source else ""
        found.append(file(data, media_type=kind, name=contents.uri, untrusted=whose))
    return tuple(found)


async def get_prompt(
    fetch: Fetch, name: str, arguments: Mapping[str, str], server: str, *, trusted: bool
) -> tuple[Message, ...]:
    """A prompt's messages; where the server's words are not trusted, one with all of them attached."""
    result: types.GetPromptResult = await fetch(lambda client: client.get_prompt(name, dict(arguments)))
    said = [(each.role, piece_of(each.content)) for each in result.messages]
    if trusted:
        return tuple([_message(role, piece) for role, piece in said])
    source = f"the prompt {name} of the server {server}"
    attached: list[Text | Media] = [Text(f"Follow {source}, which is attached.")]
    for role, piece in said:
        whose = source
        if role != "user":
            whose = f"{source}, as the assistant's words"
        data = piece if isinstance(piece, Media) else Media(piece.encode(errors="replace"), PLAIN_TEXT)
        attached.append(file(data.data, media_type=data.media_type, name=data.name, untrusted=whose))
    return (User(tuple(attached)),)


def _message(role: str, piece: Piece) -> Message:
    part: Text | Media = Text(piece) if isinstance(piece, str) else piece
    if role == "user":
        return User((part,))
    return Reply((part,))


async def complete(
    fetch: Fetch,
    subject: ListedPrompt | ListedResource,
    argument: str,
    value: str,
    given: Mapping[str, str],
) -> tuple[str, ...]:
    """The server's suggestions for an argument that begins with a value."""
    reference: types.PromptReference | types.ResourceTemplateReference
    if not isinstance(subject, ListedPrompt | ListedResource):
        raise UsageError(
            "complete takes one of what server.prompts() or server.resources() lists, "
            f"and not {subject!r}"
        )
    if isinstance(subject, ListedPrompt):
        reference = types.PromptReference(type="ref/prompt", name=subject.name)
    else:
        reference = types.ResourceTemplateReference(type="ref/resource", uri=subject.uri)
    about = {"name": argument, "value": value}
    result: types.CompleteResult = await fetch(
        lambda client: client.complete(reference, about, dict(given) or None)
    )
    return tuple(result.completion.values)


def resource_tools(
    listed: Sequence[ListedResource], fetch: Fetch, settings: ConnectionSettings
) -> list[Tool]:
    """Resources as tools: one for each template, and one for all that are none."""
    definitions: dict[str, tuple[Definition, ListedResource | None]] = {}
    plain = [each for each in listed if not each.arguments]
    if plain:
        lines = [f"- {each.uri}: {each.title or each.name}" for each in plain]
        schema = _schema_of({"uri": {"type": "string", "enum": [each.uri for each in plain]}})
        words = "\n".join(["Read one of these resources:", *lines])
        definition = Definition(name="read_resource", description=words, parameters=schema)
        definitions[definition.name] = (definition, None)
    for each in listed:
        if each.arguments:
            schema = _schema_of({name: {"type": "string"} for name in each.arguments})
            words = f"Read {each.uri}: {each.description or each.title or each.name}"
            name = fit_name(f"read_{each.name}")
            definitions[name] = (Definition(name=name, description=words, parameters=schema), each)

    async def invoke(definition: Definition, arguments: JsonObject, _: Effect, __: Context[Any]) -> Any:
        template = definitions[definition.name][1]
        given = {name: str(value) for name, value in arguments.items()}
        uri = given["uri"] if template is None else template.address(**given)
        result: types.ReadResourceResult = await fetch(lambda client: client.read_resource(uri))
        return join_pieces(
            [piece_of(types.EmbeddedResource(resource=contents)) for contents in result.contents]
        )

    tools = []
    for name, (definition, _) in definitions.items():
        made = tool_of(
            definition,
            name=name,
            server=settings.name,
            invoke=invoke,
            limits=settings.limits,
            trust=settings.trust,
        )
        # Reading is reading, by the protocol, whatever else a server is trusted with.
        tools.append(made.replace(effect="read"))
    return tools


def _schema_of(properties: Mapping[str, JsonObject]) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
