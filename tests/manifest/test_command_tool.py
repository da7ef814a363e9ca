"""A manifest's tools, run as a model would run them."""

import asyncio
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from manifest.kit import Layout, manifest, plain
from process.kit import HOSTILE, PYTHON, marked, wait_until
from rightcall import Agent, Call, Toolbox, run_calls
from rightcall.gate import Executor
from rightcall.manifest.diagnostics import ManifestError
from rightcall.manifest.document import load
from rightcall.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"argv": ..., "parameters": ...}
CANNOT = "/bin/ls: cannot access '/no/such/file': No such file or directory"


def hostile(what: str, *more: Any, **changes: Any) -> dict[str, Any]:
    """A tool that runs the hostile program."""
    parameters = changes.pop("parameters", {"type": "object", "properties": {}})
    argv = ["-I", "-S", HOSTILE, what, *more]
    facts = {"untrusted": False}
    return plain(command=PYTHON, argv=argv, parameters=parameters, facts=facts, **changes)


@pytest.fixture
def box(tmp_path: Path):
    def make(*tools: dict[str, Any], **options: Any) -> Toolbox:
        path = tmp_path / "tools.json"
        path.write_text(Layout(manifest(*tools)).text)
        return Toolbox(load(path, **options))

    return make


async def outcome(tools: Toolbox, name: str = "search", **arguments: Any) -> tuple[str, str]:
    (done,) = await run_calls([Call(id="1", name=name, arguments=json.dumps(arguments))], tools)
    return done.outcome.kind, done.result.text


NASTY = [
    "; rm -rf /",
    "$(reboot)",
    "`id`",
    "-V",
    "--",
    "a\nb",
    "'\"\\",
    "*",
    "",
    "x" * 100_000,
    "naïve 🦆",
]


@pytest.mark.parametrize("text", NASTY, ids=lambda text: repr(text[:10]))
async def test_what_a_model_writes_arrives_as_one_argument(box, text):
    tools = box(hostile("show", "--", "{text}", parameters=TEXT, max_output_bytes=1_000_000))
    kind, result = await outcome(tools, text=text)
    assert (kind, json.loads(result)["argv"]) == ("returned", ["--", text])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\0b", "$.text: must not hold a NUL character"),
        ("x" * 2_000_000, "$: 2,000,012 bytes of arguments are too many; at most 1,048,576"),
    ],
    ids=["NUL", "2-MB"],
)
async def test_what_cannot_arrive_is_refused_before_anything_runs(box, text, words):
    tools = box(hostile("show", "--", "{text}", parameters=TEXT))
    assert await outcome(tools, text=text) == (
        "invalid",
        f"search was not run; its arguments do not fit:\n- {words}",
    )


async def test_a_text_that_is_too_long_for_the_system_is_said_to_be(box):
    tools = box(hostile("show", "--", "{text}", parameters=TEXT))
    why = "its arguments are longer than the system takes"
    assert await outcome(tools, text="x" * 1_000_000) == (
        "failed",
        f"search was not run: {PYTHON} cannot be started: {why}.",
    )


async def test_an_option_is_refused_where_no_dashes_stand_before_it(box):
    tools = box(hostile("show", "{text}", parameters=TEXT))
    kind, words = await outcome(tools, text="-V")
    assert (kind, words.splitlines()[1]) == (
        "invalid",
        '- $.text: must not begin with "-", which the program would take for an option; got "-V"',
    )


