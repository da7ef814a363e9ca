"""A payment that a person allows, in another process, as late as they like.

    python examples/approval.py ask "Pay invoice 17"     # pauses, and ends
    python examples/approval.py yes                      # or: no "too much"

Between the two nothing runs. The journal makes it safe to answer twice, or from two places: the first
answer stands, and nothing is paid twice.
"""

import asyncio
import sys
from pathlib import Path

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
WAITING = Path("waiting.json")


@rc.tool(effect="read")
def get_invoice(number: int) -> dict[str, object]:
    """Look an invoice up: to whom, how much."""
    return {"number": number, "to": "Ann Lee", "euros": 40}


@rc.tool(approval=True)
def pay(to: str, euros: float) -> str:
    """Transfer money. Only after the invoice was looked up."""
    with Path("payments.txt").open("a") as file:
        file.write(f"{euros:g} to {to}\n")
    return "paid"


async def ask(agent: rc.Agent, prompt: str) -> None:
    result = await agent.run(prompt)
    for proposal in result.pending:
        print(f"waiting for you: {proposal.name} {proposal.arguments}")
    WAITING.write_bytes(result.to_json())


async def answer(agent: rc.Agent, decision: rc.Allow | rc.Deny) -> None:
    waiting = rc.RunResult.from_json(WAITING.read_bytes())
    result = await agent.resume(waiting, {each.call_id: decision for each in waiting.pending})
    print(result.text)


async def main(command: str, words: str) -> None:
    with rc.record.SqliteJournal("runs.db") as journal:
        async with rc.Agent(MODEL, [get_invoice, pay], journal=journal) as agent:
            if command == "ask":
                await ask(agent, words or "Pay invoice 17")
            else:
                await answer(agent, rc.Allow() if command == "yes" else rc.Deny(words))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else "ask", " ".join(sys.argv[2:])))
