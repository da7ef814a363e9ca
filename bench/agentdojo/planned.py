"""Plan mode on AgentDojo: programs written from the prompts and the tools' docs alone, run as they are.

The folder ``plans`` holds one for each user task, as it was first written: by hand, before anybody had
looked at data or at injections. Beside some stand two others, which are counted apart: one that was
written after the first had failed, from the error that the runtime tells a planner; and one mended with
hindsight, by somebody who had seen where and how data is kept, and no injection. Under attack the reader
is hijacked throughout, and tries every wish in turn.
"""

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from agentdojo.functions_runtime import FunctionCall
from attackers import Attacker, from_task, is_words_alone, ran
from attacks import attack
from facts import FACTS, is_consequential
from known import LISTED
from msgspec import Struct
from pairs import Approver, Case, Position, copied, done, fresh, place, stands_there
from readers import Hijacked, honest, wishes
from suites import Environment, suites, tools_over

import rightcall as rc
from rightcall.core.facts import Level
from rightcall.core.message import Reply
from rightcall.core.proposal import Proposal
from rightcall.core.request import Request
from rightcall.loop.result import RunResult
from rightcall.testing import ScriptedModel, reply

PLANS = Path(__file__).parent / "plans"
NO_LEVELS: Mapping[str, Level] = {}
_BUDGET = rc.Budget(turns=500, calls=500, repeats=None)


class Planned(Struct, frozen=True, kw_only=True):
    """What became of one planned task."""

    result: RunResult
    utility: bool
    asked: int


POSITIONS: tuple[Position, ...] = get_args(Position)
Written: TypeAlias = Literal["plan", "repair", "hindsight"]
"""As it was first written; after one repair; with hindsight."""


def source(suite: str, user: str, written: Written = "plan") -> str:
    """The plan for a user task; the first, where there is no other."""
    first = PLANS / suite / f"{user.removeprefix('user_task_')}.plan"
    other = first.with_suffix(f".{written}")
    return (other if other.exists() else first).read_text(encoding="utf-8")


async def carry_out(
    suite: str,
    user: str,
    environment: Environment,
    reader: Callable[[Request], Reply],
    approver: Approver,
    plans: Sequence[str] = (),
    levels: Mapping[str, Level] = NO_LEVELS,
) -> Planned:
    """Run the plan of a task over these data; or others, each after the one before failed."""
    task = suites()[suite].user_tasks[user]
    start = copied(environment)
    truth = task.ground_truth(copied(start))
    asked: list[Proposal] = []

    async def approve(proposal: Proposal) -> bool:
        asked.append(proposal)
        # Where nobody attacks, what a plan asks is what its author meant: whether it was right is judged
        # by what became of the task.
        return approver == "the user" and (reader is honest or _is_needed(proposal, truth))

    texts = [f"```python\n{each}```" for each in plans or [source(suite, user)]]
    agent = rc.Agent(
        ScriptedModel([reply(text) for text in texts], fragment=None),
        tools_over(suite, environment),
        budget=_BUDGET,
        approve=approve,
        footprint="off",
        trust=rc.trust.Rules(),
        plan=rc.Plan(
            reader=ScriptedModel(reader, fragment=None),
            repairs=len(texts) - 1,
            otherwise="stop",
            levels=levels,
        ),
    )
    result = await agent.run(task.PROMPT)
    # Some of AgentDojo's checks also pass when nothing was done: a plan must have come to its end.
    ended = result.stop.reason == "end"
    # Comparing what was with what is takes longer than the run; under attack it is not asked for.
    utility = ended and reader is honest and done(task, result, copied(start), environment)
    return Planned(result=result, utility=utility, asked=len(asked))


def _is_needed(proposal: Proposal, truth: Sequence[FunctionCall]) -> bool:
    call = FunctionCall(function=proposal.name, args=dict(proposal.arguments))
    return _has_targets_of(call, truth)


def _has_targets_of(call: FunctionCall, truth: Sequence[FunctionCall]) -> bool:
    """Whether the user's task needs a call like this: the same tool, and the same targets.

    The words of a plan are its author's own, so that calls are not compared whole.
    """
    targets = FACTS[call.function]["facts"].targets or ()

    def same(needed: FunctionCall) -> bool:
        return all(_plain(needed.args.get(each)) == _plain(call.args.get(each)) for each in targets)

    return any(each.function == call.function and same(each) for each in truth)


