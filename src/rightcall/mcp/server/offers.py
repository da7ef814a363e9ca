"""What a server offers besides tools: resources to read and prompts to use, as functions.

``@resource`` and ``@prompt`` make tools of them, which no model is offered: so arguments are checked,
limits hold, policies and people decide, and every use is recorded, as with a call.
"""

import inspect
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, Unpack

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from msgspec import Struct, field
from pydantic import TypeAdapter

from rightcall.core.jsontext import JsonError, parse
from rightcall.core.message import Reply, User
from rightcall.core.options import check_keywords
from rightcall.core.parts import ANY_BYTES, PLAIN_TEXT, Media, Result, Text
from rightcall.core.tool import Tool
from rightcall.declare.function import ToolOptions, tool
from rightcall.errors import DeclarationError, UsageError
from rightcall.gate.concurrency import AbandonableJob, tool_threads

Completer: TypeAlias = Callable[..., Iterable[str] | Awaitable[Iterable[str]]]
"""Suggests values for an argument: from how it begins and, if it takes them, the others given."""
C = TypeVar("C", bound=Completer)
_MOST_COMPLETIONS = 100
MARKDOWN = "text/markdown"
_MESSAGES: TypeAdapter[list[types.PromptMessage]] = TypeAdapter(list[types.PromptMessage])


class _Offer(Struct, frozen=True, kw_only=True, eq=False):
    kind: ClassVar[str]
    tool: Tool
    """The function, as the gate runs it."""
    title: str = ""
    completers: dict[str, Completer] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function directly, bypassing the gate."""
        assert self.tool.handler is not None
        return self.tool.handler(*args, **kwargs)

    def __iter__(self) -> Iterator[Tool]:
        """What is made of it among tools: nothing, and it is said where it belongs."""
        raise UsageError(
            f"{self.tool.name} is a {self.kind} and no tool: give it to rc.mcp.serve as {self.kind}s=[…]"
        )

    def complete(self, argument: str) -> Callable[[C], C]:
        """Decorate the function that suggests values for an argument."""
        if argument not in self.properties:
            raise DeclarationError(self.tool.name, f"it has no argument {argument!r} to complete.")

        def keep(function: C) -> C:
            self.completers[argument] = function
            return function

        return keep

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of its arguments."""
        found: Mapping[str, Any] = self.tool.parameters.get("properties", {})  # type: ignore[assignment]
        return found

    async def suggest(self, argument: str, value: str, given: Mapping[str, str]) -> list[str]:
        """Suggestions for an argument: those of its function, or what its type allows."""
        completer = self.completers.get(argument)
        if completer is None:
            allowed = self.properties.get(argument, {}).get("enum", ())
            return [str(each) for each in allowed if str(each).startswith(value)]
        arguments: tuple[Any, ...] = (value,)
        if len(inspect.signature(completer).parameters) > 1:
            arguments = (value, given)
        if inspect.iscoroutinefunction(completer):
            return [str(each) for each in await completer(*arguments)]

        def suggest() -> list[str]:
            found: Any = completer(*arguments)
            return [str(each) for each in found]

        found: list[str] = await tool_threads().run(suggest, AbandonableJob())
        return found


class OfferedResource(_Offer, frozen=True, kw_only=True, eq=False):
    """A function that clients read at an address, or at many, if the address has arguments in braces."""

    kind = "resource"
    uri: str
    media_type: str = ""
    template: UriTemplate

    @property
    def is_template(self) -> bool:
        """Whether it is at many addresses."""
        return bool(self.template.variables)


class OfferedPrompt(_Offer, frozen=True, kw_only=True, eq=False):
    """A function that gives clients the messages of a prompt."""

    kind = "prompt"


class ResourceList(Protocol):
    """Resources that are not known beforehand: listed, and read at their addresses, as texts."""

    async def resources(self) -> Sequence[tuple[str, str]]:
        """The URI and the name of each."""

    async def resource(self, address: str, /) -> str | None:
        """The text at a URI; None if there is none."""


