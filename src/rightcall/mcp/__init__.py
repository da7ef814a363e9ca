"""MCP on the official SDK (the extra ``mcp``): tools that live on servers, and our tools as a server.

``connect`` opens a server as a set of tools that may change; ``load_config`` reads the files that other
programs keep of their servers; ``serve`` offers tools to whoever connects.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.mcp.client.config import load_config
    from rightcall.mcp.client.group import Group, connect_all
    from rightcall.mcp.client.lint import Finding
    from rightcall.mcp.client.live import LiveView
    from rightcall.mcp.client.notes import Note
    from rightcall.mcp.client.sampling import Sampling
    from rightcall.mcp.client.server import Server, connect
    from rightcall.mcp.client.target import Http, Stdio
    from rightcall.mcp.pins import Pins
    from rightcall.mcp.server.running import serve

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
        "Finding": "mcp.client.lint",
        "Group": "mcp.client.group",
        "Http": "mcp.client.target",
        "LiveView": "mcp.client.live",
        "Note": "mcp.client.notes",
        "Pins": "mcp.pins",
        "Sampling": "mcp.client.sampling",
        "Server": "mcp.client.server",
        "Stdio": "mcp.client.target",
        "connect": "mcp.client.server",
        "connect_all": "mcp.client.group",
        "load_config": "mcp.client.config",
        "serve": "mcp.server.running",
    },
    missing=dict.fromkeys(
        ["mcp", "mcp_types"], "MCP needs its SDK, version 2: pip install 'rightcall[mcp]'"
    ),
)
