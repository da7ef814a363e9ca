"""Tools as an MCP server: over standard input and output, or over HTTP."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.mcp.server.bounds import Bounds
    from rightcall.mcp.server.listen import Listen, OAuth
    from rightcall.mcp.server.peer import Caller, caller
    from rightcall.mcp.server.questions import Filled, Form, RootList, Roots, Sample, Sampled
    from rightcall.mcp.server.running import serve
    from rightcall.mcp.server.server import ServerSettings, ToolServer

__all__ = [
    "Bounds",
    "Caller",
    "Filled",
    "Form",
    "Listen",
    "OAuth",
    "RootList",
    "Roots",
    "Sample",
    "Sampled",
    "ServerSettings",
    "ToolServer",
    "caller",
    "serve",
]

lazily(
    __name__,
    {
        "Bounds": "mcp.server.bounds",
        "Caller": "mcp.server.peer",
        "Filled": "mcp.server.questions",
        "Form": "mcp.server.questions",
        "Listen": "mcp.server.listen",
        "OAuth": "mcp.server.listen",
        "RootList": "mcp.server.questions",
        "Roots": "mcp.server.questions",
        "Sample": "mcp.server.questions",
        "Sampled": "mcp.server.questions",
        "ServerSettings": "mcp.server.server",
        "ToolServer": "mcp.server.server",
        "caller": "mcp.server.peer",
        "serve": "mcp.server.running",
    },
)
