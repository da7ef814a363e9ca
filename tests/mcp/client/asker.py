"""A server of the SDK's whose tools ask: by a request, by a result, and by what the SDK makes of either.

``modern`` makes it refuse the handshake, as servers do that speak the newest protocol only.
"""

import sys
import warnings
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    UNSUPPORTED_PROTOCOL_VERSION,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

warnings.simplefilter("ignore")
server = MCPServer("asker")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Name(BaseModel):
    name: str


def who() -> Elicit[Name]:
    return Elicit("Your name?", Name)


@server.tool()
async def by_request(context: Context) -> str:
    """Asks in the middle, as before 2026."""
    answer = await context.elicit("Your name?", Name)
    return str(answer.data.name)


@server.tool()
def by_either(name: Annotated[Name, Resolve(who)]) -> str:
    """Asks as the connection can."""
    return name.name


@server.tool()
async def by_result(context: Context) -> Any:
    """Asks by a result, as since 2026, and says so where that cannot be, as fastmcp does."""
    if context.request_context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(INVALID_PARAMS, "the result type only exists at MCP 2026-07-28; use ctx.elicit()")
    given = context.input_responses
    if given:
        return str(given["name"].content["name"])
    params = ElicitRequestFormParams(message="Your name?", requested_schema=FORM)
    return InputRequiredResult(input_requests={"name": ElicitRequest(params=params)})


@server.tool()
async def of_a_model(context: Context) -> str:
    """Asks the client's model."""
    said = SamplingMessage(role="user", content=TextContent(text="Rhyme on shop."))
    answer = await context.session.create_message([said], max_tokens=50)
    return answer.content.text


@server.tool()
async def for_folders(context: Context) -> str:
    """Asks for the folders."""
    return str(len((await context.session.list_roots()).roots))


async def refuse(*_: Any) -> Any:
    raise MCPError(UNSUPPORTED_PROTOCOL_VERSION, "newer", data={"supported": ["2026-07-28"]})


async def filtered(context: Any, proceed: Any) -> Any:
    if context.method == "initialize":
        await refuse()
    return await proceed(context)


if __name__ == "__main__":
    if sys.argv[1:] == ["modern"]:
        server._lowlevel_server.middleware.append(filtered)
    server.run("stdio")
