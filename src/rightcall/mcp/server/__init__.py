"""Tools as an MCP server: over standard input and output, or over HTTP."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily
from rightcall.core.optional_libraries import require

if TYPE_CHECKING:
    from rightcall.mcp.server.offers import OfferedPrompt as OfferedPrompt
    from rightcall.mcp.server.offers import OfferedResource as OfferedResource
    from rightcall.mcp.server.offers import ResourceList as ResourceList
    from rightcall.mcp.server.remote_client import Caller as Caller
    from rightcall.mcp.server.remote_client import Filled as Filled
    from rightcall.mcp.server.remote_client import Form as Form
    from rightcall.mcp.server.remote_client import RootList as RootList
    from rightcall.mcp.server.remote_client import Roots as Roots
    from rightcall.mcp.server.remote_client import Sample as Sample
    from rightcall.mcp.server.remote_client import Sampled as Sampled
    from rightcall.mcp.server.remote_client import caller as caller
    from rightcall.mcp.server.serve_options import Bounds as Bounds
    from rightcall.mcp.server.serve_options import Listen as Listen
    from rightcall.mcp.server.serve_options import OAuth as OAuth
    from rightcall.mcp.server.tasks import TaskSupport as TaskSupport
    from rightcall.mcp.server.tool_server import ServerSettings as ServerSettings
    from rightcall.mcp.server.tool_server import ToolServer as ToolServer
    from rightcall.mcp.server.tool_server import serve as serve

# Nothing in here works without it.
require("mcp")
_HOMES = {
    "mcp.server.offers": ("OfferedPrompt", "OfferedResource", "ResourceList"),
    "mcp.server.remote_client": (
        "Caller",
        "Filled",
        "Form",
        "RootList",
        "Roots",
        "Sample",
        "Sampled",
        "caller",
    ),
    "mcp.server.serve_options": ("Bounds", "Listen", "OAuth"),
    "mcp.server.tasks": ("TaskSupport",),
    "mcp.server.tool_server": ("ServerSettings", "ToolServer", "serve"),
}
lazily(__name__, index_homes(_HOMES))
