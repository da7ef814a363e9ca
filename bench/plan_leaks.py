"""Random plans, each run with other untrusted words: calls that labels call clean must be equal.

    python bench/plan_leaks.py [plans] [number of the first]

Each is run three times. In the second run everything that outsiders could choose is different, which no
call may show that is clean for the level ``choice``; in the third only their words are, and not who they
are, which no call may show that is clean for ``named``. A plan may fail in one run and not in another,
which tells one bit: then the clean calls of the one are the beginning of the other's.
"""

import ast
import json
import random
import sys
import time
from typing import Any, NamedTuple

from plan_writer import WORDS, Writer

from rightcall.core.jsontext import Place
from rightcall.plan.parse import parse
from rightcall.plan.run import Extract, PlanAnswer, Wants, step
from rightcall.plan.value import (
    LabelledValue,
    Labelling,
    SourceKind,
    as_json,
    deep_taint,
    of_json,
    words_in,
)

TOOLS = frozenset({"look", "find", "say"})
FREE = frozenset({"body", "tags", "note"})


class World(NamedTuple):
    """What outsiders choose: who they are, and what they say."""

    names: int
    words: int


class Ran(NamedTuple):
    """What one run of a plan did."""

    clean: list[str]
    """The calls whose labels say that no outsider had a hand in them."""
    unworded: list[str]
    """The calls whose labels say that no outsider's words had."""
    calls: int
    ended: bool


def run(tree: ast.Module, world: World) -> Ran:
    """Run a plan in a world."""
    clean: list[str] = []
    unworded: list[str] = []
    calls = 0

    def outside(wants: Wants) -> LabelledValue:
        nonlocal calls
        calls += 1
        if isinstance(wants, Extract):
            asked = json.dumps([as_json(wants.text), wants.wanted.name, as_json(wants.question)])
            taint = deep_taint(wants.text) | deep_taint(wants.question)
            kind: SourceKind = "read" if taint else "system"
            say = random.Random(f"{world if taint else 0}{asked}")
            answer = say.choice(WORDS) if wants.wanted.name == "str" else say.randrange(4)
            return of_json(
                answer, Labelling(tool="extract", call=calls, kind_at=lambda _: kind, chosen=taint)
            )
        given = json.dumps([[as_json(each) for each in wants.args], as_json_all(wants.named)])
        taint = frozenset().union(*(deep_taint(each) for each in (*wants.args, *wants.named.values())))
        if not taint and not wants.branch:
            clean.append(f"{wants.function}{given}")
        if not words_in(taint | wants.branch):
            unworded.append(f"{wants.function}{given}")
        labels = Labelling(
            tool=wants.function,
            call=calls,
            kind_at=_kind,
            chosen=taint,
            is_found=wants.function == "find",
        )
        return of_json(_returned(wants.function, given, world), labels)

    ended = isinstance(step(tree, TOOLS, outside), PlanAnswer)
    return Ran(clean, unworded, calls, ended)


def as_json_all(named: Any) -> dict[str, Any]:
    """Arguments by name, plainly."""
    return {name: as_json(value) for name, value in named.items()}


def _kind(place: Place) -> SourceKind:
    if any(each in FREE for each in place):
        return "free"
    return "given" if "who" in place else "system"


def _returned(tool: str, given: str, world: World) -> Any:
    own, outsiders = random.Random(f"{tool}{given}"), random.Random(f"{world.words}{tool}{given}")
    names = random.Random(f"{world.names}{tool}{given}")
    if tool == "say":
        return {"id": own.randrange(5), "note": outsiders.choice(WORDS)}
    count = outsiders.randrange(4) if tool == "find" else own.randrange(1, 4)
    return [
        {
            "id": own.randrange(5),
            "name": own.choice(WORDS),
            # Whoever it is, it is nobody that the plan or the system knows of.
            "who": f"@{names.choice(WORDS)}",
            "body": outsiders.choice(WORDS),
            "tags": [outsiders.choice(WORDS) for _ in range(outsiders.randrange(3))],
            "rows": [{"n": own.randrange(4), "note": outsiders.choice(WORDS)} for _ in range(2)],
        }
        for _ in range(count)
    ]


def _agree(one: list[str], other: list[str], *, both: bool) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter] and not (both and len(one) != len(other))


class Tally(NamedTuple):
    """What some plans showed."""

    plans: int
    ended: int
    """Plans that came to their end whatever outsiders chose."""
    calls: int
    clean: int
    leaks: list[str]
    """The sources of plans whose clean calls differ."""


def tally(plans: int, first: int = 0) -> Tally:
    """Write so many plans and run each in every world."""
    ended = calls = clean = 0
    leaks: list[str] = []
    for number in range(first, first + plans):
        source = Writer(number).plan()
        tree = parse(source)
        one, other, reworded = (run(tree, each) for each in (World(1, 1), World(2, 2), World(1, 2)))
        ended += one.ended and other.ended
        calls += one.calls
        clean += len(one.clean)
        if not _agree(one.clean, other.clean, both=one.ended and other.ended):
            leaks.append(f"# plan {number}, at choice\n{source}")
        elif not _agree(one.unworded, reworded.unworded, both=one.ended and reworded.ended):
            leaks.append(f"# plan {number}, at named\n{source}")
    return Tally(plans, ended, calls, clean, leaks)


def main() -> int:
    """Print what was found."""
    plans = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = time.perf_counter()
    found = tally(plans, first)
    seconds = time.perf_counter() - began
    print(f"{found.plans:,} plans in {seconds:.0f} s, {found.ended:,} ended in both runs")
    print(f"{found.calls:,} calls, {found.clean:,} of them clean; {len(found.leaks)} plans leak")
    for source in found.leaks[:3]:
        print(f"\n{source}")
    return 1 if found.leaks else 0


if __name__ == "__main__":
    sys.exit(main())
