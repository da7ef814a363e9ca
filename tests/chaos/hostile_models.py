"""Models that say what no model should, as events: whoever implements the port may get it wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from msgspec.structs import replace

import rightcall as rc
from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning, Unknown
from rightcall.core.parts import Usage
from rightcall.errors import ProtocolError, TransportError, VendorError
from rightcall.testing import call, reply

Said = Callable[[rc.models.Request], Any]
MODELS: dict[str, Said] = {}
DEEP = "[" * 5000 + "]" * 5000
PING = call("ping", id="p")
HALF = "\ud83d"


def _says(*events: object, name: str) -> None:
    MODELS[name] = lambda _: _yielding(events)


async def _yielding(events: Iterable[object]) -> AsyncIterator[Any]:
    for event in events:
        if isinstance(event, BaseException):
            raise event
        yield event


class HostileModel:
    """Does its worst when it is asked first, and then answers."""

    profile = rc.models.Profile()

    def __init__(self, name: str) -> None:
        self._said = MODELS[name]
        self.asked = 0

    def stream(self, request: rc.models.Request) -> Any:
        """Something like a stream."""
        self.asked += 1
        return self._said(request) if self.asked == 1 else _yielding([ReplyEnd(reply("Done."))])


# Streams that break.
_says(name="says nothing")
_says(TextDelta("So"), name="ends in the middle of a text")
_says(CallStart(0, "ping", "a"), CallDelta(0, '{"a'), name="ends in the middle of a call")
_says(CallStart(0, "ping", "a"), name="ends after a call's name")
_says(ReasoningDelta("hm"), name="ends while it thinks")
_says(ProtocolError("no"), name="breaks at once")
_says(TextDelta("So"), VendorError("overloaded", status=529), name="refuses in the middle")
_says(CallStart(0, "ping", "a"), TransportError("lost"), name="is lost in a call")
_says(ReplyEnd(reply(PING)), TransportError("lost"), name="is lost after its end")
_says(ReplyEnd(reply("One.")), ReplyEnd(reply("Two.")), name="ends twice")
_says(ReplyEnd(reply("One.")), TextDelta("and more"), name="goes on after its end")

# Events in the wrong order, or not of one reply.
_says(CallDelta(0, "{}"), ReplyEnd(reply("x")), name="arguments of no call")
_says(CallEnd(0, PING), ReplyEnd(reply(PING)), name="the end of no call")
_says(CallEnd(7, PING), CallEnd(7, PING), ReplyEnd(reply(PING)), name="a call that ends twice")
_says(
    CallStart(0, "ping", "a"),
    CallStart(0, "ping", "b"),
    CallDelta(0, "{}"),
    ReplyEnd(reply(PING)),
    name="two calls at one place",
)
_says(
    CallStart(0, "ping", "a"),
    CallDelta(0, "{}"),
    CallEnd(0, call("other", id="z", x=1)),
    ReplyEnd(reply(PING)),
    name="says one call and ends another",
)
_says(TextDelta("I will not"), ReplyEnd(reply("I will", PING)), name="says one thing and ends another")
_says(CallEnd(0, PING), ReplyEnd(reply("No calls.")), name="takes a call back")
_says(CallStart(-1, "ping", "a"), CallDelta(10**9, "{}"), ReplyEnd(reply(PING)), name="odd places")

# Calls that are none.
_says(ReplyEnd(reply(*[call("ping", id="same")] * 3)), name="one id for three calls")
_says(ReplyEnd(reply(*[call("ping", id="")] * 3)), name="no ids")
_says(ReplyEnd(reply(call("ping", id="x" * 100_000))), name="a long id")
_says(ReplyEnd(reply(call("ping", id=f"{HALF}\x00"))), name="an id that is no text")
_says(ReplyEnd(reply(call("rm -rf /", x=1))), name="an unknown tool")
_says(ReplyEnd(reply(call("", x=1))), name="a tool without a name")
_says(ReplyEnd(reply(call(f"p{HALF}\n\x00" * 1000))), name="a name that is no text")
_says(ReplyEnd(reply(call("__class__"), call("ping\u200b"), call("PING"))), name="almost a name")
_says(ReplyEnd(reply(call("ping", "{"))), name="half an object")
_says(ReplyEnd(reply(call("ping", DEEP))), name="bottomless arguments")
_says(ReplyEnd(reply(call("ping", '{"a": ' + DEEP + "}"))), name="a bottomless argument")
_says(ReplyEnd(reply(call("ping", '{"a": NaN, "a": 1e999}'))), name="numbers that are none")
_says(ReplyEnd(reply(call("ping", f'{{"{HALF}": "\x00"}}'))), name="arguments that are no text")
_says(ReplyEnd(reply(call("ping", '{"a": ' + "9" * 100_000 + "}"))), name="a long number")
_says(ReplyEnd(reply(call("ping", "x" * 3_000_000))), name="three megabytes of arguments")
_says(ReplyEnd(reply(*[call("ping", id=f"c{n}") for n in range(129)])), name="calls beyond the budget")
_says(ReplyEnd(reply(*[call("ping")] * 5000)), name="five thousand calls")

# Replies that are none.
_says(ReplyEnd(reply()), name="an empty reply")
_says(ReplyEnd(reply(Reasoning("hm"))), name="nothing but thoughts")
_says(ReplyEnd(rc.Reply((Unknown({"x": {"y": 1}}),), "end")), name="nothing that is known")
_says(ReplyEnd(reply(HALF)), name="half a surrogate pair")
_says(ReplyEnd(reply(PING, stop="end")), name="calls and says that it is done")
_says(ReplyEnd(reply("Hm.", stop="calls")), name="says that it calls and does not")
_says(ReplyEnd(reply(PING, stop="length")), name="calls and was cut off")
_says(ReplyEnd(replace(reply(PING), stop="nonsense")), name="stops for no known reason")
_says(ReplyEnd(reply(PING, usage=Usage(input_tokens=-5))), name="gives tokens back")
_says(ReplyEnd(reply(PING, usage=Usage(cost=float("nan")))), name="costs no number")
_says(ReplyEnd(reply(PING, usage=Usage(output_tokens=10**30))), name="uses more than there is")

# What is no stream at all.
_says(None, name="nothing as an event")
_says("text", name="text as an event")
_says({"type": "text"}, name="a dict as an event")
MODELS["nothing as a stream"] = lambda _: None
MODELS["a list as a stream"] = lambda _: [TextDelta("x")]
MODELS["no model at all"] = lambda _: 1 / 0


async def _hangs() -> AsyncIterator[Any]:
    yield TextDelta("So")
    await asyncio.sleep(3600)


async def _stays() -> AsyncIterator[Any]:
    try:
        yield TextDelta("So")
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0.01)
        raise KeyError("will not leave quietly")


MODELS["hangs"] = lambda _: _hangs()
MODELS["will not leave quietly"] = lambda _: _stays()
