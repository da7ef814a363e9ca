"""How often the embedded model calls a tool that does not exist: held by a grammar, and left alone.

It is told all of its tools in one prompt, and has to call one. What it was asked for is among them. Left
alone it mostly calls nothing, so that the share of phantoms means little without how often it tried.
"""

import asyncio
import random
import re
import sys
from typing import Any

from constrained import VERBS, WORDS

import rightcall as rc
from rightcall.core.message import user_text
from rightcall.core.request import Request

QUESTIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
SIZES = (5, 20, 50, 100)
_ATTEMPT = re.compile(r'"name"\s*:\s*"([^"]*)"|<tool_call>|\b(\w+)\(')


def tools(size: int) -> list[rc.Tool]:
    """So many tools, each with a name and one parameter; always the same ones."""
    names = [f"{verb}_{noun}" for verb in VERBS for noun in WORDS]
    chosen = random.Random(size).sample(names, size)
    return [
        rc.Tool(
            name,
            f"{name.replace('_', ' the ').capitalize()}.",
            {
                "type": "object",
                "properties": {"value": {"type": "string", "maxLength": 20}},
                "required": ["value"],
                "additionalProperties": False,
            },
        )
        for name in chosen
    ]


async def reply(model: Any, specs: list[rc.Tool], asked: str, *, strict: bool) -> rc.Reply:
    request = Request(
        messages=(user_text(asked),),
        specs=tuple(each.spec for each in specs),
        choice="required",
        max_tokens=48,
        options={"temperature": 0.7, "seed": 7, "strict": strict},
    )
    async for event in model.stream(request):
        if isinstance(event, rc.events.ReplyEnd):
            return event.reply
    raise AssertionError("a reply has an end")


async def count(model: Any, size: int, *, strict: bool) -> tuple[int, int, int]:
    """How many replies try to call, how many calls there are, and how many of these name no tool."""
    specs = tools(size)
    known = {each.name for each in specs}
    attempts = calls = phantoms = 0
    for number in range(QUESTIONS):
        wanted = random.Random(number).choice(specs)
        found = await reply(
            model, specs, f"Please {wanted.name.replace('_', ' the ')} red.", strict=strict
        )
        attempts += bool(found.calls) or _ATTEMPT.search(found.text) is not None
        calls += len(found.calls)
        phantoms += sum(call.name not in known for call in found.calls)
    return attempts, calls, phantoms


async def main() -> None:
    model = rc.local.LocalModel(rc.local.LlamaCpp(rc.local.embedded_path()))
    for size in SIZES:
        for name, strict in (("held", True), ("free", False)):
            attempts, calls, phantoms = await count(model, size, strict=strict)
            print(
                f"{size:4d} tools, {name}: of {QUESTIONS} replies {attempts} try to call; "
                f"{calls} calls, {phantoms} of them to a tool that does not exist",
                flush=True,
            )
    await model.close()


if __name__ == "__main__":
    asyncio.run(main())
