"""Whether a model chooses as well among five tools that a search found as among all that there are.

    python bench/catalogue/choose_tools.py [--questions 150] [--journal FILE]

The model is the embedded one, and must call some tool; nothing is run. The questions are Berkeley's, of
the half that the ranking was not tuned on, each with one right function, drawn with a fixed seed. Each
right function stands among 19 and among 49 others of the same set; the search is for the question's
own words, so nothing of the search was the model's work. Replies are kept in the journal.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from public_tools import BFCL, Question, berkeley

import rightcall as rc
from rightcall import evals
from rightcall.core.tool import Spec
from rightcall.declare.search import ToolIndex

FOUND = 5
SIZES = (20, 50)


def asked(questions: Sequence[Question], number: int) -> list[Question]:
    plain = [each for each in questions if len(each.wanted) == 1 and not each.was_tuned_on]
    return Random(18).sample(plain, number)


def case(at: int, question: Question, tools: Sequence[Spec]) -> evals.Case:
    (name,) = question.wanted
    return evals.Case(
        id=str(at),
        question=question.text,
        calls=(evals.Expected(names=(name,)),),
        tools=tuple(tools),
    )


class Chooser:
    """The embedded model, and a journal that keeps what it said."""

    def __init__(self, journal: str) -> None:
        self._model = rc.connect("embedded")
        self._journal = rc.record.JsonLinesJournal(journal)

    async def right(self, cases: Mapping[int, evals.Case]) -> set[int]:
        """The questions for which it called the right function."""
        # What a search did not find cannot be called, and counts as wrong.
        there = [
            each
            for each in cases.values()
            if each.calls[0].names[0] in {spec.name for spec in each.tools}
        ]
        scores = await evals.evaluate(
            there,
            self._model,
            name="embedded",
            journal=self._journal,
            choice="required",
            max_tokens=8,
            at_once=1,
        )
        return {int(each.id) for each in scores.verdicts if each.choice}


async def main(options: argparse.Namespace) -> None:
    if not BFCL.exists():
        raise SystemExit(f"there is no {BFCL}; RIGHTCALL_BFCL names another")
    specs, questions = berkeley()
    by_name = {spec.name: spec for spec in specs}
    chosen = dict(enumerate(asked(questions, options.questions)))
    chooser = Chooser(options.journal)
    print(f"{len(chosen)} questions, the right function called by the embedded model")
    for size in SIZES:
        listed: dict[int, evals.Case] = {}
        found: dict[int, evals.Case] = {}
        for at, question in chosen.items():
            (name,) = question.wanted
            among = evals.with_distractors([by_name[name]], size, specs, seed=at)
            listed[at] = case(at, question, among)
            found[at] = case(at, question, ToolIndex(among).search([question.text], FOUND))
        reached = sum(
            each.calls[0].names[0] in {spec.name for spec in each.tools} for each in found.values()
        )
        full, searched = await chooser.right(listed), await chooser.right(found)
        p = evals.mcnemar(len(full - searched), len(searched - full))
        print(
            f"  of {size}: all sent {len(full)}, five found {len(searched)} "
            f"(the right one within them {reached}); only all sent {len(full - searched)}, "
            f"only found {len(searched - full)}, p = {p:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--journal", default=".bench/choose.jsonl")
    given = parser.parse_args()
    Path(given.journal).parent.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given))