async def test_a_program_sees_only_what_the_manifest_passes_on(box, tmp_path, monkeypatch):
    monkeypatch.setenv("PASSED", "yes")
    monkeypatch.setenv("SECRET_OF_MINE", "hunter2")
    inside = tmp_path / "inside"
    inside.mkdir()
    tools = box(hostile("show", env_passthrough=["PASSED", "ABSENT"], cwd="$SANDBOX"), sandbox=inside)
    kind, result = await outcome(tools)
    assert (kind, json.loads(result)) == (
        "returned",
        {
            "argv": [],
            "environment": ["PASSED=yes"],
            "descriptors": [0, 1, 2],
            "leads its group": True,
            "leads its session": True,
            "directory": str(inside),
            "stdin": "",
        },
    )


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        pytest.param(hostile("both"), ("returned", "out\nerr\n"), id="merged"),
        pytest.param(hostile("both", stderr="discard"), ("returned", "out\n"), id="discarded"),
        pytest.param(plain(command="/bin/true", **NOTHING), ("returned", "(no output)"), id="silent"),
        pytest.param(
            hostile("leave", "3"), ("failed", "search ended with exit code 3."), id="exit-code"
        ),
        pytest.param(
            hostile("leave", "3", treat_nonzero_exit_as_error=False),
            ("returned", "(no output)\n[it ended with exit code 3]"),
            id="exit-code-that-is-no-error",
        ),
        pytest.param(
            plain(command="/bin/ls", argv=["/no/such/file"], parameters=..., facts={"untrusted": False}),
            ("failed", f"search ended with exit code 2:\n{CANNOT}\n"),
            id="exit-code-with-words",
        ),
        pytest.param(hostile("killed"), ("failed", "search was ended by SIGSEGV."), id="signal"),
        pytest.param(
            hostile("polite", timeout_ms=1000),
            ("failed", "search did not finish within 1 s and was stopped:\nready\nbye\n"),
            id="timeout",
        ),
        pytest.param(
            hostile("bomb", max_processes=20),
            ("failed", "search started more than 20 processes and was stopped."),
            id="bomb",
        ),
        pytest.param(
            plain(command="/usr/bin/head", argv=["-c", "5000", "/dev/zero"], parameters=...),
            ("returned", '{"untrusted_source":"search","content":"[binary output: 5,000 bytes]"}'),
            id="binary",
        ),
    ],
)
async def test_how_it_ended_is_what_the_model_reads(box, tool, found):
    tool.setdefault("facts", {"untrusted": "binary" in found[1]})
    assert await outcome(box(tool)) == found


async def test_a_flood_is_cut_in_the_middle_and_the_end_is_kept(box):
    kind, text = await outcome(box(hostile("count", "100000", max_output_bytes=600)))
    assert kind == "returned"
    assert text.startswith("0\n1\n2\n")
    assert "\n[… 588,290 of 588,890 bytes left out here …]\n" in text
    assert text.endswith("99998\n99999\n")


async def test_a_call_that_is_given_up_leaves_nothing(box):
    mark = f"mark-{uuid.uuid4().hex}"
    tools = box(hostile("family", mark))
    task = asyncio.create_task(outcome(tools))
    while len(marked(mark)) < 4:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert wait_until(lambda: not marked(mark))


async def test_the_executors_own_deadline_leaves_nothing(box):
    mark = f"mark-{uuid.uuid4().hex}"
    (tool,) = box(hostile("stubborn", mark))
    hurried = tool.replace(limits=type(tool.limits)(timeout=1.0))
    assert (await outcome(Toolbox(hurried)))[0] == "timed_out"
    assert wait_until(lambda: not marked(mark))


