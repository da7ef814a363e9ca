"""Parses calls that a server left in its text, with the reader of the model's family.

vLLM without ``--tool-call-parser``, an old llama-server and others use OpenAI's dialect but do not parse
calls: what the model wrote comes as text. Calls that they do parse are passed on unchanged.

Such servers differ in how they accept tools, which only an error shows. So the usual way is tried first:

- vLLM refuses the choice ``auto`` without a parser, but shows the model its tools under ``none``;
- llama-server without ``--jinja`` refuses tools altogether. Then the system text describes them, and
  earlier calls and results become texts of the model and the user.
"""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from operator import itemgetter
from typing import Any, Literal, Self, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.events import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReplyEnd,
    TextDelta,
)
from rightcall.core.message import Message, Reply, Results, user_text
from rightcall.core.parts import Call, Text
from rightcall.core.request import Request
from rightcall.core.sanitize import break_tokens
from rightcall.core.tool import Spec
from rightcall.core.transport import Timeouts
from rightcall.errors import RightcallError, UsageError, VendorError
from rightcall.local.engines.remote import RemoteServer, refusal_in
from rightcall.local.families.call_text import PromptedTools
from rightcall.local.families.family import Family, markers_of
from rightcall.local.families.family_list import FAMILIES, detect, find_family
from rightcall.local.families.marker_table import is_special
from rightcall.local.families.reader import Reader, answering
from rightcall.models.provider_access import ModelAccess
from rightcall.request.wire_model import WireModel

P = TypeVar("P")

AUTO = "auto"
_Way: TypeAlias = Literal["asked", "shown", "told"]
"""How tools are offered: "asked" as usual; "shown" with the choice none; "told" in the system text."""

# vLLM: https://github.com/vllm-project/vllm/issues/9986
_NO_PARSER = re.compile(r"--tool-call-parser|--enable-auto-tool-choice")
_NO_TOOLS = re.compile(r"tools param requires --jinja|does not support tools")
_TEMPLATES = ("/props", "/tokenizer_info")
"""Paths where llama-server and vLLM return the model's chat template."""


_CallEvent: TypeAlias = CallStart | CallDelta | CallEnd


class _TemplateAnswer(Struct):
    chat_template: str | None = None


def reading_model(model: WireModel, family: str, door: ModelAccess) -> "ReadingModel":
    """The connected model, its text parsed by family; ``auto`` detects the family."""

    def parse_refusal(status: int, body: bytes) -> VendorError:
        return refusal_in(body).error(model.name, status, ())

    root = door.url.partition("?")[0].rstrip("/").removesuffix("/v1")
    server = RemoteServer(
        root, door.carrier, key=door.key or "", timeouts=Timeouts(), refuse=parse_refusal
    )
    return ReadingModel(model, None if family == AUTO else find_family(family), server, door.model)


class ReadingModel:
    """A connected model whose text may contain calls and thoughts in its family's format.

    ``family`` is None if it is to be detected: by the server's chat template, or by the model's name.
    """

    def __init__(
        self, model: WireModel, family: Family | None, server: RemoteServer, model_name: str
    ) -> None:
        self.wire_model = self._model = model
        """The underlying model."""
        self.profile = model.profile
        """What is known about the model."""
        self._family = family
        self._server = server
        self._model_name = model_name
        self._way: _Way = "asked"
        self._begins_in_answer = False
        """Whether a reply's text begins outside of a thought, whatever the family's prompt opens: the
        server has sent thoughts apart from the text, or its template opens none."""
        self.name = model.name

    def __repr__(self) -> str:
        return f"ReadingModel({self._model!r}, {self._family.name if self._family else AUTO!r})"

    def tools_as_sent(self, specs: Sequence[Spec]) -> Mapping[str, str]:
        """What the server is sent for each tool, by its name."""
        return self._model.tools_as_sent(specs)

    async def close(self) -> None:
        """Close the connections."""
        await self._model.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """The events of one reply, including the calls and thoughts found in its text."""
        if self._family is None:
            self._family = await self._detect_family()
        while True:
            way = self._way
            has_begun = False
            asked = _offer_tools(request, way, self._family)
            in_answer = self._begins_in_answer
            reading = _ReplyParser(self._family, _callable(request), in_answer=in_answer)
            try:
                async with aclosing(self._model.stream(asked)) as events:
                    async for event in events:
                        has_begun = True
                        if isinstance(event, ReasoningDelta):
                            self._begins_in_answer = True
                        for found in reading.read(event):
                            yield found
            except VendorError as error:
                words = str(error)
                if way == "asked" and _NO_PARSER.search(words):
                    self._way = "shown"
                elif way != "told" and _NO_TOOLS.search(words):
                    self._way = "told"
                if has_begun or self._way == way or not request.specs:
                    raise
            else:
                return

    async def _detect_family(self) -> Family:
        for path in _TEMPLATES:
            try:
                told = msgspec.json.decode(
                    await self._server.get(path), type=_TemplateAnswer
                ).chat_template
            except (RightcallError, msgspec.MsgspecError):
                # Most servers have no such path; what they return there instead is ignored.
                continue
            if told:
                family = detect(told)
                opened = family.thoughts.open
                self._begins_in_answer = bool(opened) and not any(mark in told for mark in opened)
                return family
        folded = _normalize_name(self._model_name.rpartition("/")[2])
        fitting = [alias for alias in _ALIASES if alias in folded]
        if not fitting:
            raise UsageError(
                f"{self.name}: the server does not tell the model's chat template, and the model's name "
                f"says nothing of its family; give it, as family='qwen3'. Known are "
                f"{', '.join(sorted(FAMILIES))}"
            )
        return find_family(max(fitting, key=len))


