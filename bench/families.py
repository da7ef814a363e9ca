"""How fast replies are read: each family's own way of writing one call with a long string, in MB/s.

A reply is a thought where the family thinks, a paragraph, and a call whose one string is a source file.
It comes in pieces of four letters, about what a token is; and once as a whole, which is what a reply
costs that was not streamed. CPU time counts.
"""

import platform
import statistics
import time

from rightcall.core.jsontext import dump
from rightcall.core.parts import Call
from rightcall.core.tool import Spec
from rightcall.local.families.call_text import write
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES
from rightcall.local.families.reader import Reader, answering

ROUNDS = 3
PIECE = 4
SOURCE = 'for (i = 0; i < n; i++) {\n    total += values[i]; // "sum"\n}\n'
PARAGRAPH = "The sum of all values, where a < b, is kept in a list [of one]. "
WRITE = Spec(
    name="write_file",
    description="Writes a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "text": {"type": "string"},
            "mode": {"type": "integer"},
        },
    },
)


def reply(family: Family) -> str:
    """What a model of the family would write."""
    arguments = dump({"path": "sum.c", "text": SOURCE * 400, "mode": 420})
    call = write(family, [Call(id="", name=WRITE.name, arguments=arguments)], [WRITE])
    if family.channels is not None:
        return call
    thought = ""
    if family.thinking == "marked" and family.thoughts.open:
        thought = f"{family.thoughts.open[0]}{PARAGRAPH * 100}{family.thoughts.close[0]}"
    return f"{thought}{PARAGRAPH * 100}\n{call}"


def seconds(family: Family, pieces: list[str]) -> float:
    reader = Reader(family, (WRITE,), tail=answering(family))
    start = time.process_time()
    for piece in pieces:
        reader.feed(piece)
    reader.finish()
    took = time.process_time() - start
    assert any(isinstance(part, Call) and not part.truncated for part in reader.content), family.name
    return took


def speed(family: Family, text: str, size: int) -> float:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return len(text.encode()) / 1e6 / statistics.median(seconds(family, pieces) for _ in range(ROUNDS))


def main() -> None:
    print(f"python {platform.python_version()}, {platform.machine()}; pieces of {PIECE} letters\n")
    print(f"{'family':16} {'reply':>8} {'streamed':>10} {'per piece':>10} {'whole':>10}")
    for name, family in sorted(FAMILIES.items()):
        text = reply(family)
        streamed, whole = speed(family, text, PIECE), speed(family, text, len(text))
        size = f"{len(text.encode()) / 1000:.0f} kB"
        each = f"{PIECE / streamed:.2f} µs"
        print(f"{name:16} {size:>8} {streamed:>5.1f} MB/s {each:>10} {whole:>5.0f} MB/s")


if __name__ == "__main__":
    main()
