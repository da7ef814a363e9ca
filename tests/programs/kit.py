"""Agents whose model writes one program, and short ways to say what became of it."""

from rightcall import Agent, RunResult, Tool, code
from rightcall.core.message import Reply
from rightcall.core.request import Request
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
