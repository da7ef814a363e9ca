"""Agents whose model writes one program, and short ways to say what became of it."""

from pathlib import Path

from agent.kit import Desk
from rightcall import Agent, RunResult, Tool, tool
from rightcall.core.message import Reply
from rightcall.core.request import Request
from rightcall.programs import code
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.testing import ScriptedModel, call, reply

NAME = "run_program"


def scripted(*programs: str) -> ScriptedModel:
    """A model that runs these programs one after the other, and is done; the same whenever asked."""

    def script(request: Request):
        said = sum(isinstance(message, Reply) for message in request.messages)
        if said == len(programs):
            return "Done."
        return reply(call(NAME, id=f"p{said}", program=programs[said]))

    return ScriptedModel(script)


def agent_of(tools: list[Tool], *programs: str, options=None, **settings) -> Agent:
    return Agent(scripted(*programs), code(tools, **(options or {})), **settings)


async def came_to(tools: list[Tool], program: str, **settings) -> str:
    """What the model reads of a program."""
    return read(await agent_of(tools, program, **settings).run("Go."))


def read(result: RunResult) -> str:
    (first, *_) = result.calls
    return f"{first.outcome}: {first.result.text}"


PENDING = f"t1.0.{NAME}/c3"
PROGRAM = """\
import asyncio, random, time
began = (time.time(), random.random())
a, b = await asyncio.gather(find(what="a"), find(what="b"))
await asyncio.sleep(0.001)
said = await send(what=str(began[1])[:5])
[a, b, said, (time.time(), random.random()) > began]
"""


def office(desk: Desk, **settings) -> Agent:
    return agent_of([desk.tool("find"), desk.tool("send", approval=True)], PROGRAM, **settings)


COUNTED = "import asyncio\nx = await asyncio.gather(*[mark(i) for i in range(3)])\nawait last()\nsum(x)"


def recorded(place: str, then) -> Agent:
    """An agent whose program makes marks in a file, and then does something."""

    @tool
    def mark(number: int) -> int:
        """Make a mark."""
        with (Path(place) / "marks").open("a") as marks:
            marks.write(f"{number}\n")
        return number

    @tool(effect="idempotent")
    async def last() -> None:
        """The last thing."""
        await then()

    journal = JsonLinesJournal(Path(place) / "runs.jsonl")
    return agent_of([mark, last], COUNTED, journal=journal)
