"""Another process, which knows of a run only what it is told: it resumes paused runs.

Reads a JSON array of ``{"result": ..., "decisions": ...}`` and writes one of what each came to.
"""

import asyncio
import sys
from base64 import b64decode

from msgspec import Struct, json
from msgspec.structs import replace

from agent.kit import Desk
from rightcall.agent import Agent
from rightcall.core.decision import FinalDecision
from rightcall.loop.result import RunResult
from rightcall.testing import ScriptedModel


class Job(Struct):
    result: str
    decisions: dict[str, FinalDecision]


class Done(Struct):
    result: str
    done: list[str]


def paused_agent(desk: Desk, script: list) -> Agent:
    """The agent, as both processes make it."""
    tools = [desk.tool("find"), desk.tool("send", approval=True), desk.tool("wipe", approval=True)]
    return Agent(ScriptedModel(script), tools, "Be careful.")


async def resume(number: int, job: Job) -> Done:
    desk = Desk()
    # The jobs answer the same pause, each in a process of its own but for the time that takes.
    paused = replace(RunResult.from_json(b64decode(job.result)), run=str(number))
    result = await paused_agent(desk, ["So be it."]).resume(paused, job.decisions)
    return Done(result.to_json().decode(), desk.done)


async def main() -> None:
    jobs = json.decode(sys.stdin.buffer.read(), type=list[Job])
    sys.stdout.buffer.write(json.encode([await resume(*job) for job in enumerate(jobs)]))


if __name__ == "__main__":
    asyncio.run(main())
