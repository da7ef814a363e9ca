"""A proposal into a person's decision, asked for where the run is watched."""

import asyncio
import json
import sys
from argparse import Namespace

from rightcall.cli.safe import harmless
from rightcall.cli.view import View
from rightcall.core.decision import Allow, Deny, FinalDecision, Proposal, Scope
from rightcall.gate.gate import Approve

MOST_SHOWN = 4000
"""Characters of a call's arguments that a person is shown."""
_CATCH_UP = 0.05
_NO = frozenset({"", "n", "no"})
_YES: dict[str, Scope] = {"y": "once", "yes": "once", "r": "run", "t": "target"}
"""What counts as a yes, and how far it goes."""
_HOW_FAR = "(y: this call; r: every one in this run; t: every one with these targets)"
_SEEN = {"untrusted": "from outsiders, in what came from", "nowhere": "named by nobody but the model"}


def approver(options: Namespace, view: View) -> Approve:
    """Who is asked: nobody where ``--yes`` or ``--no`` was said, the person where one is there."""
    decision = Allow() if options.yes else Deny()
    if options.yes or options.no:
        return _always(decision)
    if sys.stdin.isatty() and view.people.isatty():
        return _Asking(view).ask
    return _always(Deny("nobody is there to approve it"))


def _always(decision: FinalDecision) -> Approve:
    async def decide(_: Proposal) -> FinalDecision:
        return decision

    return decide


class _Asking:
    """Asks on the terminal, one question at a time."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._alone = asyncio.Lock()

    async def ask(self, proposal: Proposal) -> FinalDecision:
        """Only a clear yes is one; other words are a no, and given to the model as the reason."""
        async with self._alone:
            # The run is a little ahead of whoever shows it; the call must be seen before the question.
            await asyncio.sleep(_CATCH_UP)
            self._view.hush()
            people = self._view.people
            people.write(f"{question(proposal)}\n{_HOW_FAR}\nRun it? [y/N/why not] ")
            people.flush()
            answer = harmless((await _line()).strip())
        if (scope := _YES.get(answer.lower())) is not None:
            return Allow(scope)
        return Deny() if answer.lower() in _NO else Deny(answer)


def question(proposal: Proposal) -> str:
    """What a person must know to decide: the tool, why they are asked, the whole of the arguments."""
    text = json.dumps(proposal.arguments, ensure_ascii=False, indent=2)
    if len(text) > MOST_SHOWN:
        text = f"{text[:MOST_SHOWN]}…\n({len(text):,} characters in all; the rest is not shown)"
    reason = f" ({proposal.reason})" if proposal.reason else ""
    doubts = [
        f"\n{each.path} {each.value}: {_SEEN[each.origin]} {each.source}".rstrip()
        for each in proposal.evidence
        if not each.is_vouched
    ]
    return harmless(f"The model wants to run {proposal.name}{reason} with\n{text}{''.join(doubts)}")


async def _line() -> str:
    """A line that a person types. A terminal gives whole lines, so one that can be read is there."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(sys.stdin.fileno(), ready.set)
    except NotImplementedError:  # Windows' event loop cannot wait for a terminal.
        return sys.stdin.readline()
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
