"""AgentDojo with facts that nobody has touched: those that ``rc.trust.suggest`` drafts, as they come.

    .venv-agentdojo/bin/python bench/agentdojo/suggested.py [--quick] [suite ...]

What a tool returns is known from the annotations of AgentDojo's own functions, as an author's would be.
Prints how many tasks run unasked, and which attacks come off that the full facts stop.
"""

import argparse
import asyncio
import os
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, Literal, TypeAlias, get_args

from attackers import is_words_alone
from pairs import Case, Defence, run
from suites import suites

import rightcall as rc
from rightcall import trust

Known: TypeAlias = Literal["nothing", "suggested", "full"]
"""What is known of the tools."""


def annotated(suite: str, tools: Sequence[rc.Tool]) -> list[rc.Tool]:
    """The tools with nothing stated of them but what their functions return."""
    returns = {function.name: function.return_type for function in suites()[suite].tools}
    return [_annotated(tool, returns[tool.name]) for tool in tools]


def _annotated(tool: rc.Tool, returns: Any) -> rc.Tool:
    handler = tool.handler
    assert handler is not None

    async def typed(**arguments: Any) -> Any:
        return await handler(**arguments)

    typed.__annotations__["return"] = returns
    return tool.replace(handler=typed, effect="write", facts=rc.Facts())


def with_suggested(suite: str, tools: Sequence[rc.Tool]) -> list[rc.Tool]:
    """The tools with the drafts of their facts."""
    bare = annotated(suite, tools)
    return [each.over(tool) for each, tool in zip(trust.suggest(bare), bare, strict=True)]


def defence(known: Known) -> Defence:
    """Rules alone, over tools of which so much is known."""
    match known:
        case "nothing":
            return Defence(tools=annotated)
        case "suggested":
            return Defence(tools=with_suggested)
        case "full":
            return Defence()


def count(
    suite: str, user: str, kinds: Sequence[Known], *, attacked: bool
) -> tuple[Counter[Any], list[str]]:
    """The counts of one user task, and a line for everything that is odd."""
    warnings.simplefilter("ignore")
    return asyncio.run(_count(suite, user, kinds, attacked=attacked))


async def _count(
    suite: str, user: str, kinds: Sequence[Known], *, attacked: bool
) -> tuple[Counter[Any], list[str]]:
    counts: Counter[Any] = Counter()
    lines: list[str] = []
    for known in kinds:
        verdict = await run(Case(suite=suite, user=user), defence(known))
        assert verdict is not None
        unasked = verdict.utility and not verdict.asked
        counts[suite, known, "tasks"] += 1
        counts[suite, known, "unasked"] += unasked
        if not unasked and known == "suggested":
            asked = sorted({f"{each.name}: {each.reason}" for each in verdict.asked})
            lines.append(f"asked: {suite} {user}: {'; '.join(asked)[:300]}")
    for injection in suites()[suite].injection_tasks if attacked else ():
        case = Case(suite=suite, user=user, injection=injection, wants_utility=False)
        verdict = await run(case, defence("suggested"), "the user")
        if verdict is None or is_words_alone(suite, injection):
            continue
        counts[suite, "suggested", "attacks"] += 1
        counts[suite, "suggested", "came off"] += verdict.attacked
        counts[suite, "suggested", "asked under attack"] += len(verdict.asked)
        if verdict.attacked:
            full = await run(case, defence("full"), "the user")
            told = "also with" if full is not None and full.attacked else "worse than"
            lines.append(f"{told} full facts: {suite} {user} x {injection}")
    return counts, lines


def main() -> int:
    """Run, print, and end with 1 where an attack came off that full facts stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="no attacks, and only suggested facts")
    parser.add_argument("suite", nargs="*", help="only these suites")
    options = parser.parse_args()
    names = options.suite or list(suites())
    kinds: Sequence[Known] = ("suggested",) if options.quick else get_args(Known)
    counts: Counter[Any] = Counter()
    lines: list[str] = []
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        jobs = [(name, user) for name in names for user in suites()[name].user_tasks]
        # In turn from all suites, so that what has been counted so far says something of the whole.
        jobs.sort(key=lambda job: int(job[1].rpartition("_")[2]))
        for done in as_completed(
            [pool.submit(count, *job, kinds, attacked=not options.quick) for job in jobs]
        ):
            more, odd = done.result()
            counts += more
            lines += odd
            so_far = {key[2]: 0 for key in counts}
            for key, number in counts.items():
                so_far[key[2]] += number if key[1] == "suggested" else 0
            print(so_far, *odd, file=sys.stderr, flush=True)
    print("\n".join(lines))
    for suite in (*names, "all"):
        for known in kinds:
            told = {
                what: sum(counts[name, known, what] for name in (names if suite == "all" else [suite]))
                for what in ("unasked", "tasks", "came off", "attacks", "asked under attack")
            }
            print(
                f"{suite:<10} {known:<10} unasked {told['unasked']}/{told['tasks']}"
                f"  attacks by tools {told['came off']}/{told['attacks']}"
                f"  asked under attack {told['asked under attack']}"
            )
    return any(line.startswith("worse") for line in lines)


if __name__ == "__main__":
    sys.exit(main())
