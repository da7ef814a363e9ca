"""The recipes as their pages show them: programs, files, commands, and what is printed."""

import asyncio
import gc
import io
import logging
import os
import re
import runpy
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from rightcall.cli.main import main

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


def _path() -> str:
    """Where commands are looked for: those of this environment first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


async def start(*command: str, cwd: Path, **more: str) -> asyncio.subprocess.Process:
    environment = {
        **os.environ,
        "PATH": _path(),
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


async def run_here(*command: str, cwd: Path, **more: str) -> str:
    """The same in this process, which saves a start: ``python FILE ...`` and ``rightcall ...``."""
    with pytest.MonkeyPatch.context() as patch, same_logging():
        patch.chdir(cwd)
        patch.syspath_prepend(str(cwd))
        for name, value in {**more, "PATH": _path()}.items():
            patch.setenv(name, value)
        code, out, errors = await asyncio.wait_for(asyncio.to_thread(_ran, command), 60)
    _forget(cwd)
    assert (code, errors) == (0, ""), out + errors
    return out


@contextmanager
def same_logging() -> Iterator[None]:
    """Put logging back as it was: to set it up, as a program does, changes it for the whole process."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "rightcall"]
    loggers = [logging.root, *map(logging.getLogger, names)]
    before = [(each, each.level, each.propagate, [*each.handlers]) for each in loggers]
    try:
        yield
    finally:
        for each, level, propagate, handlers in before:
            each.setLevel(level)
            each.propagate, each.handlers[:] = propagate, handlers


def _ran(command: tuple[str, ...]) -> tuple[int, str, str]:
    name, *arguments = command
    out, errors, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = arguments
    try:
        with redirect_stdout(out), redirect_stderr(errors):
            if name == "rightcall":
                return main(arguments), out.getvalue(), errors.getvalue()
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), errors.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue(), errors.getvalue()


def _forget(folder: Path) -> None:
    """Drop what was imported from a folder, and what a program leaves open at its end, as they do."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
