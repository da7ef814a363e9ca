"""How reliable the embedded model is, on questions that nothing was chosen by, and what the ways cost.

``led`` is the default: one small question after another, each answer held by a grammar. ``told`` has the
same model told about its tools in one prompt, with a grammar that sets in when a call begins. ``free``
is that without a grammar.
"""

import asyncio
import json
import platform
import time
from collections.abc import Callable, Sequence

from questions import SETS, Question

import rightcall as rc
from rightcall.core.ports import Model

LIMIT = rc.Budget(turns=3, seconds=120.0)


async def judged(agent: rc.Agent, question: Question) -> tuple[bool, bool, bool]:
    """Whether the right tool was called, with the right arguments, and its result is in the answer."""
    run = await agent.run(question.text, budget=LIMIT)
    called = [call.name for call in run.calls]
    if question.tool is None:
        return called == [], called == [], called == [] and bool(run.text.strip())
    if called != [question.tool]:
        return False, False, False
    (call,) = run.calls
    right = call.outcome == "returned"
    if question.result is not None:
        right = right and call.result.text == question.result
    if question.arguments is not None:
        right = right and question.arguments(json.loads(call.arguments))
    said = right and any(word in run.text for word in _words(call.result.text))
    return True, right, said


def _words(result: str) -> Sequence[str]:
    """What of a result an answer may say."""
    return [
        word
        for word in result.replace('"', " ").replace(",", " ").split()
        if len(word) > 1 or word.isdigit()
    ]


async def measure(name: str, model: Model) -> None:
    print(f"\n{name}")
    totals, of = [0, 0, 0], 0
    for title, (tools, questions) in SETS.items():
        agent = rc.Agent(model, tools, max_tokens=160, options={"strict": name != "free"})
        start = time.perf_counter()
        verdicts = [await judged(agent, question) for question in questions]
        seconds = (time.perf_counter() - start) / len(questions)
        counts = [sum(column) for column in zip(*verdicts, strict=True)]
        totals = [have + more for have, more in zip(totals, counts, strict=True)]
        of += len(questions)
        print(row(title, counts, len(questions)) + f"  {seconds:5.1f} s each")
    print(row("together", totals, of))


def row(title: str, counts: Sequence[int], of: int) -> str:
    figures = [f"{count:3d} ({100 * count / of:3.0f}%)" for count in counts]
    return f"  {title:18} of {of:3d}: tool {figures[0]}  arguments {figures[1]}  answer {figures[2]}"


async def main() -> None:
    engine = rc.local.LlamaCpp(rc.local.embedded_path())
    card = await engine.ready()
    print(f"{card.name}, Python {platform.python_version()}, {platform.machine()}")
    ways: dict[str, Callable[[], Model]] = {
        "led": lambda: rc.local.GuidedModel(engine),
        "told": lambda: rc.local.LocalModel(engine),
        "free": lambda: rc.local.LocalModel(engine),
    }
    for name, make in ways.items():
        await measure(name, make())
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
