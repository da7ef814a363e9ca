"""How reliable the embedded model is, on questions that somebody else wrote.

Plain tools, functions with docstrings, are those of ``bench/heldout6``, ``heldout5``, ``heldout4``,
``heldout2`` and ``heldout3``; ``bench/README.md`` says how much of each was looked at. Each set is
offered by itself, and filled up with tools of the others to 5, 10, 20 and 50. The questions for a tool
are also put to 20 and 50 tools of others alone. Tools with examples are those of ``bench/questions.py``.
Each figure has a 95% interval (Wilson).
"""

import asyncio
import importlib.util
import json
import platform
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cpu_time import cpu_seconds
from msgspec import Struct, convert
from msgspec.structs import replace
from questions import SETS, Question

import rightcall as rc
from rightcall.core.ports import Model

SECOND, THIRD, FOURTH, FIFTH, SIXTH = (
    Path(__file__).with_name(f"heldout{number}") for number in (2, 3, 4, 5, 6)
)
GROUPS = (
    ((SIXTH,), (SECOND, THIRD, FOURTH, FIFTH, SIXTH)),
    ((FIFTH,), (SECOND, THIRD, FOURTH, FIFTH)),
    ((FOURTH,), (SECOND, THIRD, FOURTH)),
    ((SECOND, THIRD), (SECOND, THIRD)),
)
"""Folders of questions that are measured together, and of the tools that are offered with them."""
EVERY = int(sys.argv[1]) if len(sys.argv) > 1 else 1
"""Of the questions with 5 and more tools offered, every so many."""
LIMIT = rc.Budget(turns=3, seconds=120.0)
SIZES = (5, 10, 20, 50)
Z = 1.96


class Case(Struct, frozen=True):
    """A question, as it stands in the file."""

    toolset: str
    question: str
    kind: str
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    alternatives: list[dict[str, Any]] | None = None
    answer: str | float | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """What came of one: the tool, its arguments, the answer; or that nothing was called."""

    kind: str
    cpu: float
    tool: bool = False
    arguments: bool = False
    answer: bool = False
    invented: bool = False


def interval(count: int, of: int) -> str:
    """A share, and between what and what it is."""
    if not of:
        return "-"
    share, spread = count / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = Z * (share * (1 - share) / of + spread / (4 * of)) ** 0.5 / (1 + spread)
    low, high = 100 * (middle - half), 100 * (middle + half)
    return f"{count:3d} of {of:3d} ({100 * share:3.0f}%, {low:.0f} to {high:.0f})"


def loosely(value: Any) -> Any:
    """A value without what does not matter: case, articles, marks at the ends, 23 or 23.0."""
    if isinstance(value, str):
        text = value.casefold().strip(" .!?,'\"")
        return text.removeprefix("the ").removeprefix("a ").removeprefix("an ").removeprefix("my ")
    if isinstance(value, list):
        return [loosely(each) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return float(value)


def is_right(given: Mapping[str, Any], case: Case) -> bool:
    wanted = [case.arguments or {}, *(case.alternatives or ())]
    plain = {name: loosely(value) for name, value in given.items()}
    return any(plain == {name: loosely(value) for name, value in each.items()} for each in wanted)


def is_said(answer: str | float | None, text: str) -> bool:
    if isinstance(answer, str):
        return answer.casefold() in text.casefold()
    words = text.replace(",", "").replace("%", "").split()
    numbers = [word.strip(".()$€£:;") for word in words]
    return any(_is_number(word) and float(word) == answer for word in numbers)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def texts_in(value: Any) -> Iterator[str | float]:
    """The strings and numbers of some arguments."""
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)


def toolsets(*folders: Path) -> dict[str, list[Any]]:
    """The sets of plain functions, as tools."""
    found: dict[str, list[Any]] = {}
    for path in (path for folder in folders for path in sorted((folder / "toolsets").glob("*.py"))):
        about = importlib.util.spec_from_file_location(path.stem, path)
        assert about is not None
        assert about.loader is not None
        module = importlib.util.module_from_spec(about)
        about.loader.exec_module(module)
        found[path.stem] = [rc.tool(effect="read")(each) for each in module.TOOLS]
    return found


def held_out(*folders: Path) -> list[Case]:
    """The questions, as they stand in the files."""
    lines = [
        line
        for folder in folders
        for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()
    ]
    return [convert(json.loads(line), Case) for line in lines if line]


def offered(sets: Mapping[str, list[Any]], case: Case, size: int, place: int) -> list[Any]:
    """The tools of the case's own set, filled up to a size with others; always the same ones."""
    own = sets[case.toolset]
    source = random.Random(place)
    others = [tool for name, tools in sets.items() if name != case.toolset for tool in tools]
    names = {tool.name for tool in own}
    others = list({tool.name: tool for tool in others if tool.name not in names}.values())
    if len(own) > size:
        right = [tool for tool in own if tool.name == case.tool]
        own = [*right, *source.sample([tool for tool in own if tool not in right], size - len(right))]
    mixed = [*own, *source.sample(others, min(len(others), size - len(own)))]
    return source.sample(mixed, len(mixed))


