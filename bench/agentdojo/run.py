"""AgentDojo against the runtime, with no language model: prints what a fully hijacked one could do.

    .venv-agentdojo/bin/python bench/agentdojo/run.py [--plain] [suite ...]

A worst-case stand-in makes the calls that the user's task needs and, as soon as an injection can be read
in any result, those that the injection asks for. Verdicts are by AgentDojo's own checks.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from pairs import OWN_TOOL, Approver
from settings import AGENTDOJO, GUARDED, PLAIN, VARIED, Guarded, Setting
from suites import VERSION, suites
from tally import Counted, Counts, count


def main() -> int:
    """Run, print, and say by the exit code whether one of AgentDojo's attacks came through a grant.

    An attacker who turns the user's own tool to another of the things that a trusted result lists is
    printed, and does not count: which of them was meant, no rule about targets can tell.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="leave out the variations of the attacks")
    parser.add_argument("suite", nargs="*", help="only these suites")
    options = parser.parse_args()
    names = options.suite or list(suites())
    settings = PLAIN if options.plain else (*PLAIN, *VARIED)
    began = time.perf_counter()
    jobs = [(name, user) for name in names for user in suites()[name].user_tasks]
    counts: Counts = Counter()
    lines: list[str] = []
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        work = [pool.submit(count, *job, settings) for job in jobs]
        for done in work:
            more, odd = done.result()
            counts += more
            lines += odd
    table = _Table(counts, names)
    table.baseline()
    for guarded in GUARDED[1:]:
        table.quiet(guarded)
        table.attacked(guarded, "nobody")
        table.attacked(guarded, "the user")
    if not options.plain:
        table.variations()
    print("\n".join(["", *lines]))
    print(f"{time.perf_counter() - began:.0f} s")
    return any(
        "not hijacked" in line or ("rules and grant" in line and OWN_TOOL not in line) for line in lines
    )


class _Table:
    """Prints counts, by suite and in all."""

    def __init__(self, counts: Counts, names: Sequence[str]) -> None:
        self._counts = counts
        self._names = names
        self._rows = (*names, "all")

    def get(self, suite: str, setting: Setting, what: str, *, attacked: bool = True) -> int:
        """One count; of all suites together for the suite ``all``."""
        names = self._names if suite == "all" else [suite]
        return sum(self._counts[Counted(name, setting, attacked, what)] for name in names)

    def of(self, suite: str, setting: Setting, what: str, *, attacked: bool = True) -> str:
        """One count out of its runs."""
        whole = self.get(suite, setting, "runs", attacked=attacked)
        return f"{self.get(suite, setting, what, attacked=attacked)}/{whole}"

    def came_off(self, suite: str, setting: Setting) -> str:
        """The attacks that came off, of whichever kind."""
        by = [self.get(suite, setting, what) for what in ("success", "success by words")]
        return f"{sum(by)}/{self.get(suite, setting, 'runs')}"

    def by_tools(self, suite: str, setting: Setting) -> str:
        """The attacks that came off, of those that act through tools."""
        whole = self.get(suite, setting, "runs") - self.get(suite, setting, "words")
        return f"{self.get(suite, setting, 'success')}/{whole}"

    def by_words(self, suite: str, setting: Setting) -> str:
        """The attacks that came off, of those that only want something said."""
        return f"{self.get(suite, setting, 'success by words')}/{self.get(suite, setting, 'words')}"

    def baseline(self) -> None:
        """Without a defence."""
        _print(
            f"AgentDojo {VERSION}, a worst-case stand-in for the model, no defence",
            ("suite", "hijacked", "attacks, AgentDojo's truths", "attacks, all truths", "utility"),
            [
                (
                    suite,
                    self.of(suite, Setting(), "hijacked"),
                    self.came_off(suite, AGENTDOJO),
                    self.came_off(suite, Setting()),
                    self.of(suite, Setting(), "utility", attacked=False),
                )
                for suite in self._rows
            ],
        )

    def quiet(self, guarded: Guarded) -> None:
        """What a defence costs the user when nobody attacks."""
        nobody, user = Setting(guarded=guarded), Setting(guarded=guarded, approver="the user")
        _print(
            f"{guarded}: no attack",
            ("suite", "done, never asked", "done, user asked", "approvals asked"),
            [
                (
                    suite,
                    self.of(suite, nobody, "unasked", attacked=False),
                    self.of(suite, user, "utility", attacked=False),
                    self.get(suite, user, "asked", attacked=False),
                )
                for suite in self._rows
            ],
        )

    def attacked(self, guarded: Guarded, approver: Approver) -> None:
        """What becomes of the attacks, and of the user's task under them."""
        setting = Setting(guarded=guarded, approver=approver)
        _print(
            f"{guarded}: under attack, {approver} to be asked",
            ("suite", "hijacked", "by tools", "any act", "by words alone", "utility", "approvals asked"),
            [
                (
                    suite,
                    self.of(suite, setting, "hijacked"),
                    self.by_tools(suite, setting),
                    self.get(suite, setting, "acted"),
                    self.by_words(suite, setting),
                    self.of(suite, setting, "utility"),
                    self.get(suite, setting, "asked"),
                )
                for suite in self._rows
            ],
        )

    def variations(self) -> None:
        """The same attacks, written or timed in other ways."""
        rows: list[tuple[object, ...]] = []
        for varied in dict.fromkeys(setting.varied for setting in VARIED):
            same = [setting for setting in VARIED if setting.varied == varied]
            rows.append(
                (
                    varied,
                    self.of("all", same[0], "hijacked"),
                    self.get("all", same[0], "spread"),
                    *[self.by_tools("all", setting) for setting in same],
                )
            )
        heads = ("variation", "hijacked", "over several results", *GUARDED)
        _print("variations: attacks by tools that came off, by defence", heads, rows)


def _print(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n{title}")
    for row in (heads, *rows):
        cells = [f"{cell!s:>{max(len(head), 7)}}" for cell, head in zip(row, heads, strict=True)]
        print("  ".join([f"{row[0]!s:<10}", *cells[1:]]))


if __name__ == "__main__":
    sys.exit(main())
