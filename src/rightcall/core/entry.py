"""What a journal holds: one entry for everything that happened in a run, in order.

``key`` names an effect the same way on every attempt at the run: ``t3.model`` is the model's third
reply, ``t3.1.search`` the second call in it, to the tool ``search``.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from rightcall.core.budget import Budget, Stop
from rightcall.core.call import Repair
from rightcall.core.decision import Evidence, FinalDecision, Grant
from rightcall.core.events import ModelChange
from rightcall.core.facts import Effect
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import Reply, Results, Transcript, User
from rightcall.core.outcome import OutcomeKind
from rightcall.core.parts import Result, Usage
from rightcall.core.request import ToolChoice, Wanted
from rightcall.core.tool import Spec

VERSION = 1
CONTINUED = 2
"""The version of a start that names the run whose history it goes on from: older readers refuse it."""


class After(Struct, frozen=True, kw_only=True, gc=False):
    """So many messages, with which another run of the journal started."""

    run: str
    messages: int


MODEL_NOTE = "asked"
"""The key of a step that says what the user calls the model: a reply has the vendor's name for it."""


class RunStarted(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_started"):
    """A run began, with everything said up to now and what the model is told of the tools."""

    digest: str = ""
    """Of the messages. Journals in files write it, and take it away when they read."""
    after: After | None = None
    """What stands before the messages, as such a journal writes it; who reads one gets all messages."""
    messages: Transcript
    budget: Budget
    system: str = ""
    specs: tuple[Spec, ...] = ()
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    retry_broken: bool = False
    wanted: Wanted | None = None
    grant: Grant | None = None
    dry_run: bool = False
    """Nothing is changed: only calls that look are run."""
    version: int = VERSION
    parent: str | None = None
    """The run that this one was forked from."""
    trace: str = ""
    """What observers call this segment of the run, for the next one to refer to."""
    agent: str = ""
    """The agent's name, where it was given one."""


class RequestSent(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="request_sent"):
    """The model was asked, with so many messages."""

    key: str
    messages: int


class ReplyReceived(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="reply_received"
):
    """The model answered."""

    key: str
    reply: Reply
    seconds: float
    raw: bytes | None = None
    """The vendor's own bytes, if they were asked for."""
    passed_over: tuple[ModelChange, ...] = ()
    """The models that failed before this one was asked, and why."""
    notes: tuple[User, ...] = ()
    """What hooks have the model told after this reply and its results."""


class ToolsChanged(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="tools_changed"):
    """From here on the model is offered these tools."""

    key: str
    specs: tuple[Spec, ...]


class CallChecked(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="call_checked"):
    """A call went through the gate: ``refused`` says how it failed there, if it did."""

    key: str
    call_id: str
    refused: OutcomeKind | None = None
    repairs: tuple[Repair, ...] = ()


class CallDecided(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="call_decided"):
    """A policy or a person decided about a call."""

    key: str
    call_id: str
    decision: FinalDecision
    by: Literal["policy", "person", "hook"]
    reason: str = ""
    """Why it came to be decided, where rules of trust had a say."""
    evidence: tuple[Evidence, ...] = ()
    """What that was based on: which values, seen where."""


class CallStarted(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="call_started"):
    """A call is about to run. Without a CallFinished after it, it may have run."""

    key: str
    call_id: str
    effect: Effect = "write"


class CallFinished(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="call_finished"):
    """A call has its result."""

    key: str
    result: Result
    seconds: float = 0.0
    attempts: int = 0
    usage: Usage | None = None
    """What the call itself spent on models, as a subagent does."""
    error: str = ""
    """The exception behind a failure, with its traceback. The model never reads it."""
    original: Result | None = None
    """The result as the tool gave it, where a hook put another in its place."""
    notes: tuple[User, ...] = ()
    """What hooks have the model told after the results."""
    cause: str = ""
    """The exception's type and message alone."""
    calls: int = 0
    """How many calls ran inside it, where it was a program."""
    recovered: bool = False
    """Whether it had been started before, by a process that did not record its end."""


class StepDone(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="step_done"):
    """Another effect of the loop came to its value: a summary, a verdict on an answer."""

    key: str
    value: str


class Kept(Struct, frozen=True, gc=False, tag="kept"):
    """Messages of the request that stay as they were, from the first to before the last."""

    first: int
    last: int


class RequestChange(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What hooks changed of a request before it was sent; what is unset stayed as it was."""

    messages: tuple[Kept | User | Reply | Results, ...] | UnsetType = UNSET
    system: str | UnsetType = UNSET
    specs: tuple[Spec, ...] | UnsetType = UNSET
    choice: ToolChoice | UnsetType = UNSET
    output: JsonObject | UnsetType | None = UNSET
    max_tokens: int | UnsetType | None = UNSET
    options: Mapping[str, JsonValue] | UnsetType = UNSET


class HookAnswered(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="hook_answered"):
    """Hooks were asked about a request or a call, and this is what they said."""

    key: str
    hook: Literal["before_model", "before_tool"]
    veto: str | None = None
    """Why the model was not to be asked."""
    notes: tuple[User, ...] = ()
    """What the model is told besides, from then on."""
    request: RequestChange | None = None
    call_id: str = ""
    decision: FinalDecision | None = None
    """What was decided about a call."""


class RunResumed(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_resumed"):
    """A new segment began, with a person's decisions by call id."""

    decisions: Mapping[str, FinalDecision]
    trace: str = ""
    """What observers call this segment of the run, for the next one to refer to."""


class RunPaused(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_paused"):
    """A segment ended: the run waits for decisions about these calls."""

    key: str
    call_ids: tuple[str, ...]


class RunEnded(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_ended"):
    """The run came to its end."""

    stop: Stop


class RunFailed(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_failed"):
    """The run broke off with an exception; it can be resumed."""

    code: str
    message: str


class Nested(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="nested"):
    """Something happened in a run inside a call: of an agent that was handed a task."""

    path: str
    """The key of the call."""
    agent: str
    """The agent, by its name as a tool."""
    entry: "Entry"


Entry: TypeAlias = (
    RunStarted
    | RequestSent
    | ToolsChanged
    | ReplyReceived
    | CallChecked
    | CallDecided
    | CallStarted
    | CallFinished
    | StepDone
    | HookAnswered
    | Nested
    | RunPaused
    | RunResumed
    | RunEnded
    | RunFailed
)
