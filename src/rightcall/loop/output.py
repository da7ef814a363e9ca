"""The text of an answer against the output asked for."""

import re

from rightcall.core.call import Call, CheckedCall
from rightcall.core.outcome import Invalid
from rightcall.core.tool import Tool
from rightcall.execute.check import Refused, check

BAD_ANSWER = (
    "Your answer does not have the form that is asked for:\n{problems}\nGive the whole answer again."
)

_FENCED = re.compile(r"\s*```[A-Za-z]*\n(.*)\n```\s*", re.DOTALL)


class Only:
    """A toolbox of one."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def get(self, name: str) -> Tool | None:
        """The tool, if it is asked for by its name."""
        return self._tool if name == self._tool.name else None

    def names(self) -> tuple[str, ...]:
        """Its name."""
        return (self._tool.name,)


def judge(answer: Tool, text: str) -> CheckedCall | Refused:
    """Check an answer as if it were the arguments of a call. A code fence around it does no harm."""
    fenced = _FENCED.fullmatch(text)
    arguments = fenced[1] if fenced else text
    # Nothing at all would pass for a form without required fields; as an answer it is none.
    call = Call(id="answer", name=answer.name, arguments=arguments if arguments.strip() else "null")
    return check(call, Only(answer))


def complaint(answer: Tool, text: str) -> str:
    """What is wrong with an answer, in words for the model; empty when nothing is."""
    verdict = judge(answer, text)
    if isinstance(verdict, CheckedCall):
        return ""
    problems = verdict.problems if isinstance(verdict, Invalid) else ()
    return BAD_ANSWER.format(problems="\n".join(f"- {problem}" for problem in problems))
