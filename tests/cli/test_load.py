"""Every gate is closed unless it is opened, and what is behind it works from the command line."""

import json
import os
from argparse import ArgumentParser
from pathlib import Path

import pytest

from cli.kit import run
from rightcall.cli.load import load_toolbox
from rightcall.cli.options import add_tool_options
from rightcall.errors import UsageError

SAYING = """
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply

MODEL = ScriptedModel([reply(call({name!r}, **{arguments!r})), "Done."])
"""


def names(*words: str) -> tuple[str, ...]:
    parser = ArgumentParser()
    add_tool_options(parser)
    return load_toolbox(parser.parse_args(words)).names()


def write_manifest(folder: Path, **changes: object) -> Path:
    tool = {
        "name": "host_uptime",
        "description": "How long this machine has been up.",
        "command": "/usr/bin/uptime",
        "argv": [],
        "effect": "read",
        **changes,
    }
    file = folder / "tools.json"
    file.write_text(json.dumps({"version": 1, "tools": [tool]}))
    file.chmod(0o600)
    return file


def test_nothing_is_open_unless_said():
    assert names() == ("calculate", "datetime")
    assert names("--no-default-tools") == ()


def test_each_gate_opens_its_tools(tmp_path):
    assert names("--allow-fs", str(tmp_path)) == ("calculate", "datetime", "fs")
    assert names("--no-default-tools", "--allow-fs", f"{tmp_path}:ro") == ("fs",)
    assert names("--no-default-tools", "--allow-web", "--allow-shell", "--plan") == (
        "web",
        "shell",
        "plan",
    )
    assert names("--no-default-tools", "--memory", str(tmp_path)) == ("memory",)
    assert names("--no-default-tools", "--manifest", str(write_manifest(tmp_path))) == ("host_uptime",)


def test_tools_in_a_list_are_found_once_and_what_else_is_in_it_is_left(tmp_path):
    file = tmp_path / "shop.py"
    made = "send = rc.Tool('send', 'Sends.')\ntools = [send, rc.Tool('get', 'Gets.'), 3]"
    file.write_text(f"import rightcall as rc\n{made}\n")
    assert names("--no-default-tools", "--tool", str(file)) == ("send", "get")


def test_a_manifest_may_not_take_the_name_of_another_tool(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import rightcall as rc\n@rc.tool\ndef look() -> str:\n    return ''\n"
    )
    file = write_manifest(tmp_path, name="look")
    with pytest.raises(UsageError, match="the name is taken"):
        names("--tool", str(tmp_path / "mine.py"), "--manifest", str(file))


@pytest.mark.skipif(not Path("/usr/bin/uptime").exists(), reason="there is no uptime here")
def test_a_program_runs_through_an_agent_from_the_command_line(tmp_path):
    model = tmp_path / "scripted.py"
    model.write_text(SAYING.format(name="host_uptime", arguments={}))
    done = run(
        tmp_path,
        *("ask", "--manifest", str(write_manifest(tmp_path)), "--model", f"{model}:MODEL", "--json"),
        "How long?",
    )
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    (call,) = events[-1]["calls"]
    assert (call["name"], call["outcome"]) == ("host_uptime", "returned")
    assert "load average" in json.dumps(call)


def test_a_file_is_read_through_an_agent_from_the_command_line(tmp_path):
    (tmp_path / "note.txt").write_text("forty-two")
    os.utime(tmp_path / "note.txt", (1, 1))
    model = tmp_path / "scripted.py"
    model.write_text(SAYING.format(name="fs", arguments={"mode": "read", "path": "note.txt"}))
    done = run(
        tmp_path, "ask", "--allow-fs", f"{tmp_path}:ro", "--model", f"{model}:MODEL", "--json", "Read it"
    )
    (call,) = json.loads(done.out.splitlines()[-1])["calls"]
    assert call["outcome"] == "returned"
    assert "forty-two" in json.dumps(call)


def test_a_manifest_that_is_wrong_says_where_and_exits_with_2(tmp_path):
    file = write_manifest(tmp_path, argv=["--filter={query}"])
    done = run(tmp_path, "ask", "--manifest", str(file), "Hi")
    assert done.code == 2
    assert f"{file}:" in done.err
