"""The command line as others see it: as a process, at the end of a pipe and on a terminal."""

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple, Self

import warm
from rightcall.cli.main import main

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PATIENCE = 30.0

WORLD = '''
import rightcall as rc
from rightcall.core.message import Reasoning
from rightcall.errors import VendorError
from rightcall.testing import Break, ScriptedModel, Turn, call, reply

NEVER = 3600.0
USAGE = rc.models.Usage(input_tokens=1200, output_tokens=7, cached_tokens=1000, cost=0.0123)


@rc.tool(effect="read")
async def get_weather(city: str) -> str:
    """Current weather for a city."""
    return f"Sunny in {city}."


@rc.tool(approval=True)
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return f"sent to {to}"


@rc.tool
async def forever() -> str:
    """Never return."""
    import asyncio
    await asyncio.sleep(NEVER)
    return ""


weather = ScriptedModel([
    reply(Reasoning("Hm."), "Let me look.", call("get_weather", city="Paris")),
    reply("It is sunny.", usage=USAGE),
])
mail = ScriptedModel([reply(call("send_mail", to="bob", body="Hi")), "Done."])
evil = ScriptedModel([
    reply("\\x1b]0;owned\\x07", call("get_weather", city="\\x1b[2JParis\\u202e")),
    reply("An\\x1b[2J answer\\x9b31m.\\r\\nEnd"),
])
lines = ScriptedModel(["one\\n" * 50_000])
stuck = ScriptedModel([reply(call("get_weather", city="Paris")), Turn(reply=reply("late"), delay=NEVER)])
busy = ScriptedModel([reply("Let me.", call("forever"))])
slow = ScriptedModel([Turn(reply=reply("There."), delay=0.8)])
loops = ScriptedModel(lambda request: reply(call("get_weather", city=str(len(request.messages)))))
refuses = ScriptedModel([reply("I cannot do that.", stop="refusal")])
cut = ScriptedModel([reply("A long st", stop="length")])
broken = ScriptedModel([Turn(breaks=Break(0, VendorError("overloaded \\x1b[31m", status=529)))])
odd = ScriptedModel(["naïve → \\ud800!"])


def _echo(request):
    said = [message.text for message in request.messages if isinstance(message, rc.User)]
    asked = f"{len(request.messages)}: {' | '.join(said)}; {request.system}; {request.choice}"
    return f"{asked}; {dict(request.options)}; {request.max_tokens}"


def _failing(request):
    if "fail" in request.messages[-1].text:
        return Turn(breaks=Break(0, VendorError("overloaded")))
    return _echo(request)


def _pausing(request):
    if "wait" in request.messages[-1].text:
        return Turn(reply=reply("Begun and ", "never", " ended"), pause=0.5)
    return _echo(request)


echo = ScriptedModel(_echo)
pausing = ScriptedModel(_pausing)
failing = ScriptedModel(_failing)
not_a_model = 5
a_class = ScriptedModel
'''


class Ran(NamedTuple):
    """What a process came to."""

    code: int
    out: str
    err: str


def command(*arguments: str) -> list[str]:
    """The command line in a process that has what it needs imported already."""
    flags = ("-W", "error")
    loaded = (
        "rightcall.transport.dial",
        "rich.console",
        "rightcall.cli.work.ask",
        "rightcall.cli.work.chat",
    )
    return [*warm.python(*loaded, flags=flags), "-m", "rightcall.cli.main", *arguments]


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a process sees: a home of its own, and no colours unless asked for."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    return {**kept, "HOME": str(home), "TERM": "xterm", "PYTHONUTF8": "1", **(extra or {})}


def run(home: Path, *arguments: str, stdin: bytes = b"", extra: Mapping[str, str] | None = None) -> Ran:
    """The command in a process, its streams pipes."""
    ran = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        env=environment(home, extra),
        cwd=home,
    )
    return Ran(ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))


def within(home: Path, *arguments: str, stdin: bytes = b"") -> Ran:
    """The command in this process, which saves its start; what it imported from home is forgotten."""
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.stdin = before
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(home)):
                del sys.modules[name]
    return Ran(code, out.getvalue(), err.getvalue())


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, home: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            command(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(home, extra),
            cwd=home,
            start_new_session=True,
        )
        os.close(theirs)
        self._seen = b""
        self._read_up_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)

    @property
    def raw(self) -> str:
        """Everything that came, escape sequences too."""
        return self._seen.decode(errors="replace")

    @property
    def text(self) -> str:
        """Everything that came, without the sequences that move and colour."""
        return _ESCAPES.sub("", self.raw).replace("\r", "")

    def wait_for(self, words: str) -> str:
        """Read until the words have come since the last wait; what came up to then."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.text.find(words, self._read_up_to)) < 0:
            assert self._more(deadline), f"{words!r} did not come; there was {self.text!r}"
        self._read_up_to = found + len(words)
        return self.text[: self._read_up_to]

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def interrupt(self) -> None:
        """Type Ctrl-C, once the process waits: Python's readline misses a signal just before it does."""
        status = Path(f"/proc/{os.tcgetpgrp(self._ours)}/stat")
        deadline = time.monotonic() + PATIENCE
        while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline
            os.sched_yield()
        self.send("\x03")

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        return not self._more(time.monotonic() + seconds)

    def end(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._more(deadline):
            pass
        return self._process.wait(timeout=PATIENCE)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))
        try:
            piece = os.read(self._ours, 65536) if ready else b""
        except OSError:
            # The other side has closed.
            piece = b""
        self._seen += piece
        return bool(piece)
