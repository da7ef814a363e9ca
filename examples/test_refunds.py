"""Test an agent without asking a model: record a run once, replay it in every test run.

    REFUNDS_RECORD=1 pytest examples/test_refunds.py     # asks the model, and writes refunds.jsonl
    pytest examples/test_refunds.py                      # replays it: no key, no network, no cost

What is replayed is what the model said. With ``tools=``, your tools run for real under it, so a change
in them shows.
"""

import os
from pathlib import Path

import pytest

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
RECORD = Path(os.environ.get("REFUNDS_JOURNAL", Path(__file__).with_name("refunds.jsonl")))
ORDERS = {17: 40, 18: 900}
MOST = 100


@rc.tool(effect="read")
def get_order(number: int) -> dict[str, int]:
    """Look an order up."""
    return {"number": number, "euros": ORDERS[number]}


@rc.tool(effect="idempotent")
def refund(number: int, euros: int) -> str:
    """Refund an order. At most 100 euros."""
    if euros > MOST:
        raise rc.ToolFailure("More than 100 euros need a manager. Tell the customer so.")
    return f"refunded {euros} for order {number}"


TOOLS = rc.Toolbox(get_order, refund)


async def run_of(name: str, prompt: str) -> rc.RunResult:
    """The recorded run of this name, with our tools live; recorded first if that is asked for."""
    with rc.record.JsonLinesJournal(RECORD) as journal:
        if os.environ.get("REFUNDS_RECORD"):
            async with rc.Agent(MODEL, TOOLS, journal=journal) as agent:
                return await agent.run(prompt, run=name)
        if name not in journal.runs():
            pytest.skip(f"{RECORD} holds no run {name!r}; record it with REFUNDS_RECORD=1")
        return await rc.replay(journal, name, tools=TOOLS)


@pytest.mark.asyncio
async def test_a_small_order_is_refunded() -> None:
    result = await run_of("small", "Refund order 17.")
    assert [(call.name, call.outcome) for call in result.calls] == [
        ("get_order", "returned"),
        ("refund", "returned"),
    ]
    assert result.calls[1].result.text == "refunded 40 for order 17"


@pytest.mark.asyncio
async def test_a_large_order_is_left_to_a_manager() -> None:
    result = await run_of("large", "Refund order 18.")
    assert result.calls[1].outcome == "failed"
    assert "manager" in result.text
