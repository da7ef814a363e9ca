"""The state of a run's plan, from its messages: what was planned, read and called, and what is next.

Everything follows from the transcript, so that a run that is resumed or recovered continues where it
was. If a repaired plan makes a call with the same tool and arguments again, it gets the first call's
result: nothing is done twice.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypeAlias

from msgspec import DecodeError, Struct, json

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Call, Result
from rightcall.core.secret_formats import REDACTED
from rightcall.loop.state import PLAN
from rightcall.plan.parse import PlanProblem, PlanRuntimeError, PlanSyntaxError, parse
from rightcall.plan.results import PlannedTool, value_of
from rightcall.plan.run import Extract, MissingResult, PlanAnswer, PlanFailure, PlanToolCall, Wants, step
from rightcall.plan.value import (
    LabelledValue,
    Labelling,
    SourceKind,
    TaintLabel,
    as_json,
    deep_taint,
    of_json,
)
from rightcall.record.redact import redact_text

MOST_READINGS = 2
"""How often the reader may give an answer that does not fit, for one text."""
ANOTHER_WAY = "the plan was run again and took another way: its tools or their facts have changed"
UNTOLD = "it cannot be told whether an earlier plan made this call: its record has a secret left out"

Said: TypeAlias = Literal["source", "read", "misread", "call", "show", "answer", "failed", "ordinary"]
"""The kind of a reply in a planned run."""


class PlanAttempt(Struct, frozen=True, eq=False):
    """One plan, and the calls that it made."""

    source: str
    calls: tuple[tuple[Call, Result], ...]


class PlanProgress(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that has happened in a planned run."""

    asked: User | None
    attempts: tuple[PlanAttempt, ...] = ()
    read: Mapping[str, str] = {}
    """The reader's answers, by the hash of its request."""
    misread: Mapping[str, int] = {}
    shown: Result | None = None
    """A person's decision about the last plan."""
    ordinary: str = ""
    """Why the run went on as an ordinary one."""

    @property
    def source(self) -> str:
        """The current plan."""
        if self.attempts:
            return self.attempts[-1].source
        return ""


def step_kind(reply: Reply) -> Said | None:
    """The kind of a reply in a planned run; None for a reply of an ordinary run."""
    bag = reply.vendor.get(PLAN)
    return bag.get("step") if isinstance(bag, Mapping) else None  # type: ignore[return-value]


def plan_progress(messages: Sequence[Message]) -> PlanProgress:
    """What has happened since the user's last message."""
    began = -1
    asked: User | None = None
    for at, message in enumerate(messages):
        if isinstance(message, User) and message.author in ("user", "agent"):
            began = at
            asked = message
    sources: list[str] = []
    calls: list[list[tuple[Call, Result]]] = []
    read = dict[str, str]()
    misread = dict[str, int]()
    shown = None
    ordinary = ""
    waiting = dict[str, tuple[Call, Said | None]]()
    for message in messages[began + 1 :]:
        if isinstance(message, Reply):
            kind = step_kind(message)
            bag = message.vendor.get(PLAN)
            key = str(bag.get("key", "")) if isinstance(bag, Mapping) else ""
            if kind == "source":
                sources.append(message.text)
                calls.append([])
                shown = None
            elif kind == "read":
                read[key] = message.text
            elif kind == "misread":
                misread[key] = misread.get(key, 0) + 1
            elif kind == "ordinary":
                ordinary = message.text
            waiting = {call.id: (call, kind) for call in message.calls}
        elif isinstance(message, Results):
            for result in message.results:
                call, kind = waiting.get(result.call_id, (None, None))
                if kind == "show":
                    shown = result
                elif kind == "call" and call is not None:
                    calls[-1].append((call, result))
    return PlanProgress(
        asked=asked,
        attempts=tuple(map(PlanAttempt, sources, map(tuple, calls))),
        read=read,
        misread=misread,
        shown=shown,
        ordinary=ordinary,
    )


class NextCall(Struct, frozen=True, kw_only=True, eq=False):
    """The call that a plan makes next."""

    tool: PlannedTool
    arguments: str
    """As JSON."""
    values: Mapping[str, LabelledValue]
    """The labelled arguments, by their names in the schema."""
    branch: TaintLabel
    line: int


class NextReading(Struct, frozen=True, kw_only=True, eq=False):
    """The text that the reader reads next."""

    key: str
    text: str
    extract: Extract


Next: TypeAlias = NextCall | NextReading | PlanAnswer | PlanFailure
"""A call, a reading, an answer, or why the plan cannot continue."""


def next_of(story: PlanProgress, tools: Mapping[str, PlannedTool]) -> Next:
    """The plan's next step."""
    try:
        tree = parse(story.source)
    except PlanSyntaxError as refused:
        return PlanFailure(refused.problems[0])
    replay = _ResultReplay(story, tools)
    found = step(tree, frozenset(tools), replay.resolve)
    if isinstance(found, PlanFailure):
        return found
    if replay.ours:
        # Recorded calls are left that the plan no longer makes.
        return PlanFailure(PlanProblem(kind="ReplayError", reason=ANOTHER_WAY))
    if isinstance(found, PlanToolCall | Extract):
        assert replay.next is not None
        return replay.next
    return found


