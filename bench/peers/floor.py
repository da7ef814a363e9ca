"""What both floors share: one conversation in OpenAI's Chat dialect, by hand, with msgspec.

Each message is encoded once; each event is split off, decoded into types and joined; the arguments are
decoded into types; the tools of one reply run at the same time.
"""

import asyncio
from typing import Any, Literal

import msgspec
from client import PROMPT, TOOL, get_weather
from msgspec import Struct

encode = msgspec.json.encode


class Function(Struct, frozen=True):
    name: str = ""
    arguments: str = ""


class Called(Struct, frozen=True):
    index: int = 0
    id: str = ""
    function: Function = Function()


class Said(Struct, frozen=True):
    content: str | None = None
    tool_calls: list[Called] | None = None


class Choice(Struct, frozen=True):
    delta: Said = Said()
    message: Said = Said()


class Frame(Struct, frozen=True):
    choices: list[Choice]


class Arguments(Struct, frozen=True):
    city: str
    unit: Literal["celsius", "fahrenheit"]


read_frame = msgspec.json.Decoder(Frame).decode
read_arguments = msgspec.json.Decoder(Arguments).decode


class Conversation:
    """One run: the messages so far, encoded, and the reply that is coming."""

    def __init__(self, *, streamed: bool) -> None:
        tools = encode([{"type": "function", "function": TOOL}])
        rest = b',"stream":true,"stream_options":{"include_usage":true}' if streamed else b""
        self._head = b'{"model":"m","tools":' + tools + rest + b',"messages":['
        self._messages = [encode({"role": "user", "content": PROMPT})]
        self._begin()
        self.answer = ""

    def _begin(self) -> None:
        self._rest = b""
        self._text: list[str] = []
        self._calls: list[tuple[str, str, list[str]]] = []

    def request(self) -> bytes:
        return self._head + b",".join(self._messages) + b"]}"

    def feed(self, chunk: bytes) -> None:
        *events, self._rest = (self._rest + chunk).split(b"\n\n")
        for event in events:
            if event != b"data: [DONE]":
                frame = read_frame(memoryview(event)[6:])
                if frame.choices:
                    self._add(frame.choices[0].delta)

    def whole(self, body: bytes) -> None:
        self._add(read_frame(body).choices[0].message)

    def _add(self, said: Said) -> None:
        if said.content:
            self._text.append(said.content)
        for called in said.tool_calls or ():
            if called.id:
                self._calls.append((called.id, called.function.name, [called.function.arguments]))
            else:
                self._calls[called.index][2].append(called.function.arguments)

    async def step(self) -> None:
        """Run the calls of the reply that has come, or take it for the answer."""
        calls = [(call_id, name, "".join(texts)) for call_id, name, texts in self._calls]
        if not calls:
            self.answer = "".join(self._text)
            return
        functions: list[dict[str, Any]] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
            for call_id, name, text in calls
        ]
        self._messages.append(encode({"role": "assistant", "content": None, "tool_calls": functions}))
        given = [read_arguments(text) for _, _, text in calls]
        if len(given) == 1:
            results = [await get_weather(given[0].city, given[0].unit)]
        else:
            results = await asyncio.gather(*[get_weather(each.city, each.unit) for each in given])
        for (call_id, _, _), result in zip(calls, results, strict=True):
            self._messages.append(encode({"role": "tool", "tool_call_id": call_id, "content": result}))
        self._begin()
