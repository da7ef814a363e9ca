"""Programs that run what the model writes: refused, however wrapped, unless the operator says so."""

import sys
from pathlib import Path
from typing import Any

import pytest

from manifest.kit import Layout, look, manifest, plain, said, warned
from rightcall.core.parts import Call
from rightcall.gate.executor import run_calls
from rightcall.manifest import load


def tool(folder: Path, argv: list[Any], **changes: Any) -> dict[str, Any]:
    """A tool that runs ``argv``; its first element need only be a program's name."""
    command = folder / argv[0]
    if not command.exists():
        command.write_text("#!/bin/true\n")
        command.chmod(0o755)
    return plain(command=str(command), argv=argv[1:]) | changes


REFUSED = [
    ["env", "sh", "-c", "{pattern}"],
    ["env", "-i", "LANG=C", "sh", "-c", "{pattern}"],
    ["env", "-u", "HOME", "--", "bash", "-c", "{pattern}"],
    ["env", "-S", "sh -c", "{pattern}"],
    ["env", "{pattern}"],
    ["env", "A=b", "{pattern}"],
    ["nice", "-n", "5", "sh", "-c", "{pattern}"],
    ["nice", "--unheard-of", "5", "sh", "-c", "{pattern}"],
    ["timeout", "-k", "1", "5", "sh", "-c", "{pattern}"],
    ["timeout", "5", "nice", "setsid", "env", "python3.11", "-c", "{pattern}"],
    ["timeout", "5", "{pattern}"],
    ["setsid", "sh", "-c", "{pattern}"],
    ["setsid", "-w", "/bin/sh", "{pattern}"],
    ["nohup", "awk", "{pattern}"],
    ["busybox", "sh", "-c", "{pattern}"],
    ["xargs", "sh", "-c", "{pattern}"],
    ["awk", "{pattern}"],
    ["mawk", "-F", ":", "{pattern}", "/etc/passwd"],
    ["gawk", "--", "{pattern}"],
    ["awk", ["-f", "{pattern}"]],
    ["sed", "{pattern}"],
    ["sed", "-n", "--", "{pattern}", "/etc/hosts"],
    ["sed", "-ne", "{pattern}", "/etc/hosts"],
    ["sed", "-e", "p", "--expr", "{pattern}"],
    ["git", "-c", "{pattern}", "log"],
    ["git", "{pattern}"],
    ["git", "clone", "--upload-pack", "{pattern}", "x"],
    ["sort", "--compress-program", "{pattern}", "file"],
    ["sort", "--compress-prog", "{pattern}", "file"],
    ["tar", "-xf", "a.tar", "-I", "{pattern}"],
    ["find", ".", "-exec", "{pattern}", ";"],
    ["find", "--", "{pattern}"],
    ["vim.tiny", "{pattern}"],
    ["make", "{pattern}"],
    ["ssh", "host", "{pattern}"],
    ["sqlite3", "data.db", "{pattern}"],
    ["sh", "--", "{pattern}"],
    ["sh", "-c", "-e", "{pattern}"],
    ["python3", "-W", "ignore", "{pattern}"],
    ["python3", "-m", "{pattern}"],
    ["perl", "-ne", "{pattern}"],
]
ACCEPTED = [
    ["timeout", "5", "grep", "-r", "--", "{pattern}", "."],
    ["timeout", "{pattern}", "/bin/ls"],
    ["nice", "-n", "{pattern}", "/bin/ls"],
    ["env", "LANG=C", "sort", "-k", "{pattern}"],
    ["env", "sh", "/opt/report.sh", "{pattern}"],
    ["awk", "{ print $1 }", "{pattern}"],
    ["sed", "-n", "1,5p", "--", "{pattern}"],
    ["sed", "-e", "s/a/b/", "{pattern}"],
    ["git", "log", "--grep", "{pattern}"],
    ["git", "-C", "{pattern}", "status"],
    ["sort", "-t", "{pattern}", "--compress-program", "gzip", "f"],
    ["find", ".", "-name", "{pattern}"],
    ["sh", "-c", 'ls -- "$1"', "sh", "{pattern}"],
    ["python3", "/opt/report.py", "{pattern}"],
    ["sqlite3", "-safe", "data.db", "{pattern}"],
    ["grep", "-r", "--", "{pattern}"],
]


@pytest.mark.parametrize("argv", REFUSED, ids=lambda argv: " ".join(map(str, argv)))
def test_what_would_run_the_models_words_is_refused(tmp_path: Path, argv: list[Any]) -> None:
    given = tool(tmp_path, argv)
    (problem,) = said(look(tmp_path, Layout(manifest(given)).text))
    assert "tools[0].command: " in problem
    allowed = look(tmp_path, Layout(manifest(given | {"allow_interpreter": True})).text)
    assert said(allowed) == []
    assert any("tools[0].command: " in warning for warning in warned(allowed))


@pytest.mark.parametrize("argv", ACCEPTED, ids=lambda argv: " ".join(map(str, argv)))
def test_what_gives_the_model_no_program_to_write_is_accepted(tmp_path: Path, argv: list[Any]) -> None:
    assert said(look(tmp_path, Layout(manifest(tool(tmp_path, argv))).text)) == []


def test_what_can_be_left_out_does_not_move_the_model_into_the_programs_place(tmp_path: Path) -> None:
    properties = {"seconds": {"type": "integer"}, "pattern": {"type": "string"}}
    given = tool(tmp_path, ["timeout", "{seconds}", "/bin/ls", "{pattern}"])
    optional = given | {"parameters": {"type": "object", "properties": properties}}
    (problem,) = said(look(tmp_path, Layout(manifest(optional)).text))
    assert "the model would choose the program that timeout runs" in problem
    needed = optional | {"parameters": {**optional["parameters"], "required": ["seconds", "pattern"]}}
    assert said(look(tmp_path, Layout(manifest(needed)).text)) == []


def test_listed_values_are_the_operators_own(tmp_path: Path) -> None:
    def listed(*values: str) -> dict[str, Any]:
        properties = {"program": {"enum": list(values)}, "pattern": {"type": "string"}}
        given = tool(tmp_path, ["timeout", "5", "{program}", "-c", "{pattern}"])
        required = ["program", "pattern"]
        parameters = {"type": "object", "properties": properties, "required": required}
        return manifest(given | {"parameters": parameters})

    assert said(look(tmp_path, Layout(listed("/bin/wc", "/bin/cat")).text)) == []
    assert len(said(look(tmp_path, Layout(listed("/bin/wc", "/bin/sh")).text))) == 1


async def test_an_interpreter_that_is_allowed_runs(tmp_path: Path) -> None:
    given = plain(command=sys.executable, argv=["-c", "{pattern}"], allow_interpreter=True)
    file = tmp_path / "tools.json"
    file.write_text(Layout(manifest(given)).text)
    call = Call(id="1", name="search", arguments='{"pattern": "print(6 * 7)"}')
    (done,) = await run_calls([call], load(file))
    assert "42" in done.result.text