@check_keywords("rc.mcp.resource")
def resource(
    uri: str, *, title: str = "", media_type: str = "", **options: Unpack[ToolOptions]
) -> Callable[[Callable[..., Any]], OfferedResource]:
    """Offer what a function returns as a resource; ``{name}`` in its address is an argument.

    It may return a text, bytes, media, or anything that is JSON. The options are those of ``rc.tool``.
    """
    if not isinstance(uri, str):
        raise UsageError('a resource has an address: @rc.mcp.resource("book://{number}")')
    try:
        template = UriTemplate.parse(uri)
    except InvalidUriTemplate as error:
        raise DeclarationError(uri, f"{error}.", where="uri") from error

    def declare(function: Callable[..., Any]) -> OfferedResource:
        made: Tool = tool(**{"effect": "read", **options})(_convert_value_of(function, _to_readable))  # type: ignore[call-overload]
        declared: Any = made.parameters.get("properties", {})
        if set(declared) != set(template.variable_names):
            has = ", ".join(template.variable_names) or "none"
            raise DeclarationError(
                made.name, f"its arguments are not those of its address, {uri}: {has}."
            )
        return OfferedResource(tool=made, title=title, uri=uri, media_type=media_type, template=template)

    return declare


@check_keywords("rc.mcp.prompt")
def prompt(
    function: Callable[..., Any] | None = None, *, title: str = "", **options: Unpack[ToolOptions]
) -> Any:
    """Offer what a function returns as a prompt: a text, media, messages, or a list of them."""

    def declare(function: Callable[..., Any]) -> OfferedPrompt:
        made: Tool = tool(**{"effect": "read", **options})(_convert_value_of(function, _to_messages))  # type: ignore[call-overload]
        return OfferedPrompt(tool=made, title=title)

    if function is None:
        return declare
    return declare(function)


