"""MCP on the official SDK (the extra ``mcp``): tools on other servers, and our tools as a server.

``connect`` opens a server as a set of tools that may change; ``load_config`` reads the files in which
other programs list their servers; ``serve`` offers tools to clients.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.declare.finding import Finding
    from rightcall.mcp.client.callbacks import Sampling
    from rightcall.mcp.client.config import load_config
    from rightcall.mcp.client.endpoints import Http, Stdio
    from rightcall.mcp.client.note_log import Note
    from rightcall.mcp.client.remote_servers import Group, LiveView, Server, connect, connect_all
    from rightcall.mcp.pins import Pins
    from rightcall.mcp.server.tool_server import serve

__all__ = [
    "Finding",
    "Group",
    "Http",
    "LiveView",
    "Note",
    "Pins",
    "Sampling",
    "Server",
    "Stdio",
    "connect",
    "connect_all",
    "load_config",
    "serve",
]

lazily(
    __name__,
    {
        "Finding": "declare.finding",
        "Group": "mcp.client.remote_servers",
        "Http": "mcp.client.endpoints",
        "LiveView": "mcp.client.remote_servers",
        "Note": "mcp.client.note_log",
        "Pins": "mcp.pins",
        "Sampling": "mcp.client.callbacks",
        "Server": "mcp.client.remote_servers",
        "Stdio": "mcp.client.endpoints",
        "connect": "mcp.client.remote_servers",
        "connect_all": "mcp.client.remote_servers",
        "load_config": "mcp.client.config",
        "serve": "mcp.server.tool_server",
    },
)
