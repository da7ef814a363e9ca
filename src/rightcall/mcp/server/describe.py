"""A tool into what MCP clients are told of it: schemas, hints and a title."""

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from msgspec import Struct

from rightcall.core.tool import Tool
from rightcall.declare.returns import Returns, returns_of


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
