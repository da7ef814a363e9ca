"""Tools that remember what was done with them, and short ways to say what a run came to."""

from collections.abc import Sequence

from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.tool import Effect, Tool
from rightcall.declare.function import tool
from rightcall.loop.result import RunResult

TRUNCATED = (
    "{name} was not run; the reply was cut off in the middle of its arguments. "
    "Call it again with shorter arguments, or in smaller steps."
)


class Desk:
    """A few tools, and the list of what they have done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tool(self, name: str, effect: Effect = "write", **options) -> Tool:
        """A tool of that name, which notes what it was told to do and says so."""

        async def do(what: str = "") -> str:
            self.done.append(f"{name} {what}".strip())
            return f"{name} {what}: done"

        return tool(do, name=name, description=f"The tool {name}.", effect=effect, **options)


def told(messages: Sequence[Message]) -> list[str]:
    """A transcript in short: who said what."""
    lines = []
    for message in messages:
        match message:
            case User(author=author):
                lines.append(f"{author}: {message.text}")
            case Reply():
                calls = [f"{call.name}({call.arguments})" for call in message.calls]
                lines.append(f"model: {' '.join(filter(None, [message.text, *calls]))}")
            case Results(results):
                lines += [f"{result.name} {result.outcome}: {result.text}" for result in results]
    return lines


def outcomes(result: RunResult) -> list[tuple[str, str]]:
    """The calls of a run, each with what became of it."""
    return [(call.name, call.outcome) for call in result.calls]
