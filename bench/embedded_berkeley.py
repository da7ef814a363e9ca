"""The embedded model on Berkeley's function-calling questions: "multiple", "irrelevance", and live ones.

``RIGHTCALL_BFCL`` names the folder of bfcl-eval's data. Every 5th question of "multiple", every 12th of
"irrelevance" and every 10th of "live_irrelevance" was looked at while the rules were made, and is left
out. Of the others, every so many are asked, beginning with a place: ``embedded_berkeley.py 4 1``. So are
the "simple" questions, each among 5, 20 and 50 tools of others, and among those without its own.
"""

import asyncio
import json
import random
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "catalogue"))

from cpu_time import cpu_seconds
from embedded import interval
from public_tools import BFCL, as_schema, rows

import rightcall as rc
from rightcall.core.message import user_text
from rightcall.core.request import Request
from rightcall.core.tool import Spec

EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 1
FIRST = int(sys.argv[2]) if len(sys.argv) > 2 else 0
LIVE_STEP, LIVE_FIRST = 10, 3


def kept_apart(category: str, step: int) -> list[dict[str, Any]]:
    return [row for at, row in enumerate(rows(category)) if at % step][FIRST::EVERY]


def tools_of(row: Mapping[str, Any]) -> dict[str, Spec]:
    """The tools that are offered, by Berkeley's names, in names that every vendor takes."""
    return {
        each["name"]: Spec(
            name=re.sub(r"\W", "_", each["name"])[:64],
            description=each["description"],
            parameters=as_schema(each["parameters"]),
        )
        for each in row["function"]
    }


async def calls_for(model: Any, row: Mapping[str, Any], specs: Sequence[Spec]) -> tuple[rc.Call, ...]:
    question = row["question"][0][-1]["content"]
    async for event in model.stream(Request(messages=(user_text(question),), specs=tuple(specs))):
        if isinstance(event, rc.events.ReplyEnd):
            return event.reply.calls
    raise AssertionError("a reply has an end")


def is_right(given: Mapping[str, Any], truth: Mapping[str, list[Any]]) -> bool:
    """Whether each argument is one of those that Berkeley allows; "" allows to leave it out."""
    if not given.keys() <= truth.keys():
        return False
    return all(
        any(_fits(given[name], each) for each in allowed) if name in given else "" in allowed
        for name, allowed in truth.items()
    )


def _fits(given: Any, allowed: Any) -> bool:
    if isinstance(given, dict) and isinstance(allowed, dict):
        return is_right(given, allowed)
    return bool(_plain(given) == _plain(allowed))


def _plain(value: Any) -> Any:
    """As Berkeley's checker compares: strings without case, spaces and marks."""
    if isinstance(value, str):
        return re.sub(r"[ ,./\-_*^]", "", value).casefold().replace("'", '"')
    return [_plain(each) for each in value] if isinstance(value, list) else value


def apart(name: str, other: str) -> bool:
    """Whether two tools are hardly for the same: no word of their names is the same."""
    mine, yours = ({*re.split(r"[_.]", each)} for each in (name, other))
    return not (mine & yours) - {"get", "find", "search", "calculate", "of", "the"}


async def among_others(model: Any) -> None:
    """The "simple" questions among tools of other questions."""
    asked = rows("simple_python")
    every = {name: spec for row in asked for name, spec in tools_of(row).items()}
    for size in (5, 20, 50):
        right, left, chosen = 0, 0, list(enumerate(asked))[FIRST::EVERY]
        for at, row in chosen:
            ((name, own),) = tools_of(row).items()
            source = random.Random(at)
            others = source.sample([every[each] for each in every if apart(name, each)], size)
            mixed = [own, *others[1:]]
            source.shuffle(mixed)
            right += [call.name for call in await calls_for(model, row, mixed)] == [own.name]
            left += not await calls_for(model, row, others)
        print(f"simple, {size} tools: tool {interval(right, len(chosen))}")
        print(f"        without its own: left alone {interval(left, len(chosen))}", flush=True)


async def main() -> None:
    if not BFCL.exists():
        print(f"there is no {BFCL}; RIGHTCALL_BFCL names another", file=sys.stderr)
        return
    engine = rc.local.LlamaCpp(rc.local.embedded_path())
    await engine.ready()
    model = rc.local.GuidedModel(engine)
    truths = {row["id"]: row["ground_truth"][0] for row in rows("possible_answer/multiple")}
    start, tool, arguments = cpu_seconds(), 0, 0
    multiple = kept_apart("multiple", 5)
    unfit = {
        "irrelevance": kept_apart("irrelevance", 12),
        "live_irrelevance": rows("live_irrelevance")[LIVE_FIRST::LIVE_STEP],
    }
    for row in multiple:
        specs = tools_of(row)
        ((wanted, truth),) = truths[row["id"]].items()
        calls = await calls_for(model, row, tuple(specs.values()))
        if [call.name for call in calls] == [specs[wanted].name]:
            tool += 1
            arguments += is_right(json.loads(calls[0].arguments), truth)
    print(f"multiple: tool      {interval(tool, len(multiple))}")
    print(f"          arguments {interval(arguments, len(multiple))}", flush=True)
    for category, questions in unfit.items():
        none = 0
        for row in questions:
            none += not await calls_for(model, row, tuple(tools_of(row).values()))
        print(f"{category}: left alone {interval(none, len(questions))}", flush=True)
    asked = len(multiple) + sum(map(len, unfit.values()))
    print(f"{(cpu_seconds() - start) / asked:.2f} CPU seconds a question")
    await among_others(model)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
