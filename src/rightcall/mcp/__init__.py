"""MCP on the official SDK (the extra ``mcp``): tools on other servers, and our tools as a server.

``connect`` opens a server as a set of tools that may change; ``load_config`` reads the files in which
other programs list their servers; ``serve`` offers tools to clients.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.declare.findings import Finding as Finding
    from rightcall.mcp.client.callbacks import Sampling as Sampling
    from rightcall.mcp.client.catalogue import ListedPrompt as ListedPrompt
    from rightcall.mcp.client.catalogue import ListedResource as ListedResource
    from rightcall.mcp.client.endpoints import ClientCredentials as ClientCredentials
    from rightcall.mcp.client.endpoints import Http as Http
    from rightcall.mcp.client.endpoints import Login as Login
    from rightcall.mcp.client.endpoints import Stdio as Stdio
    from rightcall.mcp.client.endpoints import load_config as load_config
    from rightcall.mcp.client.note_log import Note as Note
    from rightcall.mcp.client.remote_servers import Group as Group
    from rightcall.mcp.client.remote_servers import LiveView as LiveView
    from rightcall.mcp.client.remote_servers import Server as Server
    from rightcall.mcp.client.remote_servers import connect as connect
    from rightcall.mcp.client.remote_servers import connect_all as connect_all
    from rightcall.mcp.pins import Pins as Pins
    from rightcall.mcp.server.offers import prompt as prompt
    from rightcall.mcp.server.offers import resource as resource
    from rightcall.mcp.server.tool_server import serve as serve

_HOMES = {
    "declare.findings": ("Finding",),
    "mcp.client.callbacks": ("Sampling",),
    "mcp.client.catalogue": ("ListedPrompt", "ListedResource"),
    "mcp.client.endpoints": ("ClientCredentials", "Http", "Login", "Stdio", "load_config"),
    "mcp.client.note_log": ("Note",),
    "mcp.client.remote_servers": ("Group", "LiveView", "Server", "connect", "connect_all"),
    "mcp.pins": ("Pins",),
    "mcp.server.offers": ("prompt", "resource"),
    "mcp.server.tool_server": ("serve",),
}
lazily(__name__, index_homes(_HOMES))
