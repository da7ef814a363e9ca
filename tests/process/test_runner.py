"""What a command is given, what it is not given, and what is said of how it ended."""

import asyncio
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from process.kit import HOSTILE, PYTHON, hostile, marked, wait_until
from rightcall.errors import UsageError
from rightcall.process import runner
from rightcall.process.command import (
    Captured,
    Command,
    Completed,
    Exited,
    Isolation,
    NotStarted,
    Signalled,
    TimedOut,
)
from rightcall.process.runner import keepers, run

pytestmark = pytest.mark.usefixtures("_nothing_is_left")

NASTY = {
    "shell": "; rm -rf /",
    "substitution": "$(reboot) `reboot` ${IFS}",
    "option": "-V",
    "long-option": "--version",
    "newlines": "a\nb\r\nc",
    "quotes": "'\"\\'\"",
    "glob": "/*",
    "blank": "",
    "blanks": "  \t ",
    "unicode": "naïve 🦆 \u202e\u2028",
    "invalid-utf8": b"\xff\xfe".decode(errors="surrogateescape"),
    "controls": "".join(map(chr, range(1, 32))),
    "long": "x" * 100_000,
}


async def seen(command: Command) -> dict[str, object]:
    done = await run(replace(command, max_output_bytes=1 << 20))
    assert done.exit == Exited(0), done
    return json.loads(done.output.head + done.output.tail)


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
async def test_an_argument_arrives_as_one_element_whatever_it_holds(text):
    assert (await seen(hostile("show", "before", text, "after")))["argv"] == ["before", text, "after"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "a\0b", "an argument holds a NUL character, which no program can be given", id="NUL"
        ),
        pytest.param(
            "\ud800", "an argument holds half of a surrogate pair, which is no text", id="surrogate"
        ),
        pytest.param(
            "x" * 1_000_000,
            f"{PYTHON} cannot be started: its arguments are longer than the system takes",
            id="1-MB",
        ),
    ],
)
async def test_what_no_program_can_be_given_is_refused(text, reason):
    done = await run(hostile("show", text))
    assert replace(done, seconds=0) == Completed(exit=NotStarted(reason))


async def test_a_megabyte_in_all_arrives():
    many = ["y" * 100_000] * 10
    assert (await seen(hostile("show", *many)))["argv"] == many


async def test_a_program_sees_nothing_but_what_it_was_given(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hunter2")
    inheritable = os.pipe()
    for end in inheritable:
        os.set_inheritable(end, True)
    try:
        given = hostile("show", directory=str(tmp_path), environment={"A": "1", "B": "ü = 2"})
        found = await seen(given)
    finally:
        for end in inheritable:
            os.close(end)
    assert found == {
        "argv": [],
        "environment": ["A=1", "B=ü = 2"],
        "descriptors": [0, 1, 2],
        "leads its group": True,
        "leads its session": True,
        "directory": str(tmp_path),
        "stdin": "",
    }


async def test_nothing_of_the_environment_is_inherited(monkeypatch):
    monkeypatch.setenv("SECRET", "hunter2")
    assert (await seen(hostile("show")))["environment"] == []


async def test_no_signal_is_ignored_or_blocked_whatever_this_process_does():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        done = await run(Command(argv=("/bin/cat", "/proc/self/status")))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGHUP, before)
    lines = dict(line.split(":\t", 1) for line in done.output.head.decode().splitlines())
    # 32 and 33 are the C library's own, and out of anybody's reach.
    assert (int(lines["SigIgn"], 16) & ~(0b11 << 31), int(lines["SigBlk"], 16)) == (0, 0)


@pytest.mark.parametrize(("stderr", "output"), [("merge", b"out\nerr\n"), ("discard", b"out\n")])
async def test_errors_go_with_the_output_or_nowhere(stderr, output):
    done = await run(hostile("both", stderr=stderr))
    assert done.output == Captured(output, b"", len(output))


@pytest.mark.parametrize(
    ("command", "end"),
    [
        pytest.param(hostile("leave", "0"), Exited(0), id="0"),
        pytest.param(hostile("leave", "7"), Exited(7), id="7"),
        pytest.param(hostile("leave", "255"), Exited(255), id="255"),
        pytest.param(hostile("killed"), Signalled(signal.SIGSEGV), id="signal"),
        pytest.param(
            Command(argv=("/no/such/program",)),
            NotStarted(
                "/no/such/program cannot be started: "
                "there is no such program, or its #! line names one that is missing"
            ),
            id="missing",
        ),
        pytest.param(
            Command(argv=("/etc",)),
            NotStarted("/etc cannot be started: it may not be executed"),
            id="directory",
        ),
        pytest.param(
            Command(argv=("/etc/passwd",)),
            NotStarted("/etc/passwd cannot be started: it may not be executed"),
            id="not-executable",
        ),
        pytest.param(
            hostile("show", directory="/no/such/place"),
            NotStarted("its directory /no/such/place cannot be entered: No such file or directory"),
            id="no-directory",
        ),
    ],
)
async def test_how_it_ended_is_told(command, end):
    assert (await run(command)).exit == end


