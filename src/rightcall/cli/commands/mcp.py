"""MCP servers: list what they offer, approve it, and say whether it is still what was approved.

SERVER is an address, the name of an entry of --config FILE, or, after --, a program and its arguments.
Approved definitions are kept as hashes in a file (--pins), which connect(pins=...) holds servers to.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.exits import NO_ANSWER, OK

if TYPE_CHECKING:
    from rightcall.mcp.client.endpoints import Given
    from rightcall.mcp.client.remote_servers import Server
    from rightcall.mcp.pins import Pins

_PINS = "mcp-pins.json"


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|pin|verify")
    listing = actions.add_parser("list", help="the tools of servers, and what is wrong with any")
    pinning = actions.add_parser("pin", help="approve the tools of servers as they are now")
    verifying = actions.add_parser("verify", help="say what changed since it was approved")
    listing.add_argument("--json", action="store_true", help="one line of JSON for each tool")
    pinning.add_argument("--yes", action="store_true", help="approve without asking")
    for each in (listing, pinning, verifying):
        each.add_argument(
            "servers", nargs="*", metavar="SERVER", help="an address, or a name in the file"
        )
        each.add_argument(
            "--config", metavar="FILE", help="a file of servers, as other programs keep them"
        )
        each.add_argument("--name", help="what the one server is called in the file of pins")
        each.add_argument("--timeout", type=float, default=30.0, help="seconds a server has to start")
    for each in (pinning, verifying):
        each.add_argument("--pins", metavar="FILE", default=_PINS, help=f"{_PINS} unless given")


def run(options: Namespace) -> int:
    """List, pin or verify, server by server."""
    import asyncio  # noqa: PLC0415 - help and errors need none of this

    return asyncio.run(_run(options))


async def _run(options: Namespace) -> int:
    from rightcall.cli.safe import harmless  # noqa: PLC0415
    from rightcall.errors import RightcallError  # noqa: PLC0415
    from rightcall.mcp import Pins, connect  # noqa: PLC0415

    code = OK
    for name, target in _chosen(options).items():
        try:
            # Looked at by a person, and by no model: nothing is left out for what it says.
            async with connect(
                target, name=name, suspicious="keep", connect_timeout=options.timeout
            ) as server:
                match options.action:
                    case "list":
                        _list(server, as_json=options.json)
                        done = True
                    case "pin":
                        done = _pin(server, Pins(options.pins), sure=options.yes)
                    case _:
                        done = _verify(server, Pins(options.pins))
        except RightcallError as error:
            print(f"rightcall: {harmless(str(error))}", file=sys.stderr)
            done = False
        code = code if done else NO_ANSWER
    return code


def _chosen(options: Namespace) -> "dict[str, Given]":
    """The servers that are meant, by name."""
    from rightcall.errors import UsageError  # noqa: PLC0415
    from rightcall.mcp.client.config import load_config  # noqa: PLC0415
    from rightcall.mcp.client.endpoints import endpoint_of  # noqa: PLC0415
    from rightcall.mcp.client.remote_servers import name_of  # noqa: PLC0415

    words: list[str] = options.servers
    if options.config is not None:
        known = load_config(options.config)
        if missing := [word for word in words if word not in known]:
            there = ", ".join(known) or "none"
            raise UsageError(f"{options.config} has no server {missing[0]!r}; there is {there}")
        return {name: known[name] for name in words or known}
    if not words:
        raise UsageError("which server? Give an address, --config FILE, or -- and a program")
    target = endpoint_of(words[0] if "://" in words[0] else words)
    return {options.name or name_of(target): target}


def _list(server: "Server", *, as_json: bool) -> None:
    import msgspec  # noqa: PLC0415

    from rightcall.cli.described import line_of  # noqa: PLC0415
    from rightcall.cli.safe import harmless, one_line  # noqa: PLC0415

    refused = server.refused
    for each in server.definitions:
        found = [str(finding) for finding in server.findings if finding.tool == each.name]
        if as_json:
            fields = msgspec.to_builtins(each)
            sys.stdout.write(line_of({"server": server.name, **fields, "findings": found}))
            continue
        print(harmless(f"{server.name}/{each.name}: {one_line(each.description, 100)}"))
        for finding in found:
            print(harmless(f"  read this: {finding}"))
    for tool, reason in refused.items():
        print(harmless(f"{server.name}/{tool} cannot be used: {reason}"), file=sys.stderr)


def _pin(server: "Server", pins: "Pins", *, sure: bool) -> bool:
    """Show what would be approved, ask, and write it down."""
    from rightcall.cli.safe import harmless  # noqa: PLC0415

    if server.name in pins.servers():
        found = pins.differences(server.name, server.definitions)
        if not found:
            print(harmless(f"{server.name}: as it was approved"))
            return True
        changed = {difference.tool for difference in found}
        for difference in found:
            print(harmless(f"{server.name}: {difference}"))
    else:
        changed = {each.name for each in server.definitions}
    for each in server.definitions:
        if each.name in changed:
            print(harmless(f"{each.name}: {each.description}"))
    for finding in server.findings:
        print(harmless(f"read this: {finding}"))
    if not sure and not _agreed(f"Approve {len(changed)} tools of {server.name}?"):
        return False
    pins.approve(server.name, server.definitions)
    print(harmless(f"{server.name}: {len(server.definitions)} tools approved in {pins.path}"))
    return True


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        print("rightcall: nobody is there to ask; --yes approves", file=sys.stderr)
        return False
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def _verify(server: "Server", pins: "Pins") -> bool:
    from rightcall.cli.safe import harmless  # noqa: PLC0415

    found = pins.differences(server.name, server.definitions)
    for difference in found:
        print(harmless(f"{server.name}: {difference}"))
    if not found:
        print(harmless(f"{server.name}: as it was approved"))
    return not found
