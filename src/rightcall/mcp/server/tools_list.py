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
    """A tool as a client sees it, and the schema of its values."""

    listed: Listed
    returns: Returns | None


def offer(tool: Tool) -> Offer:
    """The offer of a tool.

    A tool whose results may be untrusted text declares no output schema: its result is a label with text
    inside. Structured fields beside the label would reach the model without it.
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
    """A tool's effect and facts as MCP's hints.

    Unknown ones are left out, and the protocol then has clients assume the worst.
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
    """The offers of a source, updated at each look."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._live = tuple(_live_in(source))
        self._seen = self._versions()
        self._take(Toolbox(source))

    tools: Toolbox
    listed: ListToolsResult
    returns: Mapping[str, Returns | None]
    """By tool: the schema of its values."""

    @property
    def changes(self) -> bool:
        """Whether anything in the source may change."""
        return bool(self._live)

    def look(self) -> "ToolsList":
        """Itself, brought up to date.

        Tools that cannot form a toolbox, such as two of one name, leave the offers unchanged.
        """
        if self._live and (versions := self._versions()) != self._seen:
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
