"""The embedded model on Berkeley's function-calling questions: "multiple" and "irrelevance".

``RIGHTCALL_BFCL`` names the folder of bfcl-eval's data. Every 5th question of "multiple" and every 12th
of "irrelevance" was looked at while the rules were made, and is left out.
"""

import asyncio
import json
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
from rightcall.core.message import said
from rightcall.core.request import Request
from rightcall.core.tool import Spec

EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 1


def kept_apart(category: str, step: int) -> list[dict[str, Any]]:
    return [row for at, row in enumerate(rows(category)) if at % step][::EVERY]


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
    async for event in model.stream(Request(messages=(said(question),), specs=tuple(specs))):
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


async def main() -> None:
    if not BFCL.exists():
        print(f"there is no {BFCL}; RIGHTCALL_BFCL names another", file=sys.stderr)
        return
    engine = rc.local.LlamaCpp(rc.local.embedded_path())
    await engine.ready()
    model = rc.local.GuidedModel(engine)
    truths = {row["id"]: row["ground_truth"][0] for row in rows("possible_answer/multiple")}
    start, tool, arguments, none = cpu_seconds(), 0, 0, 0
    multiple, irrelevance = kept_apart("multiple", 5), kept_apart("irrelevance", 12)
    for row in multiple:
        specs = tools_of(row)
        ((wanted, truth),) = truths[row["id"]].items()
        calls = await calls_for(model, row, tuple(specs.values()))
        if [call.name for call in calls] == [specs[wanted].name]:
            tool += 1
            arguments += is_right(json.loads(calls[0].arguments), truth)
    print(f"multiple: tool      {interval(tool, len(multiple))}")
    print(f"          arguments {interval(arguments, len(multiple))}", flush=True)
    for row in irrelevance:
        none += not await calls_for(model, row, tuple(tools_of(row).values()))
    seconds = (cpu_seconds() - start) / (len(multiple) + len(irrelevance))
    print(f"irrelevance: left alone {interval(none, len(irrelevance))}")
    print(f"{seconds:.2f} CPU seconds a question")
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
