"""What descriptions are worth to the embedded model, and what a longer list of tools costs it.

    python bench/evals/choices.py [--catalogue FILE] [--journal FILE] [--only arms|sizes|compare]

Nothing is run that the model calls. Replies are kept in the journal, so a measurement that was cut off
goes on, and the tables can be made again without asking.
"""

import argparse
import asyncio
import platform
from collections.abc import Sequence
from pathlib import Path

import arms

import rightcall as rc
from rightcall import evals
from rightcall.evals.report import comparison_lines, lines_of

HERE = Path(__file__).parent
CATALOGUE = Path("../shared/data/mcp-catalogue/tools.json")
SIZES = (5, 15, 20, 50)
MOST = 96
"""Tokens of a reply: enough for any of the arguments, and small talk is cut."""


class Bench:
    """The embedded model, and a journal that keeps what it said."""

    def __init__(self, journal: str) -> None:
        self._model = rc.connect("embedded")
        self._journal = rc.record.JsonLinesJournal(journal)
        self._cases = evals.load_cases(HERE / "cases.jsonl")
        self.called = [case for case in self._cases if case.calls]

    async def ask(
        self,
        arm: str,
        size: int = len(arms.PARAMETERS),
        catalogue: Sequence[rc.tools.Spec] = (),
        *,
        required: bool = False,
    ) -> evals.Scores:
        """All questions; with ``required`` those that a tool answers, and the model must call one."""
        scores = await evals.evaluate(
            self.called if required else self._cases,
            self._model,
            getattr(arms, arm),
            name="embedded",
            title=f"{arm}{', must call' if required else ''}",
            journal=self._journal,
            size=size,
            catalogue=catalogue,
            choice="required" if required else "auto",
            max_tokens=MOST,
            at_once=1,
        )
        print("\n".join(lines_of(scores)), flush=True)
        return scores

    async def compare(self, before: str, after: str, *, required: bool) -> None:
        first = await self.ask(before, required=required)
        second = await self.ask(after, required=required)
        print("\n".join(comparison_lines(evals.compare(first, second))), flush=True)


async def main(options: argparse.Namespace) -> None:
    print(f"embedded model, Python {platform.python_version()}, {platform.machine()}", flush=True)
    bench = Bench(options.journal)
    if options.only in ("", "arms"):
        for arm in ("bare", "described", "examples"):
            await bench.ask(arm)
        for arm in ("bare", "described", "examples"):
            await bench.ask(arm, required=True)
    if options.only in ("", "compare"):
        await bench.compare("examples", "worse_examples", required=False)
        for tool in ("weather", "currency", "train", "reminder", "mail"):
            await bench.compare("examples", f"without_{tool}", required=False)
        await bench.compare("described", "worse", required=True)
    if options.only in ("", "sizes"):
        if not options.catalogue.exists():
            raise SystemExit(f"choice by number of tools needs a catalogue; no {options.catalogue}")
        catalogue = evals.load_catalogue(options.catalogue)
        for size in SIZES:
            await bench.ask("examples", size, catalogue)
        for size in SIZES:
            await bench.ask("described", size, catalogue, required=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE)
    parser.add_argument("--journal", default=".bench/evals.jsonl")
    parser.add_argument("--only", choices=("", "arms", "sizes", "compare"), default="")
    given = parser.parse_args()
    Path(given.journal).parent.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given))
