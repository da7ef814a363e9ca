"""A run that kills its own process, hard, at a chosen entry of its journal. Started by test_crash.py.

Reads one job a line: ``JOURNAL ACTS RESULT KILL_AT before|after``. Forks a process for it, which runs
the run, or recovers it when the journal knows it, and writes the result as JSON; then says how it ended.
"""

import asyncio
import os
import signal
import sys
import traceback
from pathlib import Path

import rightcall as rc
from rightcall.agent import Agent
from rightcall.builtin.human_tool import human
from rightcall.core.entry import Entry
from rightcall.core.request import Request
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.testing import ScriptedModel, call, reply

RUN = "r"


class Deadly:
    """A journal that kills the process before or after its n-th entry."""

    def __init__(self, journal: JsonLinesJournal, kill_at: int, when: str) -> None:
        self._journal = journal
        self._left = kill_at
        self._when = when
        self.entries = journal.entries
        self.runs = journal.runs

    def append(self, run: str, entry: Entry) -> None:
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        self._journal.append(run, entry)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def script(request: Request) -> object:
    """What the model says, from what it has seen: the same on every attempt."""
    turn = sum(message.__class__.__name__ == "Reply" for message in request.messages)
    return (
        reply("First.", call("look", place="attic"), call("look", place="cellar")),
        reply(call("put", place="attic"), call("pay", amount=5), call("nowhere"), call("pay", text="{")),
        reply(call("ask_boss", question="more?")),
        "All done.",
    )[turn]


def run(journal_path: str, acts: str, result: str, kill_at: str, when: str) -> None:
    def act(what: str) -> str:
        with Path(acts).open("a") as file:
            file.write(f"{what}\n")
        return what

    @rc.tool(effect="read")
    def look(place: str) -> str:
        return act(f"look {place}")

    @rc.tool(effect="idempotent")
    def put(place: str, context: rc.Context[None]) -> str:
        act(f"put {place} {context.key}")
        return "put"

    @rc.tool(effect="write")
    def pay(amount: int) -> str:
        return act(f"pay {amount}")

    async def boss(question: str) -> str:
        act(f"ask {question}")
        return "no"

    journal = JsonLinesJournal(journal_path)
    tools = [look, put, pay, human(boss, name="ask_boss")]
    agent = Agent(ScriptedModel(script), tools, journal=Deadly(journal, int(kill_at), when))
    known = any(True for _ in journal.entries(RUN))
    work = agent.recover(RUN) if known else agent.run("Go.", run=RUN)
    Path(result).write_bytes(asyncio.run(work).to_json())
    journal.close()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                run(*line.split())
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
