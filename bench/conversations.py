"""What one conversation of 200 turns costs in tokens, by how its history is kept within a window.

The conversation is scripted: a user who mentions a fact in turns 3, 50 and 120, a model that reads a
page by a tool in every turn, and at the end a question about the three facts. It is the one of
``tests/conversation/talk.py``: run this with ``PYTHONPATH=tests``, as ``make bench WHAT=parts`` does.
Tokens are estimated as ``rc.conversation.Window`` does. *Again* is what a vendor's prompt cache may
hold: the messages at the beginning of a request that the one before had, too.
"""

import asyncio
from typing import Any

import rightcall as rc
from conversation.talk import (  # type: ignore[import-not-found]
    FACTS,
    TURNS,
    WINDOW,
    Summariser,
    Talk,
)
from rightcall.core.message import estimate_tokens

WAYS: dict[str, dict[str, Any]] = {
    "everything is sent": {"window": rc.conversation.Window(tokens=10**7), "compact": None},
    "a window of 8,000": {"compact": None},
    "… and excerpts": {"compact": rc.Compaction(by="excerpts")},
    "… and a summary": {},
}


async def measure(name: str, settings: dict[str, Any]) -> str:
    summariser = Summariser()
    talk = Talk(summariser, **settings)
    result = await talk.hold()
    sent = 0
    again = 0
    before: tuple[object, ...] = ()
    for request in talk.model.requests:
        same = True
        for place, message in enumerate(request.messages):
            size = estimate_tokens(message)
            sent += size
            same = same and place < len(before) and before[place] == message
            again += size if same else 0
        before = request.messages
    known = sum(fact in result.text for fact in FACTS.values())
    return (
        f"| {name} | {sent:,} | {again / sent:.0%} | {talk.same_beginnings():.1%} | "
        f"{summariser.asked} | {summariser.read:,} | {summariser.dropped:,} | {known} of {len(FACTS)} |"
    )


async def main() -> None:
    print(f"{TURNS} turns, a window of {WINDOW.tokens:,} tokens")
    print("| history | tokens sent | again | same beginning | summaries | read | left out | known |")
    for name, settings in WAYS.items():
        print(await measure(name, settings))


if __name__ == "__main__":
    asyncio.run(main())
