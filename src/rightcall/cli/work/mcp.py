"""MCP servers: list what they offer, check and approve it, and log in at them."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import json_line, one_line
from rightcall.cli.servers import with_login
from rightcall.cli.work.mcp_files import check_name, known_servers, no_server
from rightcall.core.proposal import quotation
from rightcall.core.sanitize import printable, visible
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError, UsageError
from rightcall.mcp import Http, Login, Pins, Server, connect
from rightcall.mcp.client.endpoints import Endpoint, endpoint_of, read_entries
from rightcall.mcp.client.oauth import log_in, log_out
from rightcall.mcp.client.remote_servers import name_of
from rightcall.tools.lint_rules import lint
from rightcall.tools.token_cost import footprint

_MOST_LINT = 5


def run(options: Namespace) -> int:
    """Do one thing, server by server."""
    if options.action in {"login", "logout"}:
        return asyncio.run(_log_in_or_out(options))
    if options.action == "list" and not options.servers and options.config is None:
        return _list_known(as_json=options.json)
    return asyncio.run(_run(options))


async def _run(options: Namespace) -> int:
    code = OK
    for name, target in _chosen_servers(options).items():
        try:
            if isinstance(target, UsageError):
                raise target
            # Read by a person, not by a model: no suspicious description is left out.
            async with connect(
                with_login(target), name=name, suspicious="keep", connect_timeout=options.timeout
            ) as server:
                match options.action:
                    case "list":
                        _list(server, as_json=options.json)
                        done = True
                    case "pin":
                        done = _pin(server, Pins(options.pins), sure=options.yes)
                    case "doctor":
                        done = _examine(server, Pins(options.pins))
                    case _:
                        done = _verify(server, Pins(options.pins))
        except RightcallError as error:
            # What is wrong with an entry names its server already.
            whose = "" if error is target else f"{name}: "
            print(printable(f"rightcall: {whose}{error}"), file=sys.stderr)
            done = False
        code = code if done else NO_ANSWER
    return code


def _chosen_servers(options: Namespace) -> Mapping[str, Endpoint | UsageError]:
    """The requested servers, by name, or what is wrong with the entry of one.

    A misspelt name must start nothing: a program is what stands behind ``--``, or has a slash.
    """
    words: list[str] = options.servers
    program: list[str] = options.behind_dashes
    is_address = bool(words) and "://" in words[0]
    if options.config is None and (program or is_address or (words and "/" in words[0])):
        if (is_address and len(words) > 1) or (program and program != words):
            raise UsageError("one address, or one program behind --, at a time; --name names it")
        target = endpoint_of(words[0] if is_address else words)
        name = options.name or name_of(target)
        check_name(name)
        return {name: target}
    listed = _listed_servers(options)
    for word in words:
        if word not in listed:
            error = no_server(word, listed, options.config or "")
            raise UsageError(
                f"{error}. A program is given behind --: rightcall mcp {options.action} -- {word}"
            )
    if not words and options.config is None and (options.action != "doctor" or not listed):
        raise UsageError("which server? Give an address, --config FILE, or -- and a program")
    return {name: listed[name] for name in words or listed}


def _listed_servers(options: Namespace) -> Mapping[str, Endpoint | UsageError]:
    """The servers of the file that is named, or of all that this folder and user have."""
    if options.config is not None:
        return read_entries(options.config)
    return {name: target for _, name, target in known_servers()}


def _list_known(*, as_json: bool) -> int:
    found = list(known_servers())
    code = OK
    for file, name, target in found:
        is_wrong = isinstance(target, UsageError)
        if is_wrong:
            code = NO_ANSWER
        if as_json:
            what = "error" if is_wrong else "target"
            sys.stdout.write(json_line({"server": name, "file": str(file), what: str(target)}))
        elif is_wrong:
            print(printable(f"{name}: cannot be used: {target}"))
        else:
            print(printable(f"{name}: {target} in {file}"))
    if not found:
        print("no servers here; rightcall mcp add NAME adds one", file=sys.stderr)
    return code


async def _log_in_or_out(options: Namespace) -> int:
    url = _address(options)
    if options.action == "logout":
        if not await log_out(url):
            print(printable(f"rightcall: there is no login at {url}"), file=sys.stderr)
            return NO_ANSWER
        print(printable(f"{url}: logged out"))
        return OK
    login = Login(
        client_id=options.client_id, port=options.port, paste=_paste if options.paste else None
    )
    try:
        await log_in(url, login)
    except RightcallError as error:
        print(f"rightcall: {printable(str(error))}", file=sys.stderr)
        return NO_ANSWER
    print(printable(f"{url}: logged in"))
    return OK


def _address(options: Namespace) -> str:
    """The address of a server that is given by it, or by its name in a file."""
    word: str = options.server
    if "://" in word:
        return word
    listed = _listed_servers(options)
    target = listed.get(word)
    if target is None:
        raise no_server(word, listed, options.config or "")
    if isinstance(target, UsageError):
        raise target
    if not isinstance(target, Http):
        raise UsageError(f"{word} is a program; one logs in at addresses")
    return target.url


async def _paste(url: str) -> str:
    """Have the user open a page elsewhere, and paste the address that it leads to."""
    if url:
        print(f"Open this address in a browser:\n\n  {printable(url)}\n", file=sys.stderr)
        print("Its last page may not load. Paste the address of that page here:", file=sys.stderr)
    else:
        print("That is not the address of the last page. Once more:", file=sys.stderr)
    with suppress(EOFError):
        return await asyncio.to_thread(input)
    raise UsageError("nothing was pasted")


def _examine(server: Server, pins: Pins) -> bool:
    """Print how a server is: its tools, what they cost a model, and what is wrong with them."""
    box = Toolbox(list(server))
    cost = footprint(box)
    print(printable(f"{server.name}: works, by the protocol of {server.protocol_version}"))
    print(f"  tools: {len(box)}, about {cost.tokens:,} tokens in every request")
    for tool, reason in server.refused.items():
        print(printable(f"  {tool} cannot be used: {reason}"))
    for finding in server.findings:
        print(printable(f"  read this: {finding}"))
    found = lint(box)
    for each in found[:_MOST_LINT]:
        print(printable(f"  lint: {each}"))
    if len(found) > _MOST_LINT:
        print(f"  lint: {len(found) - _MOST_LINT} more; rightcall tools lint shows them")
    if server.name not in pins.servers():
        print(f"  pins: not approved; rightcall mcp pin {server.name}")
        return True
    differences = pins.differences(server.name, server.definitions)
    for difference in differences:
        print(printable(f"  pins: {difference}"))
    if not differences:
        print("  pins: as it was approved")
    return not differences


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