class _ReplyParser:
    """Parses one reply: its events, and its text.

    ``in_answer``: the text begins outside of a thought, even if the family's prompt opens one.
    """

    def __init__(self, family: Family, specs: tuple[Spec, ...], *, in_answer: bool) -> None:
        self._family = family
        self._specs = specs
        self._reader = self._reader_of_answer() if in_answer else Reader(family, specs, offered=True)
        self._numbers: dict[tuple[bool, int], int] = {}
        """Our index of each call, in order of start, by whether the server parsed it and the original
        index."""
        self._twins = _DuplicateCalls()

    def read(self, event: ModelEvent) -> Sequence[ModelEvent]:
        match event:
            case TextDelta(text):
                return self._filter_events(self._reader.feed(text), by_server=False)
            case ReasoningDelta():
                return [*self._answer_after_all(), event]
            case ReplyEnd(reply):
                last = self._filter_events(self._reader.finish(), by_server=False)
                if reply.stop in ("end", "calls"):
                    last += self._answer_after_all(is_last=True)
                last += [self._renumber(each, by_server=side) for side, each in self._twins.rest()]
                return [*last, replace(event, reply=self._reply(reply))]
            case _:
                return self._filter_events((event,), by_server=True)

    def _reader_of_answer(self) -> Reader:
        return Reader(self._family, self._specs, tail=answering(self._family), offered=True)

    def _answer_after_all(self, *, is_last: bool = False) -> list[ModelEvent]:
        """Read the text so far as an answer, if it is in a thought that only a prompt could have opened.

        It was none: thoughts come from the server apart from the text, or the turn has ended without the
        thought being closed, as it does where nothing opened one.
        """
        text = self._reader.assumed_thought
        if text is None:
            return []
        self._reader = self._reader_of_answer()
        events = [*self._reader.feed(text)]
        if is_last:
            events += self._reader.finish()
        return self._filter_events(events, by_server=False)

    def _filter_events(self, events: Iterable[ModelEvent], *, by_server: bool) -> list[ModelEvent]:
        found = []
        for event in events:
            for side, each in self._twins.filter_event(event, by_server=by_server):
                found.append(self._renumber(each, by_server=side))
        return found

    def _renumber(self, event: ModelEvent, *, by_server: bool) -> ModelEvent:
        if not isinstance(event, CallStart | CallDelta | CallEnd):
            return event
        number = self._numbers.setdefault((by_server, event.index), len(self._numbers))
        if number == event.index:
            return event
        return replace(event, index=number)

    def _reply(self, reply: Reply) -> Reply:
        """The reply, with its text replaced by what was parsed from it."""
        content = self._twins.without(reply.content, by_server=True)
        read = self._twins.without(self._reader.content, by_server=False)
        texts = [index for index, part in enumerate(content) if isinstance(part, Text)]
        first = texts[0] if texts else len(content)
        after = [part for part in content[first:] if not isinstance(part, Text)]
        found = replace(reply, content=(*content[:first], *read, *after))
        parsed = [part for part in content if isinstance(part, Call)]
        if parsed:
            # In the order of their events: calls that the server parsed may precede those left in the
            # text.
            others = [part for part in found.content if not isinstance(part, Call)]
            ours = [part for part in read if isinstance(part, Call)]
            found = replace(found, content=(*others, *self._in_order(parsed, ours)))
        if found.calls and reply.stop == "end":
            return replace(found, stop="calls")
        return found

    def _in_order(self, theirs: Sequence[Call], ours: Sequence[Call]) -> list[Call]:
        parsed = sorted(number for (by_server, _), number in self._numbers.items() if by_server)
        read = sorted(number for (by_server, _), number in self._numbers.items() if not by_server)
        if len(parsed) != len(theirs) or len(read) != len(ours):
            # A host may begin a call that never becomes one.
            return [*theirs, *ours]
        numbered = zip((*parsed, *read), (*theirs, *ours), strict=True)
        return [call for _, call in sorted(numbered, key=itemgetter(0))]


