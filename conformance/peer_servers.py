"""One server by each of three libraries: rightcall, sdk or fastmcp; over stdio, or at a port.

Each has a tool that adds, tools that ask as the library can, a resource, a template and a prompt. With
a third argument, fastmcp's wants a login.
"""

import sys
import warnings
from typing import Annotated, Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

warnings.simplefilter("ignore")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Name(BaseModel):
    name: str


def question() -> InputRequiredResult:
    """A question as a result."""
    params = ElicitRequestFormParams(message="Your name?", requested_schema=FORM)
    return InputRequiredResult(input_requests={"name": ElicitRequest(params=params)})


def by_rightcall(transport: str) -> None:
    import rightcall as rc  # noqa: PLC0415 - each library is loaded by its own server only
    from rightcall.mcp.server import Filled, Form, Listen, caller  # noqa: PLC0415

    @rc.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @rc.tool
    async def ask() -> str:
        """Ask for a name."""
        who = caller()
        assert who is not None
        form = Form(message="Your name?", fields={"name": {"type": "string"}}, required=("name",))
        filled = (await who.ask(name=form))["name"]
        assert isinstance(filled, Filled)
        return str(filled.content["name"])

    @rc.mcp.resource("data://one")
    def one() -> str:
        """One."""
        return "One."

    @rc.mcp.resource("data://{name}/x")
    def named(name: str) -> str:
        """Any."""
        return f"x of {name}"

    @rc.mcp.prompt
    def review(text: str) -> str:
        """Review."""
        return f"Review: {text}"

    listen = None if transport == "stdio" else Listen(port=int(transport))
    rc.mcp.serve([add, ask], listen=listen, resources=[one, named], prompts=[review])


def by_sdk(transport: str) -> None:
    from mcp.server.mcpserver import Context, MCPServer  # noqa: PLC0415
    from mcp.server.mcpserver.resolve import Elicit, Resolve  # noqa: PLC0415

    # What annotations name is looked up among the globals.
    globals()["Context"] = Context
    server = MCPServer("sdk")

    def who() -> Any:
        return Elicit("Your name?", Name)

    who.__annotations__["return"] = Elicit[Name]

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    async def ask(context: Context) -> str:
        return str((await context.elicit("Your name?", Name)).data.name)

    @server.tool()
    def ask_either(name: Annotated[Name, Resolve(who)]) -> str:
        return name.name

    add_offers(server)
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(transport))


def by_fastmcp(transport: str, *, oauth: bool) -> None:
    from fastmcp import Context, FastMCP  # noqa: PLC0415
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider  # noqa: PLC0415
    from mcp.server.auth.settings import ClientRegistrationOptions  # noqa: PLC0415

    globals()["Context"] = Context
    auth = None
    if oauth:
        auth = InMemoryOAuthProvider(
            base_url=f"http://127.0.0.1:{transport}",
            client_registration_options=ClientRegistrationOptions(enabled=True),
        )
    server = FastMCP("fast", auth=auth)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def ask(context: Context) -> str:
        return str((await context.elicit("Your name?", Name)).data.name)

    @server.tool
    async def ask_by_result(context: Context) -> Any:
        given = context.input_responses
        return str(given["name"].content["name"]) if given else question()

    add_offers(server)
    if transport == "stdio":
        server.run("stdio", show_banner=False)
    else:
        server.run("http", port=int(transport), show_banner=False)


def add_offers(server: Any) -> None:
    @server.resource("data://one")
    def one() -> str:
        return "One."

    @server.resource("data://{name}/x")
    def named(name: str) -> str:
        return f"x of {name}"

    @server.prompt()
    def review(text: str) -> str:
        return f"Review: {text}"


if __name__ == "__main__":
    library, place, *more = sys.argv[1:]
    match library:
        case "rightcall":
            by_rightcall(place)
        case "sdk":
            by_sdk(place)
        case _:
            by_fastmcp(place, oauth=bool(more))
