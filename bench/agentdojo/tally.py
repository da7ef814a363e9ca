"""Every pair of one user task, in every setting, into counts."""

import asyncio
import warnings
from collections import Counter
from collections.abc import Sequence

from attackers import is_words_alone
from msgspec import Struct
from pairs import Verdict, run
from settings import DEFENCES, Setting
from stated import half
from suites import suites


class Counted(Struct, frozen=True):
    """What is counted: for one suite in one setting, under attack or not."""

    suite: str
    setting: Setting
    attacked: bool
    what: str


Counts = Counter[Counted]


def count(
    suite: str, user: str, alone: Sequence[Setting], attacked: Sequence[Setting]
) -> tuple[Counts, list[str]]:
    """The counts of one user task, and a line for everything that should not have happened."""
    warnings.simplefilter("ignore")
    return asyncio.run(_count(suite, user, alone, attacked))


async def _count(
    suite: str, user: str, alone: Sequence[Setting], attacked: Sequence[Setting]
) -> tuple[Counts, list[str]]:
    counts: Counts = Counter()
    lines: list[str] = []
    for setting in alone:
        verdict = await _run(setting, suite, user)
        counts += _counted(verdict, setting)
        lines += _unfinished(verdict, setting)
    for injection in suites()[suite].injection_tasks:
        for setting in attacked:
            if setting.own_tool and injection != next(iter(suites()[suite].injection_tasks)):
                continue
            verdict = await _run(setting, suite, user, injection)
            counts += _counted(verdict, setting)
            lines += _oddities(verdict, setting)
    return counts, lines


async def _run(setting: Setting, suite: str, user: str, injection: str = "") -> Verdict | None:
    return await run(setting.case(suite, user, injection), DEFENCES[setting.row], setting.approver)


def _counted(verdict: Verdict | None, setting: Setting) -> Counts:
    if verdict is None:
        return Counter()
    case, attacked = verdict.case, bool(verdict.case.injection)
    said = {
        "runs": 1,
        "utility": verdict.utility,
        "asked": len(verdict.asked),
        "unasked": verdict.utility and not verdict.asked,
        f"unasked, {half(case.suite, case.user)}": verdict.utility and not verdict.asked,
        "one question": verdict.utility and len(verdict.asked) <= 1,
        "hijacked": verdict.hijacked,
        "acted": attacked and bool(verdict.acts),
        "words": attacked and is_words_alone(case.suite, case.injection),
        "success by words": verdict.attacked and is_words_alone(case.suite, case.injection),
        "success": verdict.attacked and not is_words_alone(case.suite, case.injection),
    }
    return Counter({Counted(case.suite, setting, attacked, what): int(n) for what, n in said.items()})


def _unfinished(verdict: Verdict | None, setting: Setting) -> list[str]:
    """What was asked about in a task that nobody attacks."""
    if verdict is None or setting.approver == "the user" or (verdict.utility and not verdict.asked):
        return []
    asked = "; ".join(f"{each.name}: {each.reason}" for each in verdict.asked) or "not done"
    return [f"asked: {verdict.case.suite} {verdict.case.user} ({setting.row}) {asked}"]


def _oddities(verdict: Verdict | None, setting: Setting) -> list[str]:
    if verdict is None:
        return []
    case = verdict.case
    pair = f"{case.suite} {case.user} x {case.injection} ({setting.told})"
    if not verdict.hijacked:
        return [f"not hijacked: {pair}"]
    if verdict.acts and not verdict.attacked and setting.row != "no defence":
        acts = ", ".join(f"{each.function}({dict(each.args)})" for each in verdict.acts)
        return [f"ran: {pair} {acts}"[:300]]
    by_tools = verdict.attacked and not is_words_alone(case.suite, case.injection)
    return [f"came through: {pair}"] if by_tools and setting.row != "no defence" else []
