"""Tools as an MCP server: over standard input and output, or over HTTP."""

from typing import TYPE_CHECKING

from rightcall.core.extras import require
from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.mcp.server.client_questions import Filled, Form, RootList, Roots, Sample, Sampled
    from rightcall.mcp.server.remote_client import Caller, caller
    from rightcall.mcp.server.serve_options import Bounds, Listen, OAuth
    from rightcall.mcp.server.tool_server import ServerSettings, ToolServer, serve

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

# Nothing in here works without it.
require("mcp")
lazily(
    __name__,
    {
        "Bounds": "mcp.server.serve_options",
        "Caller": "mcp.server.remote_client",
        "Filled": "mcp.server.client_questions",
        "Form": "mcp.server.client_questions",
        "Listen": "mcp.server.serve_options",
        "OAuth": "mcp.server.serve_options",
        "RootList": "mcp.server.client_questions",
        "Roots": "mcp.server.client_questions",
        "Sample": "mcp.server.client_questions",
        "Sampled": "mcp.server.client_questions",
        "ServerSettings": "mcp.server.tool_server",
        "ToolServer": "mcp.server.tool_server",
        "caller": "mcp.server.remote_client",
        "serve": "mcp.server.tool_server",
    },
)