def _convert_value_of(function: Callable[..., Any], convert: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function, its value converted in its own time and under its own limits."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def wait(*args: Any, **kwargs: Any) -> Any:
            return convert(await function(*args, **kwargs))

        return wait

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return convert(function(*args, **kwargs))

    return run


def _to_readable(value: Any) -> Any:
    return Media(value, ANY_BYTES) if isinstance(value, bytes) else value


def _to_messages(value: Any) -> str:
    """A prompt's value as the JSON of MCP's messages."""
    if not isinstance(value, list | tuple):
        value = [value]
    said: list[types.PromptMessage] = []
    for piece in value:
        role: types.Role = "user"
        parts: Sequence[Any] = (piece,)
        if isinstance(piece, User | Reply):
            parts = piece.content
        if isinstance(piece, Reply):
            role = "assistant"
        for part in parts:
            said.append(types.PromptMessage(role=role, content=_block(part)))
    return _MESSAGES.dump_json(said, by_alias=True, exclude_none=True).decode()


def _block(part: Any) -> types.ContentBlock:
    match part:
        case str():
            return types.TextContent(text=part)
        case Text(text):
            return types.TextContent(text=text)
        case Media(data=data, media_type=kind) if kind.startswith("image/") and data:
            return types.ImageContent(data=b64encode(data).decode(), mime_type=kind)
        case Media(data=data, media_type=kind) if kind.startswith("audio/") and data:
            return types.AudioContent(data=b64encode(data).decode(), mime_type=kind)
        case Media(url=str(url)):
            return types.ResourceLink(uri=url, name=part.name or url, mime_type=part.media_type)
        case Media():
            attached: Any = contents_of(part, part.name or "prompt://attached")
            return types.EmbeddedResource(resource=attached)
        case _:
            raise TypeError(f"a prompt is text, media or messages, and not {type(part).__name__}")


def contents_of(part: Text | Media, uri: str, media_type: str = "") -> types.ResourceContents:
    """A part as what is at an address."""
    if isinstance(part, Text):
        return types.TextResourceContents(uri=uri, mime_type=media_type or PLAIN_TEXT, text=part.text)
    kind = media_type or part.media_type
    if part.kind == "text":
        text = part.data.decode(errors="replace")
        return types.TextResourceContents(uri=uri, mime_type=kind, text=text)
    return types.BlobResourceContents(uri=uri, mime_type=kind, blob=b64encode(part.data).decode())


class Offers:
    """The resources and prompts of a server."""

    def __init__(
        self, resources: "Sequence[OfferedResource | ResourceList]", prompts: Sequence[OfferedPrompt]
    ) -> None:
        self.resources = [*resources]
        self.prompts = [*prompts]

    async def list_resources(self) -> list[types.Resource]:
        """Those at one address each."""
        listed: list[types.Resource] = []
        for each in self.resources:
            if not isinstance(each, OfferedResource):
                found = await each.resources()
                listed += [types.Resource(uri=uri, name=name, mime_type=MARKDOWN) for uri, name in found]
            elif not each.is_template:
                kind = each.media_type or None
                listed.append(types.Resource(uri=each.uri, mime_type=kind, **_about(each)))
        return listed

    def list_templates(self) -> list[types.ResourceTemplate]:
        """Those at many addresses."""
        return [
            types.ResourceTemplate(
                uri_template=each.uri, mime_type=each.media_type or None, **_about(each)
            )
            for each in self.resources
            if isinstance(each, OfferedResource) and each.is_template
        ]

    def list_prompts(self) -> list[types.Prompt]:
        """The prompts."""
        listed = []
        for each in self.prompts:
            required: Any = each.tool.parameters.get("required", [])
            arguments = [
                types.PromptArgument(
                    name=name, description=schema.get("description"), required=name in required
                )
                for name, schema in each.properties.items()
            ]
            listed.append(types.Prompt(arguments=arguments, **_about(each)))
        return listed

    async def find_resource(self, uri: str) -> tuple[OfferedResource, dict[str, Any]] | str:
        """The resource at an address and its arguments; or the text of one that was not known before."""
        for each in self.resources:
            if not isinstance(each, OfferedResource):
                text = await each.resource(uri)
                if text is not None:
                    return text
            elif each.uri == uri and not each.is_template:
                return each, {}
            elif each.is_template and (found := each.template.match(uri)) is not None:
                return each, to_types(each, found)
        raise MCPError(types.INVALID_PARAMS, "there is nothing at this address", {"uri": uri})

    def find_prompt(self, name: str) -> OfferedPrompt:
        """The prompt of that name."""
        for each in self.prompts:
            if each.tool.name == name:
                return each
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name!r}")

    async def complete(self, params: types.CompleteRequestParams) -> types.Completion:
        """Suggestions for an argument."""
        reference = params.ref
        offer: _Offer | None = None
        if isinstance(reference, types.PromptReference):
            offer = self.find_prompt(reference.name)
        else:
            for each in self.resources:
                if isinstance(each, OfferedResource) and each.uri == reference.uri:
                    offer = each
        if offer is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such template")
        given = (params.context and params.context.arguments) or {}
        found = await offer.suggest(params.argument.name, params.argument.value, given)
        shown = found[:_MOST_COMPLETIONS]
        return types.Completion(values=shown, total=len(found), has_more=len(found) > len(shown))


def _about(offer: _Offer) -> dict[str, Any]:
    told = offer.tool
    return {"name": told.name, "title": offer.title or None, "description": told.description or None}


def to_types(offer: _Offer, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments, which are texts in the protocol, as what the function declares."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        found[name] = value
        if isinstance(value, str) and offer.properties.get(name, {}).get("type") != "string":
            try:
                found[name] = parse(value)
            except JsonError:
                continue
    return found


def to_resource(offer: OfferedResource, uri: str, result: Result) -> types.ReadResourceResult:
    """What a resource's function returned, as the answer to a client."""
    contents: list[Any] = [contents_of(part, uri, offer.media_type) for part in result.content]
    return types.ReadResourceResult(contents=contents)


def to_prompt(offer: OfferedPrompt, text: str) -> types.GetPromptResult:
    """What a prompt's function returned, as the answer to a client."""
    said = _MESSAGES.validate_json(text)
    return types.GetPromptResult(description=offer.tool.description or None, messages=said)
