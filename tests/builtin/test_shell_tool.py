"""A shell as a tool: what it does, and what it at least does not do."""

import asyncio
import json
import os

import pytest

from builtin.kit import told, use
from rightcall import builtin
from rightcall.core.parts import Call
from rightcall.core.tool import Facts
from rightcall.errors import UsageError
from rightcall.gate.executor import run_calls


async def said(tool, **arguments) -> tuple[str, str]:
    """The kind of outcome, and the text inside of the envelope."""
    kind, text = await told(tool, **arguments)
    envelope = json.loads(text)
    assert envelope["untrusted_source"] == tool.name
    return kind, envelope["content"]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hello", "Exit code: 0\n\nhello"),
        ("echo a; echo b >&2; exit 3", "Exit code: 3\n\na\nb"),
        ("true", "Exit code: 0"),
        ("printf '%s\\n' {1..3} | tail -n 1", "Exit code: 0\n\n3"),
        ("no-such-program-here 2>/dev/null", "Exit code: 127"),
        ('read -r line; echo "[$line]"', "Exit code: 0\n\n[]"),
    ],
)
async def test_a_command_runs_and_its_exit_code_is_told(command, text, tmp_path):
    assert await said(builtin.shell(cwd=tmp_path), command=command) == ("returned", text)


async def test_it_runs_where_it_is_told_and_with_a_bare_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET_KEY", "s3cret")
    tool = builtin.shell(cwd=tmp_path, env={"GREETING": "hello"})
    _, text = await said(tool, command="pwd; env")
    lines = text.split("\n")
    assert lines[2] == str(tmp_path.resolve())
    assert "GREETING=hello" in lines
    assert "s3cret" not in text
    names = {line.partition("=")[0] for line in lines[3:]}
    usual = {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", "TERM"}
    assert names - usual <= {"GREETING", "PWD", "SHLVL", "_"}


async def test_without_a_person_who_says_yes_nothing_runs(tmp_path):
    tool = builtin.shell(cwd=tmp_path)
    call = Call(id="c", name="shell", arguments='{"command": "touch ran"}')
    (done,) = await run_calls([call], [tool])
    assert (tool.approval, done.outcome.kind, list(tmp_path.iterdir())) == (True, "denied", [])
    (done,) = await run_calls([call], [builtin.shell(cwd=tmp_path, approval=False)])
    assert (done.outcome.kind, list(tmp_path.iterdir())) == ("returned", [tmp_path / "ran"])


async def test_a_command_that_does_not_end_is_ended(tmp_path):
    tool = builtin.shell(cwd=tmp_path, timeout=0.5)
    assert await said(tool, command="echo begun; sleep 100") == (
        "failed",
        "The command did not finish within 0.5 s and was stopped. It had said:\n\nbegun",
    )


async def test_a_command_that_a_signal_ends_has_failed(tmp_path):
    assert await said(builtin.shell(cwd=tmp_path), command="kill -SEGV $$") == (
        "failed",
        "The command was ended by SIGSEGV.",
    )


async def test_output_is_kept_within_bounds(tmp_path):
    tool = builtin.shell(cwd=tmp_path, max_output_bytes=1000)
    kind, text = await said(tool, command="echo first; seq 1 100000; echo last")
    assert (kind, text.startswith("Exit code: 0\n\nfirst\n1\n"), text.endswith("\nlast")) == (
        "returned",
        True,
        True,
    )
    assert len(text) < 1200


async def test_output_cannot_pass_for_an_exit_code(tmp_path):
    _, text = await said(builtin.shell(cwd=tmp_path), command="echo 'Exit code: 0'; exit 1")
    assert text == "Exit code: 1\n\nExit code: 0"


async def test_cancelling_a_call_ends_its_command(tmp_path):
    tool = builtin.shell(cwd=tmp_path, pids="host")
    running = asyncio.create_task(use(tool, command="echo $$ > new && mv new pid; sleep 60"))
    async with asyncio.timeout(20):
        while not (tmp_path / "pid").exists():
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_anthropics_shell_keeps_its_directory_and_variables(tmp_path):
    bash = builtin.shell(cwd=tmp_path, signature="anthropic")
    assert await said(bash, command="mkdir -p 'a b' && cd 'a b' && export NAME='x \"y\" $z'") == (
        "returned",
        "Exit code: 0",
    )
    assert await said(bash, command='pwd; echo "$NAME"; exit 4') == (
        "returned",
        f'Exit code: 4\n\n{tmp_path.resolve()}/a b\nx "y" $z',
    )
    assert await said(bash, restart=True) == ("returned", "The shell has been restarted.")
    assert await said(bash, command='pwd; echo "[$NAME]"') == (
        "returned",
        f"Exit code: 0\n\n{tmp_path.resolve()}\n[]",
    )


async def test_anthropics_shell_survives_what_a_command_does_to_it(tmp_path):
    bash = builtin.shell(cwd=tmp_path, signature="anthropic", timeout=0.8)
    await said(bash, command="mkdir gone; cd gone; export KEPT=1")
    assert (await said(bash, command="if then"))[1].startswith("Exit code: ")
    assert (await said(bash, command="sleep 100"))[0] == "failed"
    assert (await said(bash, command="kill -9 $$"))[0] == "failed"
    await said(bash, command="rmdir ../gone")
    assert (await said(bash, command="echo $KEPT"))[1] == "Exit code: 0\n\n1"


async def test_two_shells_of_anthropics_know_nothing_of_each_other(tmp_path):
    one, two = (builtin.shell(cwd=tmp_path, signature="anthropic") for _ in range(2))
    await said(one, command="export NAME=one")
    assert (await said(two, command="echo [$NAME]"))[1] == "Exit code: 0\n\n[]"
    # Our own words, of which no outsider could have written any.
    assert (await told(one, command=""))[1] == "There is no command to run."


async def test_openais_shell_tells_how_each_command_ended_and_what_it_said(tmp_path):
    tool = builtin.shell(cwd=tmp_path, signature="openai")
    commands = ["echo one; echo two >&2", "exit 3", "echo 'Command 2 ended with exit code 0.'"]
    kind, text = await said(tool, commands=commands)
    assert (kind, text.split("\n")) == (
        "returned",
        [
            "Command 1 ended with exit code 0.",
            "Command 2 ended with exit code 3.",
            "Command 3 ended with exit code 0.",
            "",
            "Output of command 1:",
            "one",
            "two",
            "",
            "Output of command 3:",
            "Command 2 ended with exit code 0.",
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"commands": ["echo one; exit 3"]}, "Exit code: 3\n\none"),
        ({"commands": ["echo one"], "max_output_length": 2}, "Exit code: 0\n\non"),
        (
            {"commands": ["echo one"], "max_output_length": None, "timeout_ms": None},
            "Exit code: 0\n\none",
        ),
    ],
)
async def test_openais_shell_tells_of_a_single_command_as_any_shell_does(arguments, text, tmp_path):
    tool = builtin.shell(cwd=tmp_path, signature="openai")
    assert await said(tool, **arguments) == ("returned", text)


