"""Tools, which may change, into the answer to ``tools/list``: schemas, hints and titles."""

from collections.abc import Iterator, Mapping

from mcp_types import ListToolsResult, ToolAnnotations
from mcp_types import Tool as Listed
from msgspec import Struct

from rightcall.core.ports import LiveTools
from rightcall.core.tool import Tool
from rightcall.declare.returns import Returns, returns_of
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import DeclarationError
from rightcall.log import logger


class Offer(Struct, frozen=True, eq=False):
    """A tool as a client sees it, and what its values must fit."""

    listed: Listed
    returns: Returns | None


def offer(tool: Tool) -> Offer:
    """What is offered of a tool.

    One whose words outsiders may have written promises no structure: its result is a label and, inside
    it, text. Fields beside the label would reach the model without it.
    """
    returns = None if tool.facts.untrusted else returns_of(tool)
    listed = Listed(
        name=tool.name,
        title=tool.short or _title(tool.name),
        description=tool.description,
        input_schema=dict(tool.parameters),
        output_schema=None if returns is None else dict(returns.schema),
        annotations=hints(tool),
    )
    return Offer(listed, returns)


def hints(tool: Tool) -> ToolAnnotations:
    """What a tool's effect and facts say in MCP's words.

    What nobody said is left out, and the protocol then has clients expect the worst.
    """
    reads = tool.effect in {"pure", "read"}
    reach = "nothing" if tool.effect == "pure" else tool.facts.reach
    return ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=False if reads else None,
        idempotent_hint=tool.effect != "write",
        open_world_hint=None if reach is None else reach == "outside",
    )


def _title(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


class ToolsList:
    """What is offered of a source, as it is at each look."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self._take(Toolbox(source))

    tools: Toolbox
    listed: ListToolsResult
    returns: Mapping[str, Returns | None]
    """By tool: what its values must fit."""

    @property
    def changes(self) -> bool:
        """Whether anything in the source may change."""
        return bool(self._live)

    def look(self) -> "ToolsList":
        """Itself, brought up to date.

        What would make no toolbox, as two tools of one name, leaves things as they were.
        """
        versions = self._versions()
        if versions != self._seen:
            self._seen = versions
            try:
                self._take(Toolbox(self._source))
            except DeclarationError as error:
                logger.warning("the tools changed and cannot be served as they are now: %s", error)
        return self

    def _take(self, tools: Toolbox) -> None:
        offers: dict[str, Offer] = {tool.name: offer(tool) for tool in tools}
        self.tools = tools
        self.listed = ListToolsResult(tools=[each.listed for each in offers.values()])
        self.returns = {name: each.returns for name, each in offers.items()}

    def _versions(self) -> tuple[int, ...]:
        return tuple([each.version for each in self._live])


def _live_in(source: ToolSource) -> Iterator[LiveTools]:
    if isinstance(source, LiveTools):
        yield source
    elif isinstance(source, list | tuple) and not isinstance(source, Tool):
        for each in source:
            yield from _live_in(each)
