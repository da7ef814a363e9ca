"""The types that users write down are public. Checked by mypy in ``make check``, never run."""

from collections.abc import AsyncIterator
from typing import assert_type

import rightcall as rc


class Echo:
    profile = rc.models.Profile(context_window=8192)

    async def stream(self, request: rc.models.Request) -> AsyncIterator[rc.events.ModelEvent]:
        yield rc.events.TextDelta(request.system)


def policy(checked: rc.gate.CheckedCall) -> rc.gate.Decision | None:
    return rc.Deny("no") if checked.call.name == "pay" else None


async def approve(proposal: rc.gate.Proposal) -> rc.Allow | rc.Deny:
    return rc.Allow() if proposal.call_id == "1" else rc.Deny("no")


def watch(run: str, happened: object) -> None:
    assert run, happened


async def uses(journal: rc.record.Journal, intents: list[rc.Intent]) -> None:
    model: rc.models.Model = Echo()
    agent = rc.Agent(
        model,
        policy=policy,
        approve=approve,
        journal=journal,
        observers=[rc.observe.OpenTelemetry(content="span"), watch],
    )
    result = await agent.run("Hi", intents=intents)
    calls: tuple[rc.events.CallRecord, ...] = result.calls
    assert_type(result.stop, rc.record.Stop)
    assert_type(agent.stream("Hi"), rc.events.RunStream[str])
    retry, timeouts = rc.models.Retry(attempts=1), rc.models.Timeouts(connect=1)
    async with rc.connect("a:b", retry=retry, timeouts=timeouts) as other, rc.Agent(other) as second:
        await second.run(", ".join(each.name for each in calls))