async def test_openais_shell_shares_its_time_among_the_commands(tmp_path):
    tool = builtin.shell(cwd=tmp_path, signature="openai")
    commands = ["echo quick", "echo begun; sleep 60", "touch late"]
    kind, text = await said(tool, commands=commands, timeout_ms=2000)
    first, second, *rest = text.split("\n")
    assert (kind, first) == ("failed", "Command 1 ended with exit code 0.")
    assert second.startswith("Command 2 did not finish within ")
    assert "\n".join(rest) == (
        "Command 3 was not run.\n\nOutput of command 1:\nquick\n\nOutput of command 2:\nbegun"
    )
    assert list(tmp_path.iterdir()) == []


async def test_openais_shell_fails_as_a_whole_when_a_command_is_killed(tmp_path):
    tool = builtin.shell(cwd=tmp_path, signature="openai")
    assert await said(tool, commands=["kill -9 $$"]) == ("failed", "The command was ended by SIGKILL.")
    assert await said(tool, commands=["kill -9 $$", "touch late"]) == (
        "failed",
        "Command 1 was ended by SIGKILL.\nCommand 2 was not run.",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_vendors_signature_is_sent_to_that_vendor_as_its_own_tool():
    assert [builtin.shell(signature=each).native for each in ("plain", "anthropic", "openai")] == [
        {},
        {"anthropic": {"type": "bash_20250124", "name": "bash"}},
        {"openai_responses": {"type": "shell", "environment": {"type": "local"}}},
    ]


SIGNATURES = {
    "plain": ("shell", {"command"}, ("command",)),
    "anthropic": ("bash", {"command", "restart"}, ("command",)),
    "openai": ("shell", {"commands", "timeout_ms", "max_output_length"}, ("commands",)),
}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_what_it_is_is_said_plainly(signature):
    name, parameters, targets = SIGNATURES[signature]
    tool = builtin.shell(signature=signature)
    assert (tool.name, set(tool.parameters["properties"])) == (name, parameters)
    assert (tool.effect, tool.approval, tool.serial) == ("write", True, True)
    assert tool.facts == Facts(untrusted=True, private=True, reach="outside", targets=targets)
    assert "unprotected: nothing undoes what it does" in tool.description


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cwd": "/no/such/place"}, "cwd '/no/such/place' is not a directory"),
        ({"signature": "gemini"}, "signature must be 'plain' or 'anthropic' or 'openai'"),
        ({"timeout": 0}, "timeout must be more than 0"),
    ],
)
def test_a_shell_that_makes_no_sense_is_the_developers_mistake(options, words):
    with pytest.raises(UsageError, match=words):
        builtin.shell(**options)


def test_a_shell_is_never_among_the_tools_that_nobody_asked_for():
    assert "shell" not in [tool.name for tool in builtin.default_tools()]
    assert not [tool for tool in builtin.default_tools() if tool.effect == "write"]
