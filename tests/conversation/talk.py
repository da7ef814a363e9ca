"""A scripted conversation of 200 turns with tools, in a window of 8,000 tokens, and what it shows."""

import json
from collections.abc import Sequence
from itertools import pairwise

import rightcall as rc
from rightcall.core.message import Message, Reply, Results, User
from rightcall.testing import ScriptedModel, call, reply
from rightcall.wire import openai_chat

TURNS = 200
WINDOW = rc.conversation.Window(tokens=8_000)
FACTS = {3: "the gate code is 4711", 50: "the invoice number is INV-2031", 120: "Ada lives in Lyon"}
QUESTION = "What are the gate code, the invoice number and Ada's city?"


@rc.tool(effect="read")
def read_page(page: int) -> str:
    """Read a page of the handbook."""
    return f"Page {page} of the handbook. " + f"Rule {page} is about doors, keys and forms. " * 6


def characters(messages: Sequence[Message]) -> int:
    """How many characters of text, arguments and results there are to read."""
    count = 0
    for message in messages:
        match message:
            case Results(results):
                count += sum(len(result.text) for result in results)
            case Reply():
                count += len(message.text) + sum(len(each.arguments) for each in message.calls)
            case User():
                count += len(message.text)
    return count


class Summariser:
    """A scripted summariser, which keeps the facts, and counts what it reads."""

    def __init__(self) -> None:
        self.read = 0
        self.dropped = 0
        self.asked = 0

    async def __call__(self, earlier: str, messages: tuple[Message, ...]) -> str:
        self.asked += 1
        self.dropped += characters(messages)
        self.read += len(earlier) + characters(messages)
        texts = [message.text for message in messages if isinstance(message, User)]
        known = [
            fact for fact in FACTS.values() if fact in earlier or any(fact in text for text in texts)
        ]
        return f"They read the handbook. Known: {'; '.join(known)}."


def answers(request: rc.models.Request) -> Reply:
    """A model that reads a page for each remark, and in the end answers from what it is sent."""
    last = request.messages[-1]
    if isinstance(last, Results):
        return reply("That page is read. " + "It says what it says. " * 5)
    if last.text == QUESTION:
        seen = " ".join(message.text for message in request.messages if isinstance(message, User))
        return reply("; ".join([fact for fact in FACTS.values() if fact in seen]))
    return reply(call("read_page", page=int(last.text.split()[1].rstrip("."))))


def remark(turn: int) -> str:
    """What the user says in a turn."""
    return f"Page {turn}. " + (f"Note that {FACTS[turn]}." if turn in FACTS else "Read it, please.")


def encoded(request: rc.models.Request) -> str:
    """The messages of a request as a vendor gets them, without the bracket that ends them."""
    body = json.loads(openai_chat.encode(request, model="m", stream=False).body)
    return json.dumps(body["messages"])[:-1]


class Talk:
    """The conversation, held in runs that each continue the last."""

    def __init__(self, summariser: Summariser | None = None, **settings) -> None:
        self.model = ScriptedModel(answers)
        self.summariser = summariser or Summariser()
        settings = {"compact": rc.Compaction(by=self.summariser), "window": WINDOW, **settings}
        self.agent = rc.Agent(self.model, [read_page], **settings)
        self.transcript: tuple[Message, ...] = ()
        self.results: list[rc.RunResult] = []

    async def hold(self, turns: int = TURNS) -> rc.RunResult:
        """Hold it to its end, with the question about the facts last."""
        for turn in range(1, turns):
            await self.say(remark(turn))
        return await self.say(QUESTION)

    async def say(self, text: str) -> rc.RunResult:
        """One turn of the user's."""
        result = await self.agent.run(text, history=self.transcript)
        self.transcript = result.transcript
        self.results.append(result)
        return result

    @property
    def marks(self) -> list[User]:
        """The messages that stand for earlier ones."""
        return [each for each in self.transcript if isinstance(each, User) and each.compaction]

    def same_beginnings(self) -> float:
        """The share of requests that begin with the bytes of the one before."""
        texts = [encoded(request) for request in self.model.requests]
        same = [later.startswith(earlier) for earlier, later in pairwise(texts)]
        return sum(same) / len(same)
