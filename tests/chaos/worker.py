"""Processes at one run, killed, starved or set upon each other. Started by workers.py.

Each line of the input is a JSON list of jobs. A process is forked for each, all at once, so that none
has to import anything; when all have ended, a line says how: exit code and last words of each. A job is

    journal   a path; ``.db`` makes it SQLite
    what      run | recover | resume (``yes`` says how to decide)
    kill_at   at so many appended entries the process ends itself by SIGKILL, ``when`` before or after
    kill_in   or it is killed from outside, after so many seconds
    dies      how the tool that pays ends the process that it runs in, the first time
    slow      seconds that each tool takes
    wait      how long to wait for a run that is held
    says      whether messages are added to the run while it goes on, by its own tools
    talks     what is said in a conversation, whose store is beside the journal
    files     the largest file that it may write, in bytes
    open      how many descriptors it may open beyond those that it has

Tools write what they do, each with the call's key, to ``JOURNAL.acts``; a process that comes to a result
writes it to ``JOURNAL.result``, or to ``JOURNAL.paused`` if it waits for a decision.
"""

import asyncio
import ctypes
import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any

import rightcall as rc
from rightcall.builtin.human_tool import human
from rightcall.core.entry import Entry
from rightcall.errors import RightcallError
from rightcall.testing import ScriptedModel, call, reply

RUN = "r"
Job = dict[str, Any]


def journal_at(path: str | Path) -> Any:
    """The journal in that file."""
    kind = rc.record.SqliteJournal if str(path).endswith(".db") else rc.record.JsonLinesJournal
    return kind(path)


def beside(job: Job, ending: str) -> Path:
    """A file beside the job's journal."""
    return Path(f"{job['journal']}.{ending}")


class Deadly:
    """A journal that kills the process before or after its n-th entry, held or not."""

    def __init__(self, journal: Any, kill_at: int, when: str) -> None:
        self._journal = journal
        self._left = kill_at
        self._when = when
        self.entries = journal.entries
        self.runs = journal.runs

    def hold(self, run: str) -> Any:
        """A hold that kills alike."""
        return DeadlyHold(self, self._journal.hold(run))

    def append(self, run: str, entry: Entry) -> Any:
        """Append, and die of it."""
        return self.counted(self._journal.append, run, entry)

    def counted(self, append: Any, *arguments: object) -> Any:
        """Do it, and die before or after if it is time."""
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        written = append(*arguments)
        if self._left == 0:
            # A journal may have done it when it returns, or when what it returns was awaited.
            if isawaitable(written):
                return self._die_after(written)
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    async def _die_after(self, written: Awaitable[object]) -> None:
        await written
        os.kill(os.getpid(), signal.SIGKILL)


def script(request: rc.models.Request) -> rc.Reply | str:
    """What the model says, from what it has seen: the same on every attempt."""
    turn = sum(isinstance(message, rc.Reply) for message in request.messages)
    return (
        reply("First.", call("look", place="attic"), call("look", place="cellar")),
        reply(call("put", place="attic"), call("pay", amount=5), call("nowhere"), call("pay", "{")),
        reply(call("ask_boss", question="more?")),
        reply(call("pay", amount=7), call("sign", paper="contract")),
        "All done.",
    )[min(turn, 4)]


class DeadlyHold:
    """A hold whose appending kills."""

    def __init__(self, journal: Deadly, hold: Any) -> None:
        self._journal = journal
        self._hold = hold
        self.release = hold.release

    def append(self, entry: Entry) -> Any:
        """Append, and die of it."""
        return self._journal.counted(self._hold.append, entry)


DEATHS: dict[str, Callable[[], object]] = {
    "exits": lambda: os._exit(3),
    "kills itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "aborts": os.abort,
    "reads what is not there": lambda: ctypes.string_at(0),
    "is terminated": lambda: signal.raise_signal(signal.SIGTERM),
    "runs out of time": lambda: signal.raise_signal(signal.SIGXCPU),
}
"""How a tool can end its process, so that nobody in it is told."""


SAYS = {
    "look-attic": ("one", "two"),
    "put-attic": ("three",),
    "pay-7": ("four!",),
    "the end": ("five", "six"),
}
"""What is said to a run, by what is done then; the last of it when the model has given its answer."""


