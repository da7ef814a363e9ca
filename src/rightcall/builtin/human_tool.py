"""A tool with which the model asks a person."""

from collections.abc import Awaitable, Callable

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject
from rightcall.core.limits import Limits
from rightcall.core.options import check_keywords
from rightcall.core.tool import Tool, object_schema
from rightcall.errors import ToolFailure

_PARAMETERS: JsonObject = object_schema(
    ["question"], question={"type": "string", "description": "What you need to know."}
)
_A_DAY = 24 * 60 * 60.0


@check_keywords("rc.builtin.human")
def human(
    ask: Callable[[str], Awaitable[str]] | None = None,
    *,
    name: str = "ask_human",
    description: str = "Ask the person you work for, when only they can know or decide.",
) -> Tool:
    """A tool that asks a person.

    ``ask`` gets the answer in this process; without it the run pauses, and is resumed with
    ``Answer("...")`` for the call.
    """

    async def handler(question: str) -> str:
        if ask is None:
            raise ToolFailure("Nobody has answered the question.")
        return await ask(question)

    return Tool(
        name,
        description,
        _PARAMETERS,
        handler,
        # Idempotent, but not speculative: no person is asked while a reply is still streaming.
        errors="neutral",
        effect="idempotent",
        approval=ask is None,
        limits=Limits(timeout=_A_DAY),
        facts=Facts(untrusted=False, private=True, reach="user", targets=()),
    )
