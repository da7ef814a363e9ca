"""One question to a model, with tools, for code that needs only the answer."""

from typing import Unpack

from rightcall.agent import Agent
from rightcall.core.options import check_keywords
from rightcall.declare.attachment import Prompt
from rightcall.declare.toolbox import ToolSource
from rightcall.errors import LimitReached
from rightcall.loop.settings import ModelSource, QuestionOptions


@check_keywords("rc.ask")
def ask(
    prompt: Prompt,
    *,
    model: ModelSource = "embedded",
    tools: ToolSource | None = None,
    **options: Unpack[QuestionOptions],
) -> str:
    """Ask one question and return the text of the answer. Raises if the run ends without one.

    The default model is the embedded one; the default tools are arithmetic and the date and time.
    """
    if tools is None:
        from rightcall.builtin import default_tools  # noqa: PLC0415 - light until used

        tools = default_tools()
    result = Agent(model, tools).run_sync(prompt, **options)
    if not result.stop.is_answer:
        error = LimitReached(f"the run ended without an answer: {result.stop}")
        error.result = result
        raise error
    return result.text
