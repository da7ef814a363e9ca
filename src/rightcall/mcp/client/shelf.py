"""A server's list of tools, page by page, into tools of ours and the reasons for those that are not."""

from collections.abc import Callable, Mapping

from mcp.client.client import Client
from msgspec import Struct, field

from rightcall.core.tool import Tool
from rightcall.errors import DeclarationError, ProtocolError
from rightcall.mcp.client.lint import Finding, lint
from rightcall.mcp.client.names import fit_all
from rightcall.mcp.client.settings import Settings
from rightcall.mcp.client.sieve import MOST_TOOLS, OUTPUT, REFUSED
from rightcall.mcp.client.tool import Invoke, definition_of, tool_of
from rightcall.mcp.definition import Definition

_MOST_PAGES = 200


class Listing(Struct, frozen=True, kw_only=True):
    """What a server says that it has."""

    definitions: tuple[Definition, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Entries that cannot be used, and why."""


class Shelf(Struct, frozen=True, kw_only=True, eq=False):
    """What of it is offered here."""

    listing: Listing = Listing()
    tools: tuple[Tool, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Each tool's own name, and the one it has here."""
    refused: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


async def fetch(client: Client) -> Listing:
    """Every page of a server's list. Raises ProtocolError when there is no end of them."""
    definitions: dict[str, Definition] = {}
    refused: dict[str, str] = {}
    if client.server_capabilities.tools is None and client.session.initialize_result is not None:
        return Listing()
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        refused.update((page.meta or {}).get(REFUSED, ()))
        for listed in page.tools:
            if listed.name in definitions:
                refused[listed.name] = "the name is listed twice, and only the first is taken"
            elif len(definitions) >= MOST_TOOLS:
                refused[listed.name] = "one too many"
            else:
                output = (listed.meta or {}).get(OUTPUT)
                definitions[listed.name] = definition_of(listed, output)
        if page.next_cursor is None:
            return Listing(definitions=tuple(definitions.values()), refused=refused)
        if page.next_cursor == cursor:
            raise ProtocolError("its list of tools leads back to the same page")
        cursor = page.next_cursor
    raise ProtocolError(f"its list of tools has more than {_MOST_PAGES} pages")


def stock(listing: Listing, settings: Settings, invoke: Callable[[Definition], Invoke]) -> Shelf:
    """The tools of a list, each refused by itself where something is wrong with it."""
    names = fit_all([each.name for each in listing.definitions])
    tools: list[Tool] = []
    refused = dict(listing.refused)
    findings: list[Finding] = []
    for definition in listing.definitions:
        found = lint(definition) if "descriptions" not in settings.trust else ()
        findings += found
        if settings.suspicious == "refuse" and found and found[0].weight == "danger":
            refused[definition.name] = f"{found[0].where}: {found[0].what}"
            continue
        try:
            tools.append(
                tool_of(
                    definition,
                    name=names[definition.name],
                    server=settings.name,
                    invoke=invoke(definition),
                    limits=settings.limits,
                    trust=settings.trust,
                )
            )
        except DeclarationError as error:
            refused[definition.name] = error.reason
    return Shelf(
        listing=listing, tools=tuple(tools), names=names, refused=refused, findings=tuple(findings)
    )
