"""A run's messages into the state of its plan: what was planned, read and called, and what is next.

Everything follows from the transcript, so that a run that is resumed or recovered continues where it
was. If a repaired plan makes a call with the same tool and arguments again, it gets the first call's
result: nothing is done twice.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import DecodeError, Struct, json

from rightcall.core.call import Call
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Result
from rightcall.core.secret import REDACTED
from rightcall.loop.state import PLAN
from rightcall.plan.operations import Fails
from rightcall.plan.parse import PlanProblem, Refused, parse
from rightcall.plan.results import Known, value_of
from rightcall.plan.run import Answered, Broken, Unknown, step
from rightcall.plan.scope import Extract, ToolCall, Wants
from rightcall.plan.types import restored
from rightcall.plan.value import (
    Label,
    Labelling,
    SourceKind,
    Value,
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


class Attempt(Struct, frozen=True, eq=False):
    """One plan, and the calls that it made."""

    source: str
    calls: tuple[tuple[Call, Result], ...]


class Story(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that has happened in a planned run."""

    asked: User | None
    attempts: tuple[Attempt, ...] = ()
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
        return self.attempts[-1].source if self.attempts else ""


def said_as(reply: Reply) -> Said | None:
    """The kind of a reply in a planned run; None for a reply of an ordinary run."""
    bag = reply.vendor.get(PLAN)
    return bag.get("step") if isinstance(bag, Mapping) else None  # type: ignore[return-value]


def story_of(messages: Sequence[Message]) -> Story:
    """What has happened since the user's last message."""
    began = max(
        (at for at, each in enumerate(messages) if isinstance(each, User) and _asks(each)), default=-1
    )
    asked = messages[began] if began >= 0 else None
    sources: list[str] = []
    calls: list[list[tuple[Call, Result]]] = []
    read, misread = dict[str, str](), dict[str, int]()
    shown, ordinary, waiting = None, "", dict[str, tuple[Call, Said | None]]()
    for message in messages[began + 1 :]:
        if isinstance(message, Reply):
            kind, bag = said_as(message), message.vendor.get(PLAN)
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
    attempts = [Attempt(source, tuple(of)) for source, of in zip(sources, calls, strict=True)]
    return Story(
        asked=asked if isinstance(asked, User) else None,
        attempts=tuple(attempts),
        read=read,
        misread=misread,
        shown=shown,
        ordinary=ordinary,
    )


def _asks(message: User) -> bool:
    return message.author in ("user", "agent")


class NextCall(Struct, frozen=True, kw_only=True, eq=False):
    """The call that a plan makes next."""

    tool: Known
    arguments: str
    """As JSON."""
    values: Mapping[str, Value]
    """The labelled arguments, by their names in the schema."""
    branch: Label
    line: int


class NextReading(Struct, frozen=True, kw_only=True, eq=False):
    """The text that the reader reads next."""

    key: str
    text: str
    extract: Extract


Next: TypeAlias = NextCall | NextReading | Answered | Broken
"""A call, a reading, an answer, or why the plan cannot continue."""


def next_of(story: Story, tools: Mapping[str, Known]) -> Next:
    """The plan's next step."""
    try:
        tree = parse(story.source)
    except Refused as refused:
        return Broken(refused.problems[0])
    teller = _Teller(story, tools)
    found = step(tree, frozenset(tools), teller.tell)
    if isinstance(found, Broken):
        return found
    if teller.left():
        return Broken(PlanProblem(kind="ReplayError", reason=ANOTHER_WAY))
    if isinstance(found, ToolCall | Extract):
        assert teller.next is not None
        return teller.next
    return found


