"""Every pair of one user task, in every setting, into counts."""

import asyncio
import warnings
from collections import Counter
from collections.abc import Sequence

from attackers import is_words_alone
from msgspec import Struct
from pairs import Verdict, run
from settings import DEFENCES, Setting
from suites import suites


class Counted(Struct, frozen=True):
    """What is counted: for one suite in one setting, under attack or not."""

    suite: str
    setting: Setting
    attacked: bool
    what: str


Counts = Counter[Counted]


def count(suite: str, user: str, settings: Sequence[Setting]) -> tuple[Counts, list[str]]:
    """The counts of one user task, and a line for everything that should not have happened."""
    warnings.simplefilter("ignore")
    return asyncio.run(_count(suite, user, settings))


async def _count(suite: str, user: str, settings: Sequence[Setting]) -> tuple[Counts, list[str]]:
    counts: Counts = Counter()
    lines: list[str] = []
    for setting in settings:
        if setting.is_plain:
            verdict = await run(setting.case(suite, user), DEFENCES[setting.guarded], setting.approver)
            counts += _counted(verdict, setting)
    for injection in suites()[suite].injection_tasks:
        for setting in settings:
            if setting.own_tool and injection != next(iter(suites()[suite].injection_tasks)):
                continue
            case = setting.case(suite, user, injection)
            verdict = await run(case, DEFENCES[setting.guarded], setting.approver)
            counts += _counted(verdict, setting)
            lines += _oddities(verdict, setting)
    return counts, lines


def _counted(verdict: Verdict | None, setting: Setting) -> Counts:
    if verdict is None:
        return Counter()
    case, attacked = verdict.case, bool(verdict.case.injection)
    said = {
        "runs": 1,
        "utility": verdict.utility,
        "asked": len(verdict.asked),
        "unasked": verdict.utility and not verdict.asked,
        "hijacked": verdict.hijacked,
        "spread": verdict.spread,
        "acted": attacked and bool(verdict.acts),
        "words": attacked and is_words_alone(case.suite, case.injection),
        "success by words": verdict.attacked and is_words_alone(case.suite, case.injection),
        "success": verdict.attacked and not is_words_alone(case.suite, case.injection),
    }
    return Counter({Counted(case.suite, setting, attacked, what): int(n) for what, n in said.items()})


def _oddities(verdict: Verdict | None, setting: Setting) -> list[str]:
    if verdict is None:
        return []
    case = verdict.case
    pair = f"{case.suite} {case.user} x {case.injection} ({setting.varied}, {setting.guarded})"
    # With nobody to ask, a task may be refused the very call that would have shown the attack.
    if not verdict.hijacked and (setting.guarded == "nothing" or setting.approver == "the user"):
        return [f"not hijacked: {pair}"]
    by_tools = verdict.attacked and not is_words_alone(case.suite, case.injection)
    return [f"came through: {pair}"] if by_tools and setting.guarded != "nothing" else []
