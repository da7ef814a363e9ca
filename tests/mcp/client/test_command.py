"""``rightcall tools mcp``: list, pin and verify, from the command line."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from rightcall.cli.commands.tools import mcp as add_arguments
from rightcall.cli.work import mcp
from rightcall.errors import UsageError

HERE = Path(__file__).parent


@pytest.fixture
def rightcall(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        parser = ArgumentParser()
        add_arguments(parser)
        code = mcp.run(parser.parse_args(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def config(tmp_path):
    entry = {"command": sys.executable, "args": [str(HERE / "many.py"), "2"]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"many": entry}}))
    return str(file)


def test_tools_are_listed(rightcall, config):
    assert rightcall("list", "--config", config) == (
        0,
        "many/tool_0: Tool 0.\nmany/tool_1: Tool 1.\n",
        "",
    )


def test_tools_are_listed_as_json(rightcall, config):
    code, out, _ = rightcall("list", "--config", config, "--json")
    first = json.loads(out.splitlines()[0])
    assert (code, first["server"], first["name"], first["findings"]) == (0, "many", "tool_0", [])


def test_what_was_approved_is_verified_until_it_changes(rightcall, config, tmp_path):
    code, _, err = rightcall("verify", "--config", config)
    assert (code, err) == (
        1,
        "rightcall: mcp-pins.json holds no pins of 'many'; approve it: rightcall tools mcp pin\n",
    )
    assert rightcall("pin", "--config", config)[0] == 1  # nobody is there to say yes
    code, out, _ = rightcall("pin", "--config", config, "--yes")
    assert (code, out.splitlines()[-1]) == (0, "many: 2 tools approved in mcp-pins.json")
    assert rightcall("verify", "--config", config) == (0, "many: as it was approved\n", "")
    grown = [sys.executable, str(HERE / "many.py"), "3"]
    changed = rightcall("verify", "--name", "many", "--", *grown)
    assert changed == (1, "many: tool_2 is new\n", "")
    code, out, _ = rightcall("pin", "--name", "many", "--yes", "--", *grown)
    assert out.splitlines()[:3] == ["many: tool_2 is new", "tool_2:", '  | "Tool 2."']
    assert rightcall("verify", "--name", "many", "--", *grown)[0] == 0


def test_orders_to_the_model_are_shown_to_the_person(rightcall, shop):
    code, out, _ = rightcall("list", "--name", "shop", "--", *shop)
    assert code == 0
    assert "  read this: poison, description: imitates the marks of a conversation" in out


WRONG = {
    "nothing": (["list"], "which server"),
    "no such entry": (["list", "other"], "has no server 'other'; there is many"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_said(case, rightcall, config):
    arguments, words = WRONG[case]
    given = [*arguments, "--config", config] if len(arguments) > 1 else arguments
    with pytest.raises(UsageError, match=words):
        rightcall(*given)