async def test_a_script_without_its_first_line_is_not_handed_to_a_shell(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo a shell ran this\n")
    script.chmod(0o755)
    done = await run(Command(argv=(str(script),)))
    assert done.exit == NotStarted(
        f"{script} cannot be started: it is not a program that this system can run; "
        "a script needs a #! line"
    )


async def test_a_command_that_is_over_says_how_long_it_took():
    done = await run(Command(argv=("/bin/sleep", "0.2")))
    assert (done.exit, done.survivors) == (Exited(0), 0)
    assert 0.2 <= done.seconds < 20


async def test_the_beginning_and_the_end_of_a_long_output_are_kept():
    done = await run(hostile("count", "100000", max_output_bytes=3000))
    whole = b"".join(b"%d\n" % number for number in range(100_000))
    assert done == Completed(
        exit=Exited(0),
        output=Captured(whole[:2000], whole[-1000:], len(whole)),
        seconds=done.seconds,
    )


async def test_an_output_byte_by_byte_is_the_same():
    done = await run(hostile("dribble", max_output_bytes=3000))
    assert done.output == Captured(b"." * 2000, b"." * 1000, 5000)


async def test_a_command_may_clean_up_in_its_grace(mark):
    done = await run(hostile("polite", mark, timeout=2.0, grace=20.0))
    assert (done.exit, done.output.head) == (TimedOut(2.0), b"ready\nbye\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"argv": ()}, "begins with the absolute path"),
        ({"argv": ("ls",)}, "begins with the absolute path"),
        ({"argv": ("/bin/ls",), "directory": "tmp"}, "directory must be absolute"),
        ({"argv": ("/bin/ls",), "timeout": 0}, "timeout must be more than 0"),
        ({"argv": ("/bin/ls",), "max_output_bytes": 0}, "max_output_bytes must be more than 0"),
        ({"argv": ("/bin/ls",), "max_processes": 0}, "max_processes must be more than 0"),
        ({"argv": ("/bin/ls",), "grace": -1}, "grace must not be negative"),
    ],
)
def test_a_command_that_makes_no_sense_is_the_callers_mistake(options, words):
    with pytest.raises(UsageError, match=words):
        Command(**options)


async def test_many_at_once_do_not_mix():
    async def one(number: int) -> list[object]:
        return (await seen(hostile("show", str(number))))["argv"]

    assert await asyncio.gather(*map(one, range(24))) == [[str(number)] for number in range(24)]


def test_any_thread_with_a_loop_can_run_commands():
    found: dict[int, object] = {}

    def work(number: int) -> None:
        found[number] = asyncio.run(seen(hostile("show", str(number))))["argv"]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: [str(number)] for number in range(4)}


def test_a_forked_child_has_keepers_of_its_own():
    asyncio.run(seen(hostile("show")))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(asyncio.run(seen(hostile("show", "forked")))["argv"]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert json.loads(file.read()) == ["forked"]
    os.waitpid(child, 0)
    assert asyncio.run(seen(hostile("show", "parent")))["argv"] == ["parent"]


async def test_time_is_kept_while_the_loop_is_busy(mark):
    task = asyncio.create_task(run(hostile("stubborn", mark, timeout=1.0, grace=0.1)))
    while not marked(mark):
        await asyncio.sleep(0.01)
    # The loop stands still from here on.
    assert wait_until(lambda: not marked(mark))
    assert (await task).exit == TimedOut(1.0)


async def test_a_blocked_loop_is_not_needed_for_anything_but_the_news():
    started = time.monotonic()
    task = asyncio.create_task(run(Command(argv=("/bin/true",))))
    await asyncio.sleep(0)
    time.sleep(0.5)
    assert (await task).exit == Exited(0)
    assert time.monotonic() - started < 20


async def test_a_killed_warden_is_replaced():
    await run(Command(argv=("/bin/true",)))
    os.kill(keepers()._process, signal.SIGKILL)
    # Its keepers end with it; what one of them has just begun then is lost.
    assert wait_until(lambda: not any(runner._is_open(line) for _, line in keepers()._idle))
    ends = [(await run(Command(argv=("/bin/true",)))).exit for _ in range(3)]
    assert ends == [Exited(0)] * 3


needs_bubblewrap = pytest.mark.skipif(
    not Path("/usr/bin/bwrap").exists(), reason="bubblewrap is not installed"
)


@needs_bubblewrap
async def test_behind_a_wall_there_is_no_network_and_nothing_to_write(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    wall = Isolation(write=(str(inside),))
    network = await run(Command(argv=("/bin/cat", "/proc/net/dev"), isolation=wall))
    assert [line.split(":")[0].strip() for line in network.output.head.decode().splitlines()[2:]] == [
        "lo"
    ]
    for place, end in ((inside, Exited(0)), (outside, Exited(1)), (Path("/usr"), Exited(1))):
        done = await run(Command(argv=("/bin/touch", f"{place}/new"), isolation=wall))
        assert done.exit == end, done
    assert ((inside / "new").exists(), (outside / "new").exists()) == (True, False)


@needs_bubblewrap
async def test_behind_a_wall_the_environment_and_the_end_are_the_same(mark):
    wall = Isolation()
    done = await run(Command(argv=("/usr/bin/env",), environment={"A": "1"}, isolation=wall))
    assert sorted(done.output.head.decode().split()) in (["A=1"], ["A=1", "PWD=/"])
    # As text, because the wall hides /tmp, where this file may be.
    program = Path(HOSTILE).read_text()
    argv = (PYTHON, "-I", "-S", "-c", program, "family", mark)
    done = await run(Command(argv=argv, timeout=1.0, isolation=wall))
    assert done.exit == TimedOut(1.0)


@pytest.mark.skipif(Path("/run/systemd/system").exists(), reason="systemd is running")
async def test_a_wall_that_cannot_be_had_is_an_error_and_not_left_out(tmp_path):
    trace = tmp_path / "trace"
    wall = Isolation(by="systemd-run")
    done = await run(Command(argv=("/bin/touch", str(trace)), isolation=wall))
    assert isinstance(done.exit, NotStarted)
    assert done.exit.reason.startswith("isolation was asked for, but systemd")
    assert not trace.exists()