class _DuplicateCalls:
    """Removes duplicates of calls that a server parsed and also left in the text."""

    def __init__(self) -> None:
        self._open: dict[bool, set[int]] = {True: set(), False: set()}
        self._alone: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
        self._held: dict[tuple[bool, int], list[_CallEvent]] = {}
        self._second: dict[bool, list[Call]] = {True: [], False: []}

    def filter_event(self, event: ModelEvent, *, by_server: bool) -> list[tuple[bool, ModelEvent]]:
        """The events to emit now, each with whether it is the server's. Holds possible duplicates."""
        if not isinstance(event, CallStart | CallDelta | CallEnd):
            return [(by_server, event)]
        place = (by_server, event.index)
        if isinstance(event, CallStart):
            self._open[by_server].add(event.index)
            if self._alone[not by_server] or self._open[not by_server]:
                # Only its end shows whether it is a duplicate.
                self._held[place] = []
        is_held = place in self._held
        if is_held:
            self._held[place].append(event)
        if not isinstance(event, CallEnd):
            if is_held:
                return []
            return [(by_server, event)]
        self._open[by_server].discard(event.index)
        if is_held:
            return [*self._release_calls(by_server), *self._release_calls(not by_server)]
        self._alone[by_server].append(_as_meant(event.call))
        return [(by_server, event), *self._release_calls(not by_server)]

    def rest(self) -> list[tuple[bool, ModelEvent]]:
        """The events held back, when the reply has ended."""
        self._open = {True: set(), False: set()}
        settled = [*self._release_calls(by_server=True), *self._release_calls(by_server=False)]
        for (by_server, _), events in self._held.items():
            settled += [(by_server, each) for each in events]
        return settled

    def _release_calls(self, by_server: bool) -> list[tuple[bool, ModelEvent]]:  # noqa: FBT001
        """Release one side's held calls that are no duplicates, once the other side has no open call."""
        if self._open[not by_server]:
            return []
        told: list[tuple[bool, ModelEvent]] = []
        for place in [each for each in self._held if each[0] == by_server]:
            last = self._held[place][-1]
            if not isinstance(last, CallEnd):
                continue
            events = self._held.pop(place)
            call = _as_meant(last.call)
            if call in self._alone[not by_server]:
                self._alone[not by_server].remove(call)
                self._second[by_server].append(last.call)
            else:
                self._alone[by_server].append(call)
                told += [(by_server, each) for each in events]
        return told

    def without(self, content: Sequence[P], *, by_server: bool) -> list[P]:
        left = list(self._second[by_server])
        kept = list[P]()
        for part in content:
            if isinstance(part, Call) and part in left:
                left.remove(part)
            else:
                kept.append(part)
        return kept


def _as_meant(call: Call) -> tuple[str, str]:
    """The name and the arguments in normalized form."""
    with suppress(msgspec.MsgspecError):
        return call.name, msgspec.json.encode(
            msgspec.json.decode(call.arguments), order="sorted"
        ).decode()
    return call.name, call.arguments


def _callable(request: Request) -> tuple[Spec, ...]:
    if request.choice == "none":
        return ()
    return request.specs


def _offer_tools(request: Request, way: _Way, family: Family) -> Request:
    if way == "asked" or not request.specs:
        return request
    if way == "shown":
        if request.choice != "auto":
            return request
        extra = request.options.get("extra")
        # Only vLLM gets tools this way. By default it leaves special tokens out of the text.
        both: dict[str, Any] = {}
        if any(map(is_special, markers_of(family))):
            both["skip_special_tokens"] = False
        if isinstance(extra, Mapping):
            both |= extra
        if both:
            request = replace(request, options={**request.options, "extra": both})
        return replace(request, choice="none")
    tools = PromptedTools(family)
    specs = _callable(request)
    told = "\n\n".join(filter(None, (request.system, tools.instructions(specs) if specs else "")))
    messages = tuple([_calls_to_text(message, tools) for message in request.messages])
    return replace(request, system=told, specs=(), choice="auto", messages=messages)


def _calls_to_text(message: Message, tools: PromptedTools) -> Message:
    match message:
        case Reply() if message.calls:
            others = tuple(part for part in message.content if part not in message.calls)
            return replace(message, content=(*others, Text(tools.calls(message.calls))))
        case Results(results):
            return user_text(break_tokens(tools.results(results)))
        case _:
            return message


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_ALIASES = frozenset(
    _normalize_name(alias) for family in FAMILIES.values() for alias in (family.name, *family.aliases)
) - {"generic", "json", "openai"}
"""Parts of model names that identify a family."""