class _Teller:
    """Gives a plan the results of its calls and readings, as far as they are known."""

    def __init__(self, story: Story, tools: Mapping[str, Known]) -> None:
        self._story = story
        self._tools = tools
        self._ours = list(story.attempts[-1].calls)
        self._earlier = [
            (call, result)
            for each in story.attempts[:-1]
            for call, result in each.calls
            if _stands(result, tools)
        ]
        self._count = 0
        self.next: NextCall | NextReading | None = None

    def left(self) -> bool:
        """Whether recorded calls are left that the plan no longer makes."""
        return bool(self._ours)

    def tell(self, wants: Wants) -> Value:
        self._count += 1
        if isinstance(wants, Extract):
            return self._reading(wants)
        tool = self._tools[wants.function]
        values = _by_name(wants, tool)
        arguments = _written(values)
        if (result := self._recorded(tool, arguments)) is not None:
            return value_of(tool, result, self._count, values)
        self.next = NextCall(
            tool=tool, arguments=arguments, values=values, branch=wants.branch, line=wants.line
        )
        raise Unknown(wants)

    def _recorded(self, tool: Known, arguments: str) -> Result | None:
        """The result of the call, if it was made. Raises Fails if that cannot be told.

        The same plan makes the same calls in the same order, so a call of its own may have lost a secret
        in the record. Another plan's may have been made with another secret, or with the very text that
        stands for one: then to skip it is wrong, and so is to do it twice. A read is done again.
        """
        for recorded in (self._earlier, self._ours):
            calls = [call.arguments if call.name == tool.tool.name else None for call, _ in recorded]
            if arguments in calls:
                return recorded.pop(calls.index(arguments))[1]
        if tool.facts.is_consequential and _place_of(arguments, tool, self._earlier) is not None:
            raise Fails("ReplayError", UNTOLD, tool.tool.name)
        at = _place_of(arguments, tool, self._ours)
        return None if at is None else self._ours.pop(at)[1]

    def _reading(self, wants: Extract) -> Value:
        given = wants.text.data if isinstance(wants.text.data, str) else _written({"": wants.text})
        asked = json.encode([given, wants.wanted.schema, wants.question.data])
        key = hashlib.sha256(asked).hexdigest()[:32]
        answer = self._story.read.get(key)
        if answer is None:
            if self._story.misread.get(key, 0) >= MOST_READINGS:
                raise Fails("ReaderError", "the reader gave nothing of this type")
            self.next = NextReading(key=key, text=given, extract=wants)
            raise Unknown(wants)
        taint = deep_taint(wants.text) | deep_taint(wants.question)
        kind: SourceKind = "read" if taint else "system"
        labels = Labelling(tool="extract", call=self._count, kind_at=lambda _: kind, chosen=taint)
        try:
            data = restored(json.decode(answer), wants.wanted.schema)
        except ValueError:
            raise Fails("ReaderError", "the reader gave what is no date") from None
        return of_json(data, labels)


def _stands(result: Result, tools: Mapping[str, Known]) -> bool:
    """Whether the result of a call in an earlier plan is used for the same call in the next plan.

    A read that failed may be tried again; a call that may have had an effect may not.
    """
    if result.outcome in ("returned", "dry_run"):
        return True
    known = next((each for each in tools.values() if each.tool.name == result.name), None)
    acts = known is None or known.facts.is_consequential
    return acts and result.outcome in ("failed", "timed_out", "interrupted", "denied")


def _by_name(wants: ToolCall, tool: Known) -> dict[str, Value]:
    """The arguments by their names in the schema. Raises Fails if they do not match it."""
    names = list(tool.function.parameters)
    if len(wants.args) > len(names) or not set(names[: len(wants.args)]).isdisjoint(wants.named):
        raise Fails("TypeError", f"{wants.function} is not called so", tool.tool.name)
    given = dict(zip(names, wants.args, strict=False)) | dict(wants.named)
    return {tool.function.parameters.get(name, name): value for name, value in given.items()}


def _written(values: Mapping[str, Value]) -> str:
    try:
        return json.encode({name: as_json(value) for name, value in values.items()}).decode()
    except (TypeError, UnicodeEncodeError):
        raise Fails("TypeError", "functions cannot be handed out of a plan") from None


def _place_of(arguments: str, tool: Known, recorded: Sequence[tuple[Call, Result]]) -> int | None:
    """Where a call is in the record that may have been made with these arguments, before redaction.

    The text that stands for a secret counts only where redaction puts it: anybody can write it.
    """
    for at, (call, _) in enumerate(recorded):
        is_redacted = call.name == tool.tool.name and REDACTED in call.arguments
        if is_redacted and _normal(call.arguments) == _normal(redact_text(arguments)):
            return at
    return None


def _normal(text: str) -> str:
    """JSON text without the escapes that redaction may have added."""
    try:
        return json.encode(json.decode(text)).decode()
    except (DecodeError, RecursionError):
        return text
