"""Short ways to call a tool for files, and a process that works against it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rightcall.core.handler import Context
from rightcall.core.jsontext import dump
from rightcall.core.problem import Valid
from rightcall.core.tool import Tool
from rightcall.errors import ToolFailure

ATTACKER = Path(__file__).with_name("attacker.py")
CANARY = "CANARY: this lies outside of the root"
INSIDE = "this lies inside of the root"
RESOLVERS = ("openat2", "walk")


def use(tool: Tool, **arguments: Any) -> str:
    """What the tool says to a call, after its schema has let the arguments pass."""
    verdict = tool.validate(dump(arguments), arguments)
    assert isinstance(verdict, Valid), verdict
    context = Context(call_id="c", tool=tool.name, dependencies=None)
    invocation = tool.invocation
    assert invocation is not None
    return invocation.call(verdict.bound, context)


def refusal(tool: Tool, **arguments: Any) -> str:
    """The words with which the tool fails."""
    try:
        returned = use(tool, **arguments)
    except ToolFailure as failure:
        return failure.message
    raise AssertionError(f"it did not fail: {returned}")


def tree(directory: Path) -> dict[str, bytes | str]:
    """All that is beneath a directory: the bytes of files, the targets of links."""
    found: dict[str, bytes | str] = {}
    for parent, directories, files in os.walk(directory):
        for name in [*directories, *files]:
            path = Path(parent, name)
            shown = str(path.relative_to(directory))
            if path.is_symlink():
                found[shown] = str(path.readlink())
            else:
                found[shown] = "directory" if path.is_dir() else path.read_bytes()
    return found


@contextmanager
def attacking(kind: str, base: Path) -> Iterator[None]:
    """Let another process swap things in a loop meanwhile."""
    command = [sys.executable, "-I", str(ATTACKER), kind, str(base)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as attacker:
        assert attacker.stdout is not None
        try:
            assert attacker.stdout.readline() == b"attacking\n"
            yield
            assert attacker.poll() is None, "the attacker has given up"
        finally:
            attacker.kill()
