"""A server's list of tools, page by page, into our tools and the reasons for those that are refused.

The SDK's session accepts a list of tools as a whole or not at all, and validates results with its
schemas. So before the SDK parses it, each entry is checked by itself: a broken or hostile one is
removed, with the reason, and the schema of its results is set aside for our own validator, which cannot
be misled.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp.client.client import Client
from mcp_types import Tool as Listed
from msgspec import Struct, field
from pydantic import ValidationError

from rightcall.core.jsontext import JsonObject, JsonValue, depth, dump, shorten
from rightcall.core.references import local_target
from rightcall.core.schema import Schema, SchemaError, SchemaTooCostly
from rightcall.core.tool import Tool
from rightcall.declare.findings import Finding, suspicions
from rightcall.errors import DeclarationError, ProtocolError, UsageError
from rightcall.mcp.client.remote_tool import Invoke, definition_of, fit_names, tool_of
from rightcall.mcp.client.settings import ConnectionSettings
from rightcall.mcp.pins import Definition
from rightcall.process.deadline_validator import HAS_DEADLINES

OUTPUT = "rightcall/output-schema"
"""The key in a tool's ``_meta`` under which its output schema is set aside."""
REFUSED = "rightcall/refused"
"""The key in a list's ``_meta`` of the refused tools, as pairs of name and reason."""
MOST_TOOLS = 2000
_MOST_REFUSED = 100
_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 16 * 1024
_MOST_PAGES = 200
MOST_BYTES = 64 * 1024
MOST_DEPTH = 40
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")


class Listing(Struct, frozen=True, kw_only=True):
    """The tools that a server lists."""

    definitions: tuple[Definition, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Entries that cannot be used, and why."""


class AcceptedTools(Struct, frozen=True, kw_only=True, eq=False):
    """The tools of a listing that are offered here."""

    listing: Listing = Listing()
    tools: tuple[Tool, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Each tool's own name, and its name here."""
    refused: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


async def fetch(client: Client) -> Listing:
    """Every page of a server's list. Raises ProtocolError if there is no end of them."""
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


def accept_tools(listing: Listing, settings: ConnectionSettings, invoke: Invoke) -> AcceptedTools:
    """The tools of a list, each refused by itself if something is wrong with it."""
    names = fit_names([each.name for each in listing.definitions])
    tools: list[Tool] = []
    refused = dict(listing.refused)
    findings: list[Finding] = []
    for definition in listing.definitions:
        found: tuple[Finding, ...] = ()
        if "descriptions" not in settings.trust:
            words = {key: getattr(definition, key) for key in ("name", "title", "description")}
            found = suspicions(definition.name, words, definition.parameters)
        findings += found
        if settings.suspicious == "refuse" and found and found[0].weight == "danger":
            refused[definition.name] = f"{found[0].where}: {found[0].what}"
            continue
        try:
            tool = tool_of(
                definition,
                name=names[definition.name],
                server=settings.name,
                invoke=invoke,
                limits=settings.limits,
                trust=settings.trust,
            )
            tools.append(tool if settings.facts is None else settings.facts(tool, definition.name))
        except (DeclarationError, UsageError) as error:
            refused[definition.name] = (
                error.reason if isinstance(error, DeclarationError) else str(error)
            )
    return AcceptedTools(
        listing=listing, tools=tuple(tools), names=names, refused=refused, findings=tuple(findings)
    )


def filter_tools(result: dict[str, Any]) -> None:
    """Remove unusable entries from a list of tools, as it was received."""
    kept: list[dict[str, Any]] = []
    refused: list[tuple[str, str]] = []
    for entry in result["tools"]:
        reason = _judge(entry) if len(kept) < MOST_TOOLS else "one too many"
        if reason is None:
            tool = dict(entry)
            if "outputSchema" in tool:
                # Moved to where only we read it.
                meta = tool.get("_meta")
                output = {OUTPUT: tool.pop("outputSchema")}
                tool["_meta"] = (meta if isinstance(meta, dict) else {}) | output
            kept.append(tool)
        elif len(refused) < _MOST_REFUSED:
            refused.append((_name(entry), reason))
    result["tools"] = kept
    if refused:
        meta = result.get("_meta")
        result["_meta"] = (meta if isinstance(meta, dict) else {}) | {REFUSED: refused}


def _name(entry: object) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    if isinstance(name, str):
        return name[:_LONGEST_NAME]
    return "(without a name)"


def _judge(entry: object) -> str | None:
    """Why an entry of a list of tools cannot be used."""
    if not isinstance(entry, dict):
        return "it is no object"
    name = entry.get("name")
    description = entry.get("description")
    schema = entry.get("inputSchema")
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME:
        return f"its name is no text of 1 to {_LONGEST_NAME} characters"
    if isinstance(description, str) and len(description) > _LONGEST_DESCRIPTION:
        return f"its description has more than {_LONGEST_DESCRIPTION:,} characters"
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its inputSchema is no schema of an object"
    if reason := refuse(schema):
        return f"its inputSchema {reason}"
    output = entry.get("outputSchema")
    if output is not None and not isinstance(output, dict):
        return "its outputSchema is no object"
    if output is not None and (reason := refuse(output)):
        return f"its outputSchema {reason}"
    try:
        Listed.model_validate(entry, by_name=False)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return None


def refuse(schema: JsonObject) -> str | None:
    """Why a schema cannot be used: too large, too deep, reaching outside, circular, or invalid."""
    # The depth first: a schema that is too deep cannot safely be encoded, either.
    if depth(dict(schema)) > MOST_DEPTH:
        return f"is nested more than {MOST_DEPTH} levels deep"
    if len(dump(schema)) > MOST_BYTES:
        return f"has more than {MOST_BYTES:,} bytes"
    for reference in references(schema):
        if not reference.startswith("#"):
            return f"refers to {shorten(reference)}, outside of itself"
    if circle := _circle(schema):
        return f"refers in a circle to {shorten(circle)}"
    try:
        Schema(schema)
    except SchemaTooCostly:
        # It is then used in a process with a deadline, where the platform has one.
        if HAS_DEADLINES:
            return None
        return "can take too long to check with, and no process can do so"
    except SchemaError as error:
        return f"is not a JSON Schema: {error.problem}"
    return None


def references(node: JsonValue) -> Iterator[str]:
    """All references in a schema."""
    if isinstance(node, Mapping):
        for key, child in node.items():
            if key in _REFERENCES and isinstance(child, str):
                yield child
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


def _circle(schema: JsonObject) -> str | None:
    """A reference that leads back to itself for the same value: validating it would never end."""
    targets = {each for each in references(schema) if each.startswith(("#/", "#")) and each != "#"}
    known: set[str] = set()
    for start in sorted(targets):
        trail: list[str] = [start]
        seen: set[str] = set()
        while trail:
            reference = trail.pop()
            for onward in _in_place(local_target(schema, reference)):
                if onward == start:
                    return start
                if onward not in seen and onward not in known:
                    seen.add(onward)
                    trail.append(onward)
        known.add(start)
    return None


def _in_place(node: JsonValue) -> Iterator[str]:
    """The references in a schema that apply to the same value."""
    if not isinstance(node, Mapping):
        return
    reference = node.get("$ref")
    if isinstance(reference, str):
        yield reference
    for key in _IN_PLACE:
        yield from _in_place(node.get(key))
    for key in _IN_PLACE_LISTS:
        listed = node.get(key)
        for child in listed if isinstance(listed, list) else ():
            yield from _in_place(child)