class _ResultReplay:
    """Gives a plan the results of its calls and readings, as far as they are known."""

    def __init__(self, story: PlanProgress, tools: Mapping[str, PlannedTool]) -> None:
        self._story = story
        self._tools = tools
        self.ours = list(story.attempts[-1].calls)
        """The calls of this plan whose results were not yet taken."""
        self._earlier: list[tuple[Call, Result]] = []
        for attempt in story.attempts[:-1]:
            for call, result in attempt.calls:
                if _stands(result, tools):
                    self._earlier.append((call, result))
        self._count = 0
        self.next: NextCall | NextReading | None = None

    def resolve(self, wants: Wants) -> LabelledValue:
        """The result of a call or a reading. Raises MissingResult if it is not known yet."""
        self._count += 1
        if isinstance(wants, Extract):
            return self._reading(wants)
        tool = self._tools[wants.function]
        # The arguments by their names in the schema.
        parameters = tool.function.parameters
        names = list(parameters)
        taken = names[: len(wants.args)]
        if len(wants.args) > len(names) or not set(taken).isdisjoint(wants.named):
            raise PlanRuntimeError("TypeError", f"{wants.function} is not called so", tool.tool.name)
        given = dict(zip(names, wants.args, strict=False)) | dict(wants.named)
        values = {parameters.get(name, name): value for name, value in given.items()}
        arguments = _encode_values(values)
        result = self._take_recorded(tool, arguments)
        if result is not None:
            return value_of(tool, result, self._count, values)
        self.next = NextCall(
            tool=tool, arguments=arguments, values=values, branch=wants.branch, line=wants.line
        )
        raise MissingResult(wants)

    def _take_recorded(self, tool: PlannedTool, arguments: str) -> Result | None:
        """The result of the call, if it was made. Raises PlanRuntimeError if that cannot be told.

        The same plan makes the same calls in the same order, so a call of its own may have lost a secret
        in the record. Another plan's may have been made with another secret, or with the very text that
        stands for one: then to skip it is wrong, and so is to do it twice. A read is done again.
        """
        name = tool.tool.name
        for recorded in (self._earlier, self.ours):
            for at, (call, result) in enumerate(recorded):
                if call.name == name and call.arguments == arguments:
                    del recorded[at]
                    return result
        if tool.facts.is_consequential and _place_of(arguments, name, self._earlier) is not None:
            raise PlanRuntimeError("ReplayError", UNTOLD, name)
        place = _place_of(arguments, name, self.ours)
        return None if place is None else self.ours.pop(place)[1]

    def _reading(self, wants: Extract) -> LabelledValue:
        text = wants.text.data
        if not isinstance(text, str):
            text = _encode_values({"": wants.text})
        asked = json.encode([text, wants.wanted.schema, wants.question.data])
        key = hashlib.sha256(asked).hexdigest()[:32]
        answer = self._story.read.get(key)
        if answer is None:
            if self._story.misread.get(key, 0) >= MOST_READINGS:
                raise PlanRuntimeError("ReaderError", "the reader gave nothing of this type")
            self.next = NextReading(key=key, text=text, extract=wants)
            raise MissingResult(wants)
        taint = deep_taint(wants.text) | deep_taint(wants.question)
        kind: SourceKind = "read" if taint else "system"
        labels = Labelling(tool="extract", call=self._count, kind_at=lambda _: kind, chosen=taint)
        try:
            data = _restore_dates(json.decode(answer), wants.wanted.schema)
        except ValueError:
            raise PlanRuntimeError("ReaderError", "the reader gave what is no date") from None
        return of_json(data, labels)


def _stands(result: Result, tools: Mapping[str, PlannedTool]) -> bool:
    """Whether the result of a call in an earlier plan is used for the same call in the next plan.

    A read that failed may be tried again; a call that may have had an effect may not.
    """
    if result.outcome in ("returned", "dry_run"):
        return True
    if result.outcome not in ("failed", "timed_out", "interrupted", "denied"):
        return False
    for known in tools.values():
        if known.tool.name == result.name:
            return known.facts.is_consequential
    return True


def _encode_values(values: Mapping[str, LabelledValue]) -> str:
    try:
        return json.encode({name: as_json(value) for name, value in values.items()}).decode()
    except (TypeError, UnicodeEncodeError):
        raise PlanRuntimeError("TypeError", "functions cannot be handed out of a plan") from None


def _place_of(arguments: str, tool: str, recorded: Sequence[tuple[Call, Result]]) -> int | None:
    """Where a call is in the record that may have been made with these arguments, before redaction.

    The text that stands for a secret counts only where redaction puts it: anybody can write it.
    """
    for at, (call, _) in enumerate(recorded):
        is_redacted = call.name == tool and REDACTED in call.arguments
        if is_redacted and _normal(call.arguments) == _normal(redact_text(arguments)):
            return at
    return None


def _normal(text: str) -> str:
    """JSON text without the escapes that redaction may have added."""
    try:
        return json.encode(json.decode(text)).decode()
    except (DecodeError, RecursionError):
        return text


def _restore_dates(data: JsonValue, schema: JsonObject) -> Any:
    """The reader's answer with dates as dates. Raises ValueError for a text that is not a date."""
    options = schema.get("anyOf")
    if isinstance(options, list):
        kinds: Mapping[str, Any] = {"array": list, "object": Mapping, "string": str, "null": ()}
        for each in options:
            if data is not None and isinstance(data, kinds.get(str(each.get("type")), object)):
                return _restore_dates(data, each)
        return data
    if isinstance(data, str) and schema.get("format") == "date":
        return date.fromisoformat(data)
    if isinstance(data, str) and schema.get("format") == "date-time":
        return datetime.fromisoformat(data)
    items = schema.get("items")
    properties = schema.get("properties")
    if isinstance(data, list) and isinstance(items, Mapping):
        return [_restore_dates(each, items) for each in data]
    if isinstance(data, Mapping) and isinstance(properties, Mapping):
        members: Mapping[str, Any] = properties
        return {key: _restore_dates(each, members[key]) for key, each in data.items()}
    return data