class Tools:
    """The tools of every job, made before any process is forked: declaring them takes the longest."""

    def __init__(self) -> None:
        self.job: Job = {}
        self.inbox: rc.conversation.Inbox | None = None

    def note(self, line: str) -> None:
        """Write down what was done."""
        with beside(self.job, "acts").open("a") as file:
            file.write(f"{line}\n")

    async def say(self, when: str) -> None:
        """Say what is to be said at this time; what is taken for said is written down."""
        for text in SAYS.get(when, ()):
            if self.inbox is not None:
                await self.inbox.say(text, id=text, now=text.endswith("!"))
                with beside(self.job, "said").open("a") as file:
                    file.write(f"{text}\n")

    async def act(self, what: str, key: str) -> str:
        """Do something that can be counted afterwards."""
        self.note(f"{what} {key}")
        await self.say(what)
        if "dies" in self.job and what.startswith("pay"):
            DEATHS[self.job["dies"]]()
        await asyncio.sleep(self.job.get("slow", 0.0))
        return what

    def all(self) -> list[rc.Tool]:
        """One of each effect, one that needs a person's yes, and one that asks a person."""

        async def look(place: str, context: rc.Context[None]) -> str:
            return await self.act(f"look-{place}", context.key)

        async def put(place: str, context: rc.Context[None]) -> str:
            return await self.act(f"put-{place}", context.key)

        async def pay(amount: int, context: rc.Context[None]) -> str:
            return await self.act(f"pay-{amount}", context.key)

        async def sign(paper: str, context: rc.Context[None]) -> str:
            return await self.act(f"sign-{paper}", context.key)

        async def boss(_: str) -> str:
            return await self.act("ask-boss", "-")

        return [
            rc.tool(look, effect="read", description="Look somewhere."),
            rc.tool(put, effect="idempotent", description="Put it there."),
            rc.tool(pay, effect="write", description="Pay."),
            rc.tool(sign, effect="write", description="Sign a paper.", approval=True),
            human(boss, name="ask_boss"),
        ]


TOOLS = Tools()
ALL = TOOLS.all()


def agent_for(job: Job, journal: Any) -> rc.Agent:
    """The agent of every job: it reads, puts, pays twice, asks a person, and signs if it may."""

    async def approve(_: rc.gate.Proposal) -> bool:
        return True

    TOOLS.job = job
    # Otherwise the journal itself, so that what is killed from outside is what users have.
    used = Deadly(journal, job["kill_at"], job["when"]) if "kill_at" in job else journal
    asks = None if job.get("pauses") else approve

    async def answered(reply: rc.Reply) -> None:
        if not reply.calls:
            await TOOLS.say("the end")

    TOOLS.inbox = rc.conversation.Inbox() if job.get("says") else None
    hooks = rc.Hooks(after_model=answered) if job.get("says") else None
    store = rc.Conversations(f"{job['journal']}.chat") if "talks" in job else None
    return rc.Agent(
        ScriptedModel(script),
        ALL,
        journal=used,
        approve=asks,
        hooks=hooks,
        conversations=store,
    )


async def work(job: Job) -> str:
    """One job, and how it went in words."""
    with journal_at(job["journal"]) as journal:
        agent = agent_for(job, journal)
        wait = job.get("wait", 0.0)
        if job["what"] == "talk":
            result = await agent.run(job["talks"], conversation="user-7", run=job["talks"])
        elif job["what"] == "run":
            result = await agent.run("Go.", run=RUN, inbox=TOOLS.inbox)
        elif job["what"] == "recover":
            result = await agent.recover(RUN, wait=wait, inbox=TOOLS.inbox)
        else:
            paused = rc.RunResult.from_json(beside(job, "paused").read_bytes())
            decisions = {each.call_id: bool(job["yes"]) for each in paused.pending}
            result = await agent.resume(paused, decisions, wait=wait)
    beside(job, "paused" if result.pending else "result").write_bytes(result.to_json())
    return f"{result.stop.reason}: {' '.join(each.outcome for each in result.calls)}"


def child(job: Job, words: int) -> None:
    """The process of one job; it never returns."""
    code = 1
    try:
        if "files" in job:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job["files"], job["files"]))
        if "open" in job:
            most = max(int(each) for each in os.listdir("/proc/self/fd")) + 1 + job["open"]  # noqa: PTH208
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            said = asyncio.run(work(job))
        except RightcallError as error:
            said = f"{error.code}: {error}"
        os.write(words, said.encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def start(job: Job) -> tuple[int, int, float]:
    """A process for a job: its id, where it speaks, and when it is to be killed."""
    listen, speak = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(listen)
        child(job, speak)
    os.close(speak)
    return pid, listen, time.monotonic() + job.get("kill_in", 60.0)


def ended(pid: int, listen: int, deadline: float) -> tuple[int, str]:
    """How a process ended: its exit code, and what it said."""
    done = 0
    while not done:
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            if time.monotonic() >= deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.0003)
    with os.fdopen(listen, "rb") as file:
        return os.waitstatus_to_exitcode(status), file.read().decode()


def main() -> None:
    """Serve, until there is nothing more to do."""
    gc.freeze()  # so that no collection in a child copies what it shares
    for line in sys.stdin:
        begun = [start(job) for job in json.loads(line)]
        sys.stdout.write(json.dumps([ended(*each) for each in begun]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