async def test_a_command_that_anyone_may_write_by_now_is_not_run(box, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    tools = box(plain(command=str(program), facts={"untrusted": False}, **NOTHING))
    assert await outcome(tools) == ("returned", "hello\n")
    program.chmod(0o757)
    assert await outcome(tools) == (
        "failed",
        f"search was not run: anyone may write the file {program} (mode 0757).",
    )
    program.unlink()
    kind, words = await outcome(tools)
    assert (kind, words) == (
        "failed",
        f"search was not run: {program} cannot be looked at: No such file or directory.",
    )


def test_a_tool_is_what_its_entry_says(box):
    told = plain(
        effect="read",
        approval=True,
        timeout_ms=1500,
        max_output_bytes=2000,
        facts={"private": True, "reach": "user", "targets": ["pattern"]},
    )
    (tool,) = box(told)
    assert (tool.effect, tool.approval, tool.limits.timeout > 1.5) == ("read", True, True)
    assert (tool.facts.untrusted, tool.facts.private, tool.facts.reach) == (True, True, "user")
    assert (tool.facts.targets, tool.spec.description) == (("pattern",), "Find lines.")


def test_unless_said_a_tool_writes_and_its_words_are_not_trusted(box):
    (tool,) = box(plain())
    assert (tool.effect, tool.approval, tool.facts.untrusted, tool.facts.reach) == (
        "write",
        False,
        True,
        None,
    )


def test_loading_raises_everything_at_once(box):
    with pytest.raises(ManifestError) as caught:
        box(plain(name="A"), plain(command="ls"))
    assert [each.path for each in caught.value.problems] == ["tools[0].name", "tools[1].command"]
    assert str(caught.value).count("\n") == 1


GREP = next(path for path in ("/usr/bin/grep", "/bin/grep") if os.path.exists(path))  # noqa: PTH110
SEARCHES = {
    "grep": (GREP, ["-rn", ["--include", "{glob}"], "--", "{pattern}", "."]),
    "rg": (
        "/usr/bin/rg",
        ["-n", "--no-heading", "--sort=path", ["--glob", "{glob}"], "--", "{pattern}", "."],
    ),
}


@pytest.mark.parametrize("program", SEARCHES)
async def test_an_agent_reads_the_uptime_and_searches_code(box, tmp_path, program):
    command, argv = SEARCHES[program]
    if not (Path(command).exists() and Path("/usr/bin/uptime").exists()):
        pytest.skip(f"{command} or uptime is not here")
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("def duck():\n    return 1\n")
    (code / "a.md").write_text("A duck.\n")
    strings = {"pattern": {"type": "string"}, "glob": {"type": "string"}}
    tools = box(
        plain(name="host_uptime", command="/usr/bin/uptime", effect="read", **NOTHING),
        plain(
            name="search_code",
            command=command,
            argv=argv,
            parameters={"type": "object", "properties": strings, "required": ["pattern"]},
            cwd="$SANDBOX",
            effect="read",
        ),
        sandbox=code,
    )
    asked = reply(
        call("host_uptime", id="a"), call("search_code", id="b", pattern="du+ck|duck", glob="*.py")
    )
    found = reply(call("search_code", id="c", pattern="duck", glob="*.py"))
    result = await Agent(ScriptedModel([asked, found, "Done."]), tools).run("Look.")
    uptime, nothing, ducks = result.calls
    assert (uptime.outcome, "load average" in uptime.result.text) == ("returned", True)
    assert ducks.outcome == "returned"
    assert json.loads(ducks.result.text)["content"] == "./a.py:1:def duck():\n"
    assert nothing.outcome == ("returned" if program == "rg" else "failed")


async def test_many_calls_at_once_keep_their_limits(box):
    tools = box(hostile("show", "--", "{text}", parameters=TEXT))
    calls = [
        Call(id=str(number), name="search", arguments=json.dumps({"text": str(number)}))
        for number in range(30)
    ]
    done = await Executor(concurrency=8).execute(calls, tools)
    assert [json.loads(each.result.text)["argv"] for each in done] == [
        ["--", str(number)] for number in range(30)
    ]


async def test_a_program_whose_call_is_cancelled_has_a_second_to_put_things_away(box, tmp_path):
    program = tmp_path / "slow.sh"
    program.write_text(
        f"#!/bin/sh\ntrap 'sleep 0.8; echo done > {tmp_path}/done; exit' TERM\n"
        f"touch {tmp_path}/ready\nwhile :; do sleep 0.02; done\n"
    )
    program.chmod(0o755)
    tools = box(plain(command=str(program), **NOTHING))
    running = asyncio.ensure_future(outcome(tools))
    while not (tmp_path / "ready").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait({running})
    assert (tmp_path / "done").read_text() == "done\n"