def others(sets: Mapping[str, list[Any]], case: Case, size: int, place: int) -> list[Any]:
    """Tools of other sets alone; always the same ones."""
    names = {tool.name for tool in sets[case.toolset]}
    tools = {tool.name: tool for name in sets if name != case.toolset for tool in sets[name]}
    source = random.Random(place)
    return source.sample([tool for tool in tools.values() if tool.name not in names], size)


async def judged(model: Model, tools: Sequence[Any], case: Case) -> Verdict:
    start = cpu_seconds()
    run = await rc.Agent(model, tools).run(case.question, budget=LIMIT)
    cpu = cpu_seconds() - start
    called = [call.name for call in run.calls]
    given = [json.loads(call.arguments) for call in run.calls]
    asked = case.question.casefold()
    # Counted by the plainest rule: a string that does not stand in the question, whatever the reason.
    invented = any(isinstance(each, str) and each.casefold() not in asked for each in texts_in(given))
    if case.kind != "tool":
        return Verdict(kind=case.kind, cpu=cpu, tool=not called, invented=invented)
    tool = called == [case.tool]
    right = tool and is_right(given[0], case)
    answer = tool and is_said(case.answer, run.text)
    return Verdict(kind="tool", cpu=cpu, tool=tool, arguments=right, answer=answer, invented=invented)


def report(title: str, verdicts: Sequence[Verdict]) -> None:
    for kind, words in (
        ("tool", "a tool is for it"),
        ("missing", "a value is missing"),
        ("none", "no tool"),
    ):
        these = [each for each in verdicts if each.kind == kind]
        if not these:
            continue
        if kind == "tool":
            for name in ("tool", "arguments", "answer"):
                count = sum(getattr(each, name) for each in these)
                print(f"  {title:24} {words:20} {name:10} {interval(count, len(these))}")
        else:
            print(
                f"  {title:24} {words:20} left alone {interval(sum(v.tool for v in these), len(these))}"
            )
    cpu = sorted(each.cpu for each in verdicts)
    print(
        f"  {title:24} CPU seconds a question: mean {sum(cpu) / len(cpu):.2f}, median "
        f"{cpu[len(cpu) // 2]:.2f}, most {cpu[-1]:.2f}; strings not in the question: "
        f"{sum(each.invented for each in verdicts)}",
        flush=True,
    )


async def plain(model: Model, folders: Sequence[Path], offering: Sequence[Path]) -> None:
    sets, cases = toolsets(*offering), held_out(*folders)
    asked = ", ".join(folder.name for folder in folders)
    print(f"\nplain docstrings, {asked}: {len(cases)} questions, {sum(map(len, sets.values()))} tools")
    for folder in folders:
        alone = [await judged(model, sets[case.toolset], case) for case in held_out(folder)]
        report(f"its own set, {folder.name}", alone)
    for size in SIZES:
        verdicts = [
            await judged(model, offered(sets, case, size, place), case)
            for place, case in enumerate(cases)
            if place % EVERY == 0
        ]
        report(f"{size} tools", verdicts)
    for size in (20, 50):
        verdicts = [
            await judged(model, others(sets, case, size, place), replace(case, kind="none"))
            for place, case in enumerate(cases)
            if place % EVERY == 0 and case.kind == "tool"
        ]
        report(f"{size} tools of others", verdicts)


async def with_examples(model: Model) -> None:
    print("\ntools with examples (bench/questions.py)")
    for title, (tools, questions) in SETS.items():
        report(title, [await judged_by_result(model, tools, question) for question in questions])


async def judged_by_result(model: Model, tools: Any, question: Question) -> Verdict:
    start = cpu_seconds()
    run = await rc.Agent(model, tools).run(question.text, budget=LIMIT)
    cpu = cpu_seconds() - start
    called = [call.name for call in run.calls]
    if question.tool is None:
        return Verdict(kind="none", cpu=cpu, tool=not called)
    if called != [question.tool]:
        return Verdict(kind="tool", cpu=cpu)
    (call,) = run.calls
    right = call.outcome == "returned"
    if question.result is not None:
        right = right and call.result.text == question.result
    if question.arguments is not None:
        right = right and question.arguments(json.loads(call.arguments))
    said = right and any(word in run.text for word in _words(call.result.text))
    return Verdict(kind="tool", cpu=cpu, tool=True, arguments=right, answer=said)


def _words(result: str) -> Sequence[str]:
    """What of a result an answer may say."""
    return [
        word
        for word in result.replace('"', " ").replace(",", " ").split()
        if len(word) > 1 or word.isdigit()
    ]


async def main() -> None:
    engine = rc.local.LlamaCpp(rc.local.embedded_path())
    card = await engine.ready()
    print(f"{card.name}, Python {platform.python_version()}, {platform.machine()}")
    model = rc.local.GuidedModel(engine)
    for folders, offering in GROUPS:
        await plain(model, folders, offering)
    await with_examples(model)
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main())
