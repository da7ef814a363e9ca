"""The small task: write a file by the client's own tool, run a command, quote what it printed.

The vendor's part of it is a script that goes by what the client offers and by the results that it
sent, as a model would. What the command prints is known to nobody before it has run.
"""

import json
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clients.upstream.exchange import Asked, Call, Offered, Reply

FILE = "hello.txt"
CONTENT = 'one "quoted" \\ line, with a tab\there\nand ünïcödé ✓ in 中文\n'
COMMAND = "sh number.sh"
PROMPT = f"Write the file {FILE}, run the command `{COMMAND}`, and quote what it printed."
PRINTED = re.compile(r"rc-[0-9a-f]{4}-[0-9a-f]{4}")

Arguments = Mapping[str, Any] | str


def _heredoc(path: Path) -> str:
    return f"cat > {path} <<'END'\n{CONTENT}END"


def _patch(path: Path) -> str:
    lines = "".join(f"+{line}\n" for line in CONTENT.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


def _javascript(command: str) -> str:
    return f"const r = await tools.exec_command({json.dumps({'cmd': command})}); text(r.output);"


WRITERS: Mapping[str, Callable[[Path], Arguments]] = {
    "Write": lambda path: {"file_path": str(path), "content": CONTENT},
    "write_file": lambda path: {"file_path": str(path), "content": CONTENT},
    "write": lambda path: {"filePath": str(path), "content": CONTENT},
    "apply_patch": _patch,
    "exec": lambda path: _javascript(_heredoc(path)),
    "exec_command": lambda path: {"cmd": _heredoc(path)},
}
RUNNERS: Mapping[str, Arguments] = {
    "Bash": {"command": COMMAND, "description": "Runs the script"},
    "run_shell_command": {"command": COMMAND, "description": "Runs the script"},
    "bash": {"command": COMMAND, "description": "Runs the script"},
    "run_command": {"command": COMMAND},
    "exec": _javascript(COMMAND),
    "exec_command": {"cmd": COMMAND},
}


def find(tools: tuple[Offered, ...], names: Mapping[str, Any]) -> tuple[str, Offered] | None:
    """The first of these names that is offered, also behind the name of a group."""
    for name in names:
        for tool in tools:
            if tool.name == name or re.search(rf"(__|\.|/){name}$", tool.name):
                return name, tool
    return None


def call(tool: Offered, arguments: Arguments) -> Call:
    """Text goes as text to a tool that takes text, and into the one member of a tool that takes JSON."""
    if isinstance(arguments, str) and not tool.freeform:
        (member,) = tool.schema["properties"]
        return Call(tool, {member: arguments})
    return Call(tool, arguments)


class Task:
    """One telling of it, in a folder of its own."""

    def __init__(self, folder: Path, *, parallel: bool = False) -> None:
        self.folder = folder
        self.parallel = parallel
        halves = secrets.token_hex(2), secrets.token_hex(2)
        self.printed = f"rc-{halves[0]}-{halves[1]}"
        (folder / "number.sh").write_text(f"printf 'rc-%s-%s\\n' {halves[0]} {halves[1]}\n")

    def __call__(self, asked: Asked) -> Reply:
        writer, runner = find(asked.tools, WRITERS), find(asked.tools, RUNNERS)
        if writer is None or runner is None:
            return self._without_tools(asked)
        write = call(writer[1], WRITERS[writer[0]](self.folder / FILE))
        run = call(runner[1], RUNNERS[runner[0]])
        if not asked.results:
            return Reply("I write the file.", (write, run) if self.parallel else (write,))
        if len(asked.results) == 1:
            return Reply(calls=(run,))
        return self._quote("\n".join(asked.results))

    def go_on(self, asked: Asked) -> Reply:
        """The rest of it, where what was done so far is gone from the conversation."""
        runner, results = find(asked.tools, RUNNERS), "\n".join(asked.results)
        if runner is None or PRINTED.search(results):
            return self._quote(results)
        return Reply(calls=(call(runner[1], RUNNERS[runner[0]]),))

    def _quote(self, results: str) -> Reply:
        found = PRINTED.search(results)
        return Reply(f"The command printed: {found[0] if found else 'nothing that I was shown'}")

    def _without_tools(self, asked: Asked) -> Reply:
        """Titles, and aider, whose edits are text and whose command's output comes as a message."""
        if "SEARCH/REPLACE" not in asked.text:
            return Reply("A small task")
        if PRINTED.search(asked.text):
            return self._quote(asked.text)
        return Reply(
            f"I write the file.\n\n{FILE}\n```\n<<<<<<< SEARCH\n=======\n{CONTENT}>>>>>>> REPLACE\n```\n"
        )

    def done(self) -> bool:
        """Whether the file is as it was asked for, byte for byte."""
        written = self.folder / FILE
        return written.exists() and written.read_text() == CONTENT
