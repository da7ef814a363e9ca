"""An agent that hands mail to another one, whose mails a person allows: later, in another process.

    python examples/subagent.py ask "Thank Ann Lee for her order"     # pauses, and ends
    python examples/subagent.py yes                                   # or: no "too friendly"

What the inner agent wants is among the outer run's pending calls, with an id that leads to it. The
journal holds the steps of both, so nothing that either did is done again.
"""

import asyncio
import sys
from pathlib import Path

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
WAITING = Path("waiting.json")


@rc.tool(effect="read")
def find_address(name: str) -> str:
    """The e-mail address of a customer."""
    return f"{name.lower().replace(' ', '.')}@example.com"


@rc.tool(approval=True)
def send_mail(to: str, text: str) -> str:
    """Send an e-mail."""
    with Path("outbox.txt").open("a") as file:
        file.write(f"{to}: {text}\n")
    return f"sent to {to}"


writer = rc.Agent(MODEL, [find_address, send_mail], "Write short, friendly mails.", name="writer")
# The description is what the outer model reads of it. The budget is the writer's own; what it spends
# counts in the outer run, too.
mail = writer.as_tool(description="Writes and sends mail.", budget=rc.Budget(turns=5))


async def ask(agent: rc.Agent, prompt: str) -> rc.RunResult:
    async for event in agent.stream(prompt):
        match event:
            case rc.events.SubagentEvent(agent=name, event=rc.events.CallEnd(call=call)):
                print(f"{name}: {call.name} {call.arguments}")
            case rc.events.RunEnd(result):
                return result
            case _:
                pass
    raise AssertionError("a stream ends with RunEnd")


async def main(command: str, words: str) -> None:
    with rc.record.SqliteJournal("runs.db") as journal:
        async with writer, rc.Agent(MODEL, [mail], journal=journal) as agent:
            if command == "ask":
                result = await ask(agent, words or "Thank Ann Lee for her order")
                for each in result.pending:
                    print(f"{each.agent} waits for you: {each.name} {each.arguments}")
                WAITING.write_bytes(result.to_json())
            else:
                waiting = rc.RunResult.from_json(WAITING.read_bytes())
                decision = rc.Allow() if command == "yes" else rc.Deny(words)
                result = await agent.resume(
                    waiting, {each.call_id: decision for each in waiting.pending}
                )
                print(result.text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else "ask", " ".join(sys.argv[2:])))
