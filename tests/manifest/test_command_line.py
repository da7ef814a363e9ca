"""``rightcall tools manifest``: check a file, show what it allows, run what is in it."""

from argparse import ArgumentParser
from pathlib import Path

import pytest

from manifest.kit import Layout, manifest, plain
from rightcall.cli.commands.tools import manifest as add_arguments
from rightcall.cli.work.call import run
from rightcall.manifest.diagnostics import ManifestError

pytestmark = pytest.mark.skipif(not Path("/usr/bin/uptime").exists(), reason="uptime is not here")
NOTHING = {"argv": ..., "parameters": ...}
TOOLS = [
    plain(
        name="host_uptime",
        description="How long the machine is up.",
        command="/usr/bin/uptime",
        effect="read",
        timeout_ms=2000,
        facts={"untrusted": False},
        **NOTHING,
    ),
    plain(
        name="search_code",
        description="Find lines.",
        command="/bin/grep",
        argv=["-rn", ["--include", "{glob}"], "--", "{pattern}", "."],
        parameters={
            "type": "object",
            "properties": {"pattern": {"type": "string"}, "glob": {"type": "string"}},
            "required": ["pattern"],
        },
        cwd="$SANDBOX",
        env_passthrough=["LANG"],
        approval=True,
        facts={"untrusted": False},
    ),
]


def command(*arguments: str) -> int:
    parser = ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(arguments))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(Layout(manifest(*TOOLS)).text)
    (tmp_path / "duck.txt").write_text("a duck\n")
    return str(path)


def test_check_says_what_is_wrong_and_what_may_be(file, tmp_path, capsys):
    assert command("check", file, "--sandbox", str(tmp_path)) == 0
    out = capsys.readouterr().out
    assert out == (
        f'{file}:22:11: warning: tools[1].argv[1][1]: no "--" stands before the string "glob", '
        'so a value that begins with "-" is refused; '
        'write "--" before it, if the program knows that; or list its values in an enum\n'
        f"{file}: 2 tools, nothing wrong\n"
    )


def test_check_exits_with_1_when_a_file_cannot_be_used(file, capsys):
    assert command("check", file) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1:3] for line in lines] == [
        ["warning", "tools[1].argv[1][1]"],
        ["error", "tools[1].cwd"],
    ]


def test_check_of_several_files_finds_names_that_clash(file, tmp_path, capsys):
    assert command("check", file, file, "--sandbox", str(tmp_path)) == 1
    clashes = [line for line in capsys.readouterr().out.splitlines() if "error" in line]
    assert [line.partition(": error: ")[2] for line in clashes] == [
        f"tools[{index}].name: the name is taken, by a tool from elsewhere; write another"
        for index in (0, 1)
    ]


def test_show_prints_what_a_model_may_run(file, tmp_path, capsys):
    assert command("show", file, "--sandbox", str(tmp_path)) == 0
    assert capsys.readouterr().out == (
        "host_uptime: How long the machine is up.\n"
        "  runs     /usr/bin/uptime\n"
        f"  in       {tmp_path.resolve()}\n"
        "  sees     nothing of the environment\n"
        "  within   2 s, 65,536 bytes of output, 128 processes\n"
        "  effect   read\n"
        "search_code: Find lines.\n"
        "  runs     /bin/grep -rn [--include <glob>] -- <pattern> .\n"
        f"  in       {tmp_path.resolve()}\n"
        "  sees     LANG\n"
        "  within   30 s, 65,536 bytes of output, 128 processes\n"
        "  effect   write, asks a person first\n"
    )


def test_run_prints_the_result(file, tmp_path, capsys):
    assert command("run", file, "host_uptime", "--sandbox", str(tmp_path)) == 0
    assert "load average" in capsys.readouterr().out
    arguments = '{"pattern": "duck", "glob": "*.txt"}'
    assert command("run", file, "search_code", arguments, "--sandbox", str(tmp_path)) == 0
    assert capsys.readouterr() == ("./duck.txt:1:a duck\n", "")


@pytest.mark.parametrize(
    ("arguments", "out", "err"),
    [
        (["search_code", '{"pattern": "goose"}'], "search_code ended with exit code 1.\n", "failed"),
        (["search_cod"], 'There is no tool "search_cod". Did you mean search_code?', "unknown"),
        (["search_code"], "search_code was not run; its arguments do not fit:", "invalid"),
    ],
)
def test_run_exits_with_1_when_it_does_not_succeed(file, tmp_path, arguments, out, err, capsys):
    if arguments == ["search_code", '{"pattern": "goose"}']:
        arguments[1] = '{"pattern": "goose", "glob": "*.txt"}'
    assert command("run", file, *arguments, "--sandbox", str(tmp_path)) == 1
    said, complaint = capsys.readouterr()
    assert (said[: len(out)], complaint) == (out, f"rightcall: {err}\n")


@pytest.mark.parametrize("action", [["show"], ["run"]])
def test_a_file_that_cannot_be_used_is_not_used(tmp_path, action):
    path = tmp_path / "tools.json"
    path.write_text("{}")
    with pytest.raises(ManifestError, match=r'"version" is missing'):
        command(*action, str(path), *(["x"] if action == ["run"] else []))
