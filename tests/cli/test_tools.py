"""What tools cost and what is wrong with them, as a shell sees it."""

import json
from argparse import ArgumentParser

import pytest

from rightcall.cli.commands import GROUPS
from rightcall.cli.work import tools
from rightcall.errors import UsageError

SHOP = '''
import rightcall as rc

@rc.tool
def send_email(to: str) -> str:
    """Send an email.

    Args:
        to: The address.
    """
    return to
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "many.py").write_text(
        "import rightcall as rc\nBOX = rc.Toolbox([rc.Tool(f't{n}', 'x') for n in range(21)])\n"
    )
    monkeypatch.chdir(tmp_path)


def run(name, *words):
    parser = ArgumentParser()
    GROUPS["tools"].commands[name].arguments(parser)
    return tools.run(parser.parse_args(words))


def test_footprint_ends_with_one_from_the_given_verdict_on(capsys):
    assert run("footprint", "shop.py") == 0
    shown = capsys.readouterr().out
    assert "send_email" in shown
    assert "over 10 turns" in shown
    assert run("footprint", "many.py") == 1
    assert run("footprint", "many.py", "--most", "30") == 0
    assert run("footprint", "many.py", "--fail-at", "never") == 0
    assert run("footprint", "many.py", "--defer", "--fail-at", "note") == 0
    capsys.readouterr()
    assert run("footprint", "shop.py", "--json", "-m", "anthropic:claude-opus-4-8", "--turns", "2") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["resent"]["turns"], found["choice"]) == (2, [290, 410])
    assert [tool["name"] for tool in found["tools"]] == ["send_email"]


def test_lint_ends_with_one_where_it_finds_something(capsys):
    assert run("lint", "shop.py") == 1
    shown = capsys.readouterr().out
    assert shown.startswith("send_email, description: the description says no more than the name")
    assert shown.endswith("tools: 1, findings: 1 (1 vague)\n")
    assert run("lint", "shop.py", "--ignore", "vague:send_email") == 0
    capsys.readouterr()
    assert run("lint", "shop.py", "--json") == 1
    assert [each["rule"] for each in json.loads(capsys.readouterr().out)] == ["vague"]


def test_no_tools_at_all_is_bad_usage():
    with pytest.raises(UsageError, match=r"which tools\? rightcall tools lint FILE\.py"):
        run("lint")
