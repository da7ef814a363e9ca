"""MCP servers: list their tools, approve them, and verify that they are still what was approved."""

import asyncio
import sys
from argparse import Namespace

import msgspec

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import json_line, one_line
from rightcall.core.proposal import quotation
from rightcall.core.sanitize import printable, visible
from rightcall.errors import RightcallError, UsageError
from rightcall.mcp import Pins, Server, connect, load_config
from rightcall.mcp.client.endpoints import Given, endpoint_of
from rightcall.mcp.client.remote_servers import name_of


def run(options: Namespace) -> int:
    """List, pin or verify, server by server."""
    return asyncio.run(_run(options))


async def _run(options: Namespace) -> int:
    code = OK
    for name, target in _chosen_servers(options).items():
        try:
            # Read by a person, not by a model: no suspicious description is left out.
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
            print(f"rightcall: {printable(str(error))}", file=sys.stderr)
            done = False
        code = code if done else NO_ANSWER
    return code


def _chosen_servers(options: Namespace) -> dict[str, Given]:
    """The requested servers, by name."""
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


def _list(server: Server, *, as_json: bool) -> None:
    for each in server.definitions:
        found = [str(finding) for finding in server.findings if finding.tool == each.name]
        if as_json:
            fields = msgspec.to_builtins(each)
            sys.stdout.write(json_line({"server": server.name, **fields, "findings": found}))
            continue
        print(printable(f"{server.name}/{each.name}: {one_line(each.description, 100)}"))
        for finding in found:
            print(printable(f"  read this: {finding}"))
    for tool, reason in server.refused.items():
        print(printable(f"{server.name}/{tool} cannot be used: {reason}"), file=sys.stderr)


def _pin(server: Server, pins: Pins, *, sure: bool) -> bool:
    """Show the definitions, ask for approval, and write the pins."""
    changed = {each.name for each in server.definitions}
    if server.name in pins.servers():
        if _verify(server, pins):
            return True
        changed = {each.tool for each in pins.differences(server.name, server.definitions)}
    for each in server.definitions:
        if each.name in changed:
            print(quotation(each.name, each.description))
    for finding in server.findings:
        print(visible(f"read this: {finding}"))
    if not sure:
        if not sys.stdin.isatty():
            print("rightcall: nobody is there to ask; --yes approves", file=sys.stderr)
            return False
        answer = input(f"Approve {len(changed)} tools of {server.name}? [y/N] ")
        if answer.strip().lower() not in {"y", "yes"}:
            return False
    pins.approve(server.name, server.definitions)
    print(printable(f"{server.name}: {len(server.definitions)} tools approved in {pins.path}"))
    return True


def _verify(server: Server, pins: Pins) -> bool:
    found = pins.differences(server.name, server.definitions)
    for difference in found:
        print(printable(f"{server.name}: {difference}"))
    if not found:
        print(printable(f"{server.name}: as it was approved"))
    return not found
