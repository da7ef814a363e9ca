"""Opens the MCP servers that ``--mcp`` names: a file of them, an address, or a command."""

import shlex
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack

from msgspec.structs import replace

from rightcall.core.sanitize import printable
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.mcp import Group, connect_all, load_config
from rightcall.mcp.client.endpoints import Endpoint, Given, Http, Login, endpoint_of
from rightcall.mcp.client.oauth import has_login
from rightcall.mcp.client.remote_servers import name_of
from rightcall.mcp.client.remote_tool import fit_names


async def open_servers(places: Sequence[str]) -> Group:
    """The servers, opened. A server that fails is reported, and does not affect the others."""
    group = await connect_all(targets_of(places)).__aenter__()
    for name, error in group.failed.items():
        print(printable(f"rightcall: the server {name} is left out: {error}"), file=sys.stderr)
    return group


async def list_tools(places: Sequence[str]) -> dict[str, dict[str, Tool]]:
    """Each server's current tools, by the server's own names, which facts use."""
    group = await open_servers(places)
    listed: dict[str, dict[str, Tool]] = {}
    async with AsyncExitStack() as opened:
        opened.push_async_exit(group)
        for name, server in group.servers.items():
            tools = {tool.name: tool for tool in server}
            listed[name] = {}
            for own, here in fit_names([each.name for each in server.definitions]).items():
                if here in tools:
                    listed[name][own] = tools[here]
    return listed


def targets_of(places: Sequence[str]) -> dict[str, Given]:
    """The endpoints of the servers, by name."""
    targets: dict[str, Given] = {}
    for place in places:
        for name, target in _targets_at(place).items():
            if name in targets:
                raise UsageError(
                    f"--mcp {place}: there is another server {name!r}; put both in one file"
                )
            targets[name] = target
    return targets


def _targets_at(place: str) -> dict[str, Given]:
    if place.endswith((".json", ".jsonc")) and " " not in place:
        return {name: with_login(target) for name, target in load_config(place).items()}
    if "://" in place and " " not in place:
        target = endpoint_of(place)
    else:
        try:
            words = shlex.split(place)
        except ValueError as error:
            raise UsageError(f"--mcp {place}: {error}") from error
        if not words:
            raise UsageError("--mcp: give a file of servers (.json), an address, or a command")
        target = endpoint_of(words)
    return {name_of(target): with_login(target)}


def with_login(target: Endpoint) -> Endpoint:
    """The target with the login that the user keeps for it. Commands do not ask for one midway."""
    if isinstance(target, Http) and (target.auth is None or isinstance(target.auth, Login)):
        asked_for = target.auth is not None
        if asked_for or (
            "authorization" not in map(str.lower, target.headers) and has_login(target.url)
        ):
            known = target.auth or Login()
            return replace(target, auth=replace(known, interactive=False))
    return target