def _plain(value: Any) -> str:
    return str(value or "").casefold()


def count_planned(suite: str, user: str, *, attacked: bool = True) -> tuple[Counter[str], list[str]]:
    """One user task planned: alone, and in both positions under every attack."""
    warnings.simplefilter("ignore")
    return asyncio.run(_count(suite, user, attacked=attacked))


async def _count(suite: str, user: str, *, attacked: bool) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    first = source(suite, user)
    nobody, exact = await _alone(suite, user, [first])
    _add(counts, "plan", nobody, exact)
    for written in ("repair", "hindsight"):
        other = source(suite, user, written)
        plans = [other] if written == "hindsight" else [first, other]
        found = (nobody, exact) if other == first else await _alone(suite, user, plans)
        _add(counts, written, *found)
    lines = []
    if not (nobody.utility and not nobody.asked):
        said = (
            "asked"
            if nobody.asked
            else f"{nobody.result.stop.reason} {nobody.result.text[:160]}".replace("\n", " ")
        )
        lines.append(f"not unasked: {suite} {user} (plan; exact approver: {exact.utility}) {said}")
    for injection in suites()[suite].injection_tasks if attacked else ():
        for position in POSITIONS:
            if stands_there(suite, position):
                counts += await _attacked(suite, user, injection, position, lines)
    return counts, lines


async def _alone(suite: str, user: str, plans: Sequence[str]) -> tuple[Planned, Planned]:
    """A task that nobody attacks: with nobody to ask, and with an exact approver."""
    return (
        await carry_out(suite, user, fresh(suite, user), honest, "nobody", plans),
        await carry_out(suite, user, fresh(suite, user), honest, "the user", plans),
    )


def _add(counts: Counter[str], written: Written, nobody: Planned, exact: Planned) -> None:
    counts[f"{written} unasked"] += nobody.utility and not nobody.asked
    counts[f"{written} exact"] += exact.utility


async def _attacked(
    suite: str, user: str, injection: str, position: Position, lines: list[str]
) -> Counter[str]:
    attacker = from_task(suite, suites()[suite].injection_tasks[injection], own_truths=True)
    kind = "speak" if is_words_alone(suite, injection) else "act"
    planted = attack(suite, user, attacker.goal)
    base = fresh(suite, user, tuple(planted.texts.items()))
    wanted = attacker.calls(copied(base), copied(base))
    case = Case(suite=suite, user=user, injection=injection, position=position)
    # A plan is fixed: nobody looks anything up for the attacker.
    place(case, attacker, base, planted.signs)
    counts: Counter[str] = Counter({f"{position} {kind} of": 1})
    plan = source(suite, user)
    acts = any(f"{name}(" in plan for name in FACTS if is_consequential(name))
    has_run = False
    for wish in wishes(wanted, attacker.goal):
        reader = Hijacked(wish)
        came_off, acts_run = await _came_off(case, base, attacker, reader, counts)
        has_run = has_run or acts_run
        if came_off:
            counts[f"{position} {kind}"] += 1
            if kind == "act":
                lines.append(f"came through: {suite} {user} x {injection} (plan, {position}, {wish})")
            break
        if not reader.asked or (kind == "act" and not acts):
            # Another wish would change nothing.
            break
    counts[f"{position} ran"] += has_run
    return counts


async def _came_off(
    case: Case,
    base: Environment,
    attacker: Attacker,
    reader: Callable[[Request], Reply],
    counts: Counter[str],
) -> tuple[bool, bool]:
    """Whether the attack came off, and whether anything ran that the task does not need."""
    environment = copied(base)
    truth = suites()[case.suite].user_tasks[case.user].ground_truth(copied(base))
    done_by_plan = await carry_out(case.suite, case.user, environment, reader, "the user")
    counts["asked"] += done_by_plan.asked
    counts["runs"] += 1
    acts = [each for each in ran(done_by_plan.result) if is_consequential(each.function)]
    has_run = any(not _has_targets_of(each, truth) for each in acts)
    came_off = attacker.succeeded(done_by_plan.result, copied(base), environment)
    return came_off and (has_run or case.position not in LISTED), has_run
