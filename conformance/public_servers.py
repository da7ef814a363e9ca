"""Public MCP servers, from npm and PyPI, driven by rightcall without a network of their own.

``python conformance/public_servers.py`` installs them under ``.node`` and ``.venv-mcp-servers``, starts
each, lists what it offers, and has an agent with a scripted model use it. It ends with 1 if one fails.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

ROOT = Path(__file__).resolve().parents[1]
NODE = ROOT / ".node/node_modules"
PYTHON = ROOT / ".venv-mcp-servers"


class Public(NamedTuple):
    """A server: its package and version, what it is started with, and what is done with it."""

    package: str
    version: str
    arguments: Sequence[str]
    calls: Sequence[tuple[str, Mapping[str, Any], str]]
    """The tool, its arguments, and a part of what it answers."""
    script: str = ""
    """What Node runs, for a package of npm."""
    reads: str = ""
    """A resource that is read."""
    needs: tuple[str, ...] = ()
    """What else it is installed with."""


HERE = "{folder}"
SERVERS = (
    Public(
        "@modelcontextprotocol/server-everything",
        "2026.8.31",
        (),
        (("get-sum", {"a": 17, "b": 23}, "40"), ("echo", {"message": "hi"}, "hi")),
        "dist/index.js",
        "demo://resource/static/document/features.md",
    ),
    Public(
        "@modelcontextprotocol/server-filesystem",
        "2026.8.31",
        (HERE,),
        (("read_text_file", {"path": f"{HERE}/note.txt"}, "1234"),),
        "dist/index.js",
    ),
    Public(
        "@modelcontextprotocol/server-memory",
        "2026.8.31",
        (),
        (("search_nodes", {"query": "nobody"}, "entities"),),
        "dist/index.js",
        "memory://knowledge-graph",
    ),
    Public(
        "@modelcontextprotocol/server-sequential-thinking",
        "2026.8.31",
        (),
        (
            (
                "sequentialthinking",
                {"thought": "Hm.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
                "thoughtHistoryLength",
            ),
        ),
        "dist/index.js",
    ),
    Public(
        "@upstash/context7-mcp",
        "4.1.1",
        (),
        (("resolve-library-id", {"query": "x", "libraryName": "react"}, ""),),
        "dist/index.js",
    ),
    Public("@notionhq/notion-mcp-server", "2.5.2", (), (("API-get-self", {}, ""),), "bin/cli.mjs"),
    Public("mcp-server-git", "2026.10.19", (), (("git_status", {"repo_path": HERE}, "note.txt"),)),
    Public(
        "mcp-server-time",
        "2026.10.19",
        ("--local-timezone", "UTC"),
        (("get_current_time", {"timezone": "UTC"}, "UTC"),),
    ),
    Public("mcp-server-fetch", "2026.10.24", (), (("fetch", {"url": "http://127.0.0.1:9/"}, ""),)),
    Public(
        "mcp-server-sqlite",
        "2025.4.25",
        ("--db-path", f"{HERE}/tea.db"),
        (
            ("create_table", {"query": "create table tea (name text)"}, "created"),
            ("list_tables", {}, "tea"),
        ),
        "",
        "memo://insights",
        ("mcp<2",),
    ),
    Public("mcp-server-calculator", "0.2.1", (), (("calculate", {"expression": "17 * 23"}, "391"),)),
)


def install() -> None:
    """Install what is not there yet."""
    npm = [f"{each.package}@{each.version}" for each in SERVERS if each.script]
    if not all((NODE / each.package).exists() for each in SERVERS if each.script):
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([*command, "--prefix", str(NODE.parent), *npm], check=True)
    for each in SERVERS:
        place = PYTHON / each.package
        if not each.script and not (place / "bin" / each.package).exists():
            # One environment each: they want different versions of the SDK.
            venv.create(place, with_pip=True)
            pip = [str(place / "bin/python"), "-m", "pip", "install", "--quiet"]
            wanted = f"{each.package}=={each.version}"
            subprocess.run([*pip, "--disable-pip-version-check", wanted, *each.needs], check=True)


def command_of(server: Public, folder: str) -> list[str]:
    given = [each.replace(HERE, folder) for each in server.arguments]
    if server.script:
        return [shutil.which("node") or "node", str(NODE / server.package / server.script), *given]
    return [str(PYTHON / server.package / "bin" / server.package), *given]


async def drive(server: Public, folder: str) -> str:
    """Use a server; returns what there was, and raises AssertionError for what was wrong."""
    async with rc.mcp.connect(command_of(server, folder), name="peer", connect_timeout=60) as opened:
        asked = []
        for name, arguments, _ in server.calls:
            filled = {
                key: each.replace(HERE, folder) if isinstance(each, str) else each
                for key, each in arguments.items()
            }
            asked.append(call(name, **filled))
        result = await rc.Agent(ScriptedModel([reply(each) for each in asked] + ["Done."]), opened).run(
            "Go."
        )
        for (name, _, part), made in zip(server.calls, result.calls, strict=True):
            # Those that need a network of their own fail; what matters is that they say so.
            expected = {"returned"} if part else {"returned", "failed"}
            assert made.outcome in expected, f"{name}: {made.outcome}: {made.result.text}"
            assert part in made.result.text, f"{name}: {made.result.text}"
        resources = await opened.resources()
        prompts = await opened.prompts()
        if server.reads:
            assert await opened.read(server.reads)
        return (
            f"{opened.protocol_version}, {len(opened.names())} tools, {len(resources)} resources, "
            f"{len(prompts)} prompts, refused: {len(opened.refused)}"
        )


def prepare(folder: str) -> None:
    """What the servers find in their folder."""
    Path(folder, "note.txt").write_text("The code is 1234.")
    subprocess.run(["git", "init", "--quiet", folder], check=True)


async def main() -> int:
    install()
    faults = 0
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as folder:
            await asyncio.to_thread(prepare, folder)
            try:
                print(f"{server.package} {server.version}: {await drive(server, folder)}")
            except (AssertionError, rc.errors.RightcallError) as error:
                faults += 1
                print(f"{server.package} {server.version}: FAILED: {error}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
