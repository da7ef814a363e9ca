"""The entries of a journal: one for everything that happened in a run, in order.

``key`` names an effect, the same on every attempt at the run: ``t3.model`` is the model's third reply,
``t3.1.search`` the second call in it, to the tool ``search``.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from rightcall.core.budget import Budget, Stop
from rightcall.core.decision import Evidence, FinalDecision
from rightcall.core.events import ModelChange
from rightcall.core.facts import Effect
from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import Reply, Results, Transcript, User
from rightcall.core.outcome import OutcomeKind
from rightcall.core.parts import Call, Repair, Result, Usage
from rightcall.core.request import RequiredOutput, ToolChoice
from rightcall.core.tool import Spec

VERSION = 1
CONTINUED = 2
"""The version of a RunStarted that refers to another run for its first messages: older readers refuse
it."""


class EarlierMessages(Struct, frozen=True, kw_only=True, gc=False):
    """A reference to the first messages that another run of the journal started with."""

    run: str
    messages: int


MODEL_NOTE = "asked"
"""The key of a step with the user's name for the model: a reply has only the vendor's name."""


class RunStarted(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_started"):
    """A run began, with all messages so far and the specs of its tools."""

    digest: str = ""
    """The hash of the messages. File journals write it, and remove it on reading."""
    after: EarlierMessages | None = None
    """The run whose messages come before these, as file journals write it; readers get all messages."""
    messages: Transcript
    budget: Budget
    system: str = ""
    specs: tuple[Spec, ...] = ()
    choice: ToolChoice = "auto"
    sticky_choice: bool = False
    retry_broken: bool = False
    wanted: RequiredOutput | None = None
    intents: tuple[JsonValue, ...] | None = None
    """What the task may do, if it was stated, in the notation of ``rc.trust.read_intents``."""
    dry_run: bool = False
    """Only calls that change nothing are run."""
    version: int = VERSION
    parent: str | None = None
    """The run that this one was forked from."""
    trace: str = ""
    """The observers' trace id of this segment, for the next one to refer to."""
    agent: str = ""
    """The agent's name, if it was given one."""


class RequestSent(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="request_sent"):
    """A request was sent to the model, with so many messages."""

    key: str
    messages: int


class ReplyReceived(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="reply_received"
):
    """The model replied."""

    key: str
    reply: Reply
    seconds: float
    raw: bytes | None = None
    """The vendor's own bytes, if they were requested."""
    passed_over: tuple[ModelChange, ...] = ()
    """The models that failed before this one was asked, and why."""
    notes: tuple[User, ...] = ()
    """Hooks' messages to the model, sent after this reply and its results."""
    offer: tuple[str, ...] | None = None
    """The only tools that this reply may call, because of ``choice`` or of a hook that took others out
    of the request; None for all that the run has."""


class ToolsChanged(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="tools_changed"):
    """From here on the model is offered these tools."""

    key: str
    specs: tuple[Spec, ...]


class CallChecked(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="call_checked"):
    """A call was checked by the gate: ``refused`` is the kind of its outcome if it did not pass."""

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
    """The reason for the decision, if trust rules contributed."""
    evidence: tuple[Evidence, ...] = ()
    """The values that it is based on, and where each was seen."""


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
    """What the call itself spent on models, such as a subagent's usage."""
    error: str = ""
    """The exception behind a failure, with its traceback. The model never reads it."""
    original: Result | None = None
    """The tool's own result, if a hook replaced it."""
    notes: tuple[User, ...] = ()
    """Hooks' messages to the model, sent after the results."""
    cause: str = ""
    """The exception's type and message only."""
    calls: int = 0
    """How many calls ran inside it, if it was a program."""
    recovered: bool = False
    """Whether it had been started before by a process that did not record its end."""


