"""How often the embedded model's calls fit their schemas: held to them by a grammar, and left alone.

Each of some hundred generated tools is asked for once in both ways, with the same prompt. A call counts
when the gate lets it through. Strings and arrays have upper bounds in the generated schemas, because a
model of this size does not stop by itself.
"""

import asyncio
import random
import sys
import time
from typing import Any

import rightcall as rc
from rightcall.core.message import user_text
from rightcall.core.request import Named, Request

TOOLS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
AT_ONCE = 4
WORDS = ["city", "name", "date", "colour", "size", "weight", "speed", "level", "mode", "title", "owner"]
VERBS = ["find", "set", "send", "open", "close", "move", "count", "show", "add", "check"]


def schema(source: random.Random, depth: int = 0) -> dict[str, Any]:
    """The schema of one parameter."""
    kinds = ["string", "integer", "number", "boolean", "enum", "date", "pattern", "nullable"]
    kind = source.choice([*kinds, "array", "object"] if depth < 2 else kinds)
    match kind:
        case "string":
            return {
                "type": "string",
                "minLength": source.randint(0, 3),
                "maxLength": source.randint(8, 40),
            }
        case "integer":
            low = source.randint(-50, 50)
            return {"type": "integer", "minimum": low, "maximum": low + source.randint(1, 5000)}
        case "number":
            return {"type": "number", "exclusiveMinimum": 0, "maximum": source.choice([1, 10, 99.5])}
        case "enum":
            return {"enum": source.sample([*WORDS, 1, 2.5, None, True], source.randint(2, 5))}
        case "date":
            return {"type": "string", "format": "date"}
        case "pattern":
            return {
                "type": "string",
                "pattern": source.choice([r"^[A-Z]{2}-[0-9]{3}$", r"^#[0-9a-f]{6}$"]),
            }
        case "nullable":
            return {"anyOf": [{"type": "null"}, schema(source, 2)]}
        case "array":
            return {"type": "array", "items": schema(source, depth + 1), "minItems": 1, "maxItems": 3}
        case "object":
            return parameters(source, depth + 1)
        case _:
            return {"type": kind}


def parameters(source: random.Random, depth: int = 0) -> dict[str, Any]:
    """The schema of some parameters."""
    names = source.sample(WORDS, source.randint(1, 4 - depth))
    return {
        "type": "object",
        "properties": {name: schema(source, depth) for name in names},
        "required": source.sample(names, source.randint(1, len(names))),
        "additionalProperties": False,
    }


def tool(number: int) -> rc.Tool:
    """The tool of a number; always the same one."""
    source = random.Random(number)
    verb, noun = source.choice(VERBS), source.choice(WORDS)
    return rc.Tool(f"{verb}_{noun}", f"{verb.title()} the {noun}.", parameters(source))


async def fits(model: Any, made: rc.Tool, *, strict: bool) -> tuple[bool, bool]:
    """Whether the one reply to one question calls, and whether the gate lets that through."""
    wanted = ", ".join(made.parameters["properties"])  # type: ignore[arg-type]
    request = Request(
        messages=(user_text(f"Please {made.name.replace('_', ' the ')} for me: {wanted}."),),
        specs=(made.spec,),
        choice=Named(made.name),
        max_tokens=700 if strict else 160,
        options={"temperature": 0.7, "seed": 7, "strict": strict},
    )
    calls: tuple[rc.Call, ...] = ()
    async for event in model.stream(request):
        if isinstance(event, rc.events.ReplyEnd):
            calls = event.reply.calls
    box = rc.Toolbox(made)
    passed = [isinstance(rc.gate.check(call, box), rc.gate.CheckedCall) for call in calls]
    return bool(calls), bool(calls) and all(passed)


async def rate(model: Any, *, strict: bool) -> tuple[int, int, float]:
    """How many replies call, how many of these fit, and the seconds it took."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[bool, bool]:
        async with places:
            return await fits(model, tool(number), strict=strict)

    start = time.perf_counter()
    verdicts = await asyncio.gather(*[one(number) for number in range(TOOLS)])
    bad = [number for number, (_, fine) in enumerate(verdicts) if not fine]
    if strict and bad:
        print(f"  held, and yet wrong: tools {bad}")
    attempts, fine = (sum(column) for column in zip(*verdicts, strict=True))
    return attempts, fine, time.perf_counter() - start


async def main() -> None:
    model = rc.local.LocalModel(rc.local.LlamaCpp(rc.local.embedded_path(), parallel=AT_ONCE))
    for name, strict in (("held by a grammar", True), ("left alone", False)):
        attempts, count, seconds = await rate(model, strict=strict)
        print(f"{name:18} of {TOOLS} replies {attempts} call, and {count} of them fit; {seconds:.0f} s")
    await model.close()


if __name__ == "__main__":
    asyncio.run(main())
