"""What grammars admit and refuse of MaskBench's values, in every notation, and what they cost to make.

MaskBench (https://github.com/guidance-ai/jsonschemabench, ``maskbench/data``) has schemas from public
places, each with values that satisfy it and values that do not. Two samples were seen while the grammars
were made, and the totals of a third; a fresh one, disjoint from all of them, was not. Every value is
written by ``json.dumps``, and judged by the engine that would hold a model to the grammar: llguidance
for Lark and for its own compiler of schemas, llama.cpp for GBNF.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from llguidance import LLMatcher

from local.grammar.llama_judge import GbnfJudge  # type: ignore[import-not-found]
from local.grammar.sample import LarkJudge, tokenizer  # type: ignore[import-not-found]
from rightcall.core.jsontext import nodes
from rightcall.errors import UsageError
from rightcall.local.grammar.build import grammar_for_output

SAMPLE = 2000
SEEDS = {"first": 20, "second": 2021, "third": 7411, "fresh": 90125}
"""Of samples that are disjoint, in this order. Of the third only totals were seen, and nobody looked at
the last one."""
CALLS = ("BFCL", "Glaive")
"""How the names of schemas of functions' parameters begin."""


class Row:
    """The figures of one notation."""

    def __init__(self) -> None:
        self.valid = self.invalid = self.kept = self.let_in = self.order = self.unmade = 0
        self.calls = self.calls_right = 0
        self.making: list[float] = []
        self.reading: list[float] = []
        self.wrong: list[tuple[str, bool, Any]] = []

    def text(self, name: str) -> str:
        refused = self.valid - self.kept
        return (
            f"| {name} | {self.kept} of {self.valid} ({_share(self.kept, self.valid)}) "
            f"| {self.let_in} of {self.invalid} ({_share(self.let_in, self.invalid)}) "
            f"| {self.order} of {refused} | {self.calls_right} of {self.calls} | {self.unmade} "
            f"| {_times(self.making)} | {_times(self.reading)} |"
        )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "none"


def _times(seconds: list[float]) -> str:
    if not seconds:
        return ""
    ordered = sorted(seconds)
    places = [ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.95, 0.99)]
    return ", ".join(f"{1000 * place:.1f}" for place in places)


class _Schema:
    """llguidance's own compiler."""

    def __init__(self, schema: Any, *, lenient: bool) -> None:
        options: Any = {"lenient": True} if lenient else {}
        self._text = LLMatcher.grammar_from_json_schema(schema, overrides=options)
        self._matcher = LLMatcher(tokenizer(), self._text, log_level=0)
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def accepts(self, text: str) -> bool:
        self._matcher.reset()
        tokens = list(text.encode())
        return self._matcher.try_consume_tokens(tokens) == len(tokens) and self._matcher.is_accepting()


JUDGES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "ours, Lark": (
        lambda schema: grammar_for_output(schema, syntax="lark").text,
        LarkJudge,
    ),
    "ours, GBNF": (
        lambda schema: grammar_for_output(schema, syntax="gbnf").text,
        GbnfJudge,
    ),
    "llguidance, lenient": (lambda schema: schema, lambda schema: _Schema(schema, lenient=True)),
    "llguidance, strict": (lambda schema: schema, lambda schema: _Schema(schema, lenient=False)),
}


def cases(folder: Path, wanted: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of a sample."""
    left = sorted(folder.glob("*.json"))
    for sample, seed in SEEDS.items():
        chosen = random.Random(seed).sample(left, SAMPLE)
        if sample == wanted:
            break
        left = sorted(set(left) - set(chosen))
    for path in chosen:
        yield path.stem, json.loads(path.read_text())


def ordered(value: Any, orders: list[list[str]]) -> Any:
    """A value, the members of each object in the order of the declaration that knows most of them."""
    if isinstance(value, list):
        return [ordered(each, orders) for each in value]
    if not isinstance(value, dict):
        return value
    known = max(orders, key=lambda names: len(value.keys() & set(names)), default=[])
    names = sorted(value, key=lambda name: known.index(name) if name in known else len(known))
    return {name: ordered(value[name], orders) for name in names}


def judge(row: Row, name: str, case: dict[str, Any], make: Any, read: Any) -> None:
    """Put one schema's values to a row."""
    schema = case["schema"]
    begin = time.process_time()
    try:
        text = make(schema)
        made = time.process_time()
        found = read(text)
        row.making.append(made - begin)
        row.reading.append(time.process_time() - made)
    except (AssertionError, ValueError, UsageError) as error:
        found = None
        row.unmade += 1
        row.wrong.append((name, True, f"not made: {str(error)[:300]}"))
    is_right = True
    for test in case.get("tests", ()):
        text = json.dumps(test["data"], ensure_ascii=False)
        # Without a grammar there is no answer: nothing is let in, and nothing is admitted.
        admitted = found is not None and found.accepts(text)
        if test["valid"]:
            row.valid += 1
            row.kept += admitted
            if not admitted and found is not None:
                orders = [list(node["properties"]) for node in nodes(schema) if _has_members(node)]
                row.order += found.accepts(json.dumps(ordered(test["data"], orders), ensure_ascii=False))
        else:
            row.invalid += 1
            row.let_in += admitted
        if admitted is not test["valid"]:
            is_right = False
            row.wrong.append((name, test["valid"], test["data"]))
    if name.startswith(CALLS):
        row.calls += 1
        row.calls_right += is_right


def _has_members(node: Any) -> bool:
    return isinstance(node.get("properties"), dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="", help="the folder maskbench/data")
    parser.add_argument("--sample", choices=tuple(SEEDS), default="")
    parser.add_argument("--only", choices=tuple(JUDGES), default="")
    parser.add_argument("--wrong", default="", help="a file for what is judged wrongly")
    given = parser.parse_args()
    folder = Path(given.data)
    if not given.data or len(list(folder.glob("*.json"))) < SAMPLE * len(SEEDS):
        print(
            "skipped: MaskBench's schemas are not here. Give the folder maskbench/data of "
            "github.com/guidance-ai/jsonschemabench: make bench WHAT=grammar ARGS=folder"
        )
        return
    names = [given.only] if given.only else list(JUDGES)
    for sample in [given.sample] if given.sample else SEEDS:
        rows = {name: Row() for name in names}
        for number, (stem, case) in enumerate(cases(folder, sample)):
            for name in names:
                judge(rows[name], stem, case, *JUDGES[name])
            if sys.stderr.isatty():
                print(f"\r{sample} {number + 1}", end="", file=sys.stderr)
        print(f"\n{sample} sample of {SAMPLE} schemas (seed {SEEDS[sample]})\n")
        print(
            "| | valid admitted | invalid admitted | refused for order | functions right | not made "
            "| making, ms | reading, ms |"
        )
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for name, row in rows.items():
            print(row.text(name))
        if given.wrong:
            found = [(name, *wrong) for name, row in rows.items() for wrong in row.wrong]
            Path(given.wrong).write_text("".join(f"{json.dumps(each)}\n" for each in found))


if __name__ == "__main__":
    main()
