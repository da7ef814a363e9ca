"""A server of the SDK's with resources, templates, prompts and completion."""

import warnings

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage
from mcp_types import Completion, PromptReference

warnings.simplefilter("ignore")
server = MCPServer("library")


@server.resource("book://one", mime_type="text/markdown", title="The first")
def one() -> str:
    """A book."""
    return "# One"


@server.resource("book://picture", mime_type="image/png")
def picture() -> bytes:
    return b"\x89PNG\r\n\x1a\n"


@server.resource("book://{shelf}/{number}")
def book(shelf: str, number: str) -> str:
    """Any book."""
    return f"{shelf} {number}"


@server.prompt()
def review(text: str, tone: str = "kind") -> list[object]:
    """Review a text."""
    return [UserMessage(f"Review, {tone}: {text}"), AssistantMessage("I will.")]


@server.completion()
async def complete(ref: object, argument: object, context: object) -> Completion | None:
    if isinstance(ref, PromptReference) and argument.name == "tone":
        return Completion(
            values=[each for each in ("kind", "keen", "harsh") if each.startswith(argument.value)]
        )
    return None


@server.tool()
async def touch(uri: str, context: Context) -> str:
    """Changes a resource."""
    await context.notify_resource_updated(uri)
    await context.session.send_resource_updated(uri)
    return "touched"


if __name__ == "__main__":
    server.run("stdio")