class CallDropped(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="call_dropped"):
    """A call was started while the reply still streamed, and its result was not used.

    The reply broke off, or does not contain the call as it was started, or the call was not to be run.
    """

    key: str
    call: Call
    """The call, as it was started."""
    result: Result
    """What it returned, which the model has not read; the outcome ``cancelled`` if it was given up."""
    seconds: float = 0.0
    attempts: int = 1
    usage: Usage | None = None
    """What it spent on models; the run's own usage does not contain it."""
    error: str = ""
    cause: str = ""


class StepDone(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="step_done"):
    """Another effect of the loop returned its value, such as a verdict on an answer."""

    key: str
    value: str


CompactionReason: TypeAlias = Literal["window", "overflow"]
"""Why a history was compacted: it passed a share of the window, or the vendor refused its length."""


class HistoryCompacted(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="history_compacted"
):
    """Earlier messages were shortened or summarised: from here on ``message`` is sent in their place."""

    key: str
    message: User
    reason: CompactionReason = "window"
    before: int = 0
    """The tokens of the messages that would have been sent."""
    after: int = 0
    """The tokens of those that are sent."""
    seconds: float = 0.0
    usage: Usage = Usage()
    """What the summary cost, if a model wrote it."""
    problem: str = ""
    """Why the model that was to summarise did not, so that excerpts stand in for its summary."""


class UnchangedMessages(Struct, frozen=True, gc=False, tag="kept"):
    """Messages of the request that are unchanged, from index ``first`` to before ``last``."""

    first: int
    last: int


class RequestChange(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What hooks changed in a request before it was sent; unset fields are unchanged."""

    messages: tuple[UnchangedMessages | User | Reply | Results, ...] | UnsetType = UNSET
    system: str | UnsetType = UNSET
    specs: tuple[Spec, ...] | UnsetType = UNSET
    choice: ToolChoice | UnsetType = UNSET
    output: JsonObject | UnsetType | None = UNSET
    max_tokens: int | UnsetType | None = UNSET
    options: Mapping[str, JsonValue] | UnsetType = UNSET


class HookAnswered(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="hook_answered"):
    """Hooks were asked about a request or a call, and answered."""

    key: str
    hook: Literal["before_model", "before_tool"]
    veto: str | None = None
    """The reason of a veto against asking the model."""
    notes: tuple[User, ...] = ()
    """Messages to the model that the hooks added; they stay in the transcript."""
    request: RequestChange | None = None
    call_id: str = ""
    decision: FinalDecision | None = None
    """The decision about a call."""


class MessageQueued(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="message_queued"
):
    """A message was added to the run while it went on; it waits for the next turn."""

    key: str
    number: int
    """Its place among the run's queued messages, from 1."""
    message: User | None = None
    """None: the run is to stop, with what there is."""
    now: bool = False
    """What may be cancelled is cancelled, so that the turn comes at once."""
    id: str = ""
    """The sender's name for it, if it was given one: a message of the same name is queued once."""


class MessagesDelivered(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="messages_delivered"
):
    """Queued messages were given to the model, before the request of a turn."""

    key: str
    last: int
    """The number of the last of them. None up to it is delivered again."""
    messages: tuple[User, ...]
    stop: bool = False
    """The run stops before the request."""


class RunResumed(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_resumed"):
    """A new segment began, with a person's decisions by call id."""

    decisions: Mapping[str, FinalDecision]
    trace: str = ""
    """The observers' trace id of this segment, for the next one to refer to."""


class RunPaused(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_paused"):
    """A segment ended: the run waits for decisions about these calls."""

    key: str
    call_ids: tuple[str, ...]


class RunEnded(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_ended"):
    """The run ended."""

    stop: Stop


class RunFailed(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="run_failed"):
    """The run broke off with an exception; it can be resumed."""

    code: str
    message: str


class Nested(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag="nested"):
    """An entry of an inner run, inside a call: an agent that was handed a task, or a program."""

    path: str
    """The key of the call."""
    agent: str
    """The agent's name as a tool."""
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
    | CallDropped
    | StepDone
    | HistoryCompacted
    | HookAnswered
    | Nested
    | MessageQueued
    | MessagesDelivered
    | RunPaused
    | RunResumed
    | RunEnded
    | RunFailed
)
