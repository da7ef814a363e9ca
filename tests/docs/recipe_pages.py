"""The recipes as their pages show them: programs, files, commands, and what is printed."""

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "recipes"
MAIN = 'if __name__ == "__main__":'
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`(?P<name>[\w.-]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file by the line before it, as in "`mcp.json`:"."""


def blocks(page: Path, kind: str) -> list[str]:
    return [found["text"] for found in BLOCK.finditer(page.read_text()) if found["kind"] == kind]


def file_name(program: str) -> str:
    """A program begins with its file's name and how it is run: "# chat.py: python chat.py"."""
    found = re.match(r"# (\w+\.py)", program)
    return found[1] if found else ""


def write_files(page: Path, folder: Path) -> None:
    """Put what a page shows as a file into one."""
    for found in NAMED.finditer(page.read_text()):
        (folder / found["name"]).write_text(found["text"])
    for program in blocks(page, "python"):
        if file_name(program):
            (folder / file_name(program)).write_text(program)


def commands(page: Path) -> list[tuple[list[str], str]]:
    """The commands of a page and what each prints; else its program is run without arguments."""
    shown = "".join(blocks(page, "console"))
    if not shown:
        program = next(block for block in blocks(page, "python") if MAIN in block)
        return [(["python", file_name(program)], "".join(blocks(page, "text")))]
    found = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    return [(shlex.split(command), printed) for command, printed in found]


def program_of(name: str) -> list[str]:
    """What runs a command of a page here, whatever is on the path."""
    known = {"python": [], "rightcall": ["-m", "rightcall.cli.main"], "pytest": ["-m", "pytest"]}
    return [sys.executable, *known[name]]


async def start(*command: str, cwd: Path, **more: str) -> asyncio.subprocess.Process:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **more,
    }
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def run(*command: str, cwd: Path, typed: str = "", **more: str) -> str:
    """What a command prints. It must end well, and say nothing on standard error."""
    process = await start(*command, cwd=cwd, **more)
    out, errors = await asyncio.wait_for(process.communicate(typed.encode()), 60)
    assert (process.returncode, errors.decode()) == (0, ""), out.decode() + errors.decode()
    return out.decode()
