"""Builds Ollama's reply from its lines: the events, and the Reply."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Reasoning, Reply, StopReason
from rightcall.core.parts import Call, Text, Usage
from rightcall.wire.ollama.tables import NAME, STOPS
from rightcall.wire.payload import count_in, mapping, own_bag, text_in
from rightcall.wire.reply_extras import parse_openai_logprobs

Part: TypeAlias = Text | Reasoning | Call

_COUNTS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


class ReplyBuilder:
    """Builds one reply."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        """Events that were not yet returned."""
        self.is_done = False
        self._parts: list[Part] = []
        self._voice: type[Text | Reasoning] = Text
        self._pieces: list[str] = []
        self._calls = 0
        self._likely = parse_openai_logprobs(())

    def text(self, piece: str) -> None:
        """Add to the answer's text."""
        self._say(Text, piece)
        self.events.append(TextDelta(piece))

    def think(self, piece: str) -> None:
        """Add to a thought."""
        self._say(Reasoning, piece)
        self.events.append(ReasoningDelta(piece))

    def call(self, said: Mapping[str, Any], arguments: str) -> None:
        """Add a call, which comes whole."""
        self._end_voice()
        function = mapping(said.get("function"))
        inner = {k: v for k, v in function.items() if k not in ("name", "arguments")}
        beside = {k: v for k, v in said.items() if k not in ("id", "function")}
        call = Call(
            id=text_in(said.get("id")),
            name=text_in(function.get("name")),
            arguments=arguments or "{}",
            vendor={NAME: {**beside, **({"function": inner} if inner else {})}},
        )
        self._parts.append(call)
        at = self._calls
        self._calls = self._calls + 1
        self.events += [CallStart(at, call.name, call.id), CallDelta(at, call.arguments)]
        self.events.append(CallEnd(at, call))

    def weigh(self, logprobs: object) -> None:
        """Add log probabilities of tokens."""
        self._likely += parse_openai_logprobs(logprobs)

    def end(self, said: Mapping[str, Any]) -> None:
        """Finish the reply, with its stop reason and its usage."""
        self._end_voice()
        word = text_in(said.get("done_reason"))
        stop: StopReason = STOPS.get(word, "end")
        if stop == "end" and self._calls:
            stop = "calls"
        bag = {}
        for name in _COUNTS:
            if said.get(name):
                bag[name] = said[name]
        usage = Usage(
            input_tokens=count_in(said, "prompt_eval_count"), output_tokens=count_in(said, "eval_count")
        )
        reply = Reply(
            tuple(self._parts),
            stop,
            word,
            usage,
            text_in(said.get("model")),
            own_bag(NAME, bag),
            logprobs=tuple(self._likely),
        )
        self.is_done = True
        self.events.append(ReplyEnd(reply))

    def _say(self, voice: type[Text | Reasoning], piece: str) -> None:
        if voice is not self._voice:
            self._end_voice()
            self._voice = voice
        self._pieces.append(piece)

    def _end_voice(self) -> None:
        if self._pieces:
            said = "".join(self._pieces)
            own = {NAME: {"field": "thinking"}}
            self._parts.append(Text(said) if self._voice is Text else Reasoning(said, own))
            self._pieces = []
