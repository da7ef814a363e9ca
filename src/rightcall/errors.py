"""Exceptions, for the developer. What a model or a tool gets wrong is an outcome, never one of these.

The first split is blame::

    RightcallError
      DeclarationError      you: a tool cannot be declared as written
      UsageError            you: a wrong argument, option or name, or a call at the wrong time
        MissingExtra        ... or a library that is not installed
      EncodeError           you: a vendor's format cannot express what was asked of it
      ReplayError           you: a replay needs something that its journal does not hold
      JournalError          you or the disk: a journal cannot be read or written
        JournalLocked       ... because somebody else has its file locked
      RunHeld               another process, or another task of this one, holds the run
      ConversationBusy      another run of the conversation goes on, or waits for a person
      AlreadyDecided        somebody else has answered what a run waited for
      RunStopped            a durable run failed, was cancelled, or cannot continue
      ProtocolError         them: bytes or events that break the agreed form
        TruncatedStream     ... by ending in the middle
      VendorError           them: a well-formed refusal from a model's vendor
      TransportError        the network: never reached, or lost
        TransportTimeout    ... or too slow
      LimitReached          a budget, or the model, ended a run that had to give an answer
      NoOutput              a run that was asked for an output ended without one
      ToolFailure           a tool's own word for an expected failure; raise it inside a handler

Every class has a stable ``code``, keeps its facts as attributes, and survives pickling. What a model's
vendor and the network do wrong has a ``kind`` besides, which is the same whoever the vendor is.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

ErrorKind: TypeAlias = Literal[
    "auth",
    "quota",
    "rate_limit",
    "overloaded",
    "context_overflow",
    "bad_request",
    "not_found",
    "filtered",
    "timeout",
    "cancelled",
    "server",
    "connection",
    "protocol",
]
"""What went wrong between here and a model, whoever its vendor is, and what to do about it.

- ``auth``: the key is missing, wrong, or may not do this. Use another key.
- ``quota``: the money, or the day's share, is used up. Pay, or wait for the next day.
- ``rate_limit``: too many requests or tokens for now. Wait for ``retry_after`` seconds.
- ``overloaded``: the vendor has no room for anybody. Wait, or ask another model.
- ``context_overflow``: the request is longer than the model or the host takes. Send less.
- ``filtered``: a filter of the vendor's refused what was said. Say something else.
- ``not_found``: no such model, or no API at this address. Check both.
- ``bad_request``: the vendor does not take this request. The message says which part.
- ``cancelled``: a batch was cancelled before the prompt was worked on. Submit it again, if it is wanted.
- ``timeout``: the vendor, or the way to it (``TransportTimeout``), took too long. Try again.
- ``server``: the vendor broke, or did not say how. Try again.
- ``connection``: never reached, or lost (``TransportError``). Try again.
- ``protocol``: what came breaks the format (``ProtocolError``). Check the address; else it is a fault of
  the vendor's or ours.
"""

_STATUSES: Mapping[int, tuple[ErrorKind, bool]] = {
    401: ("auth", False),
    402: ("quota", False),
    403: ("auth", False),
    404: ("not_found", False),
    405: ("not_found", False),
    407: ("auth", False),
    408: ("timeout", True),
    409: ("bad_request", True),
    410: ("not_found", False),
    413: ("context_overflow", False),
    425: ("bad_request", True),
    429: ("rate_limit", True),
    498: ("overloaded", False),  # Groq's: no capacity in its flex tier
    503: ("overloaded", True),
    504: ("timeout", True),
    529: ("overloaded", True),  # Anthropic's
}
"""What an HTTP status means, and whether a request that was refused with it is sent again."""
_PLACES = range(300, 400)
_REQUESTS = range(400, 500)
_SERVERS_FAULT = 500


def kind_of_status(status: int | None) -> ErrorKind:
    """Returns the kind of a refusal of which only the HTTP status is known."""
    if status is None:
        return "server"
    if status in _STATUSES:
        return _STATUSES[status][0]
    if status in _PLACES:
        return "not_found"
    if status in _REQUESTS:
        return "bad_request"
    return "server"


def is_retried(status: int) -> bool:
    """Whether a request that was refused with this HTTP status is sent again."""
    if status in _STATUSES:
        return _STATUSES[status][1]
    return status >= _SERVERS_FAULT


class RightcallError(Exception):
    """The root of everything rightcall raises."""

    code: ClassVar[str] = "rightcall"
    result: Any = None
    """The RunResult of the run that this error ended; None outside of runs."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[RightcallError], args: tuple[Any, ...], fields: dict[str, Any]
) -> RightcallError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class DeclarationError(RightcallError):
    """A tool cannot be declared as written: which tool, where in it, why, and what to do."""

    code = "declaration"

    def __init__(self, tool: str, reason: str, *, where: str | None = None, fix: str = "") -> None:
        place = f"tool {tool!r}" if where is None else f"tool {tool!r}, {where}"
        if not tool:
            place = f"{where}"
        super().__init__(f"{place}: {reason}" + (f" {fix}" if fix else ""))
        self.tool = tool
        """Empty where an agent's ``output`` is at fault, and no tool."""
        self.where = where
        """The parameter, schema path, or option at fault; None when it is the whole tool."""
        self.reason = reason
        self.fix = fix


class UsageError(RightcallError):
    """A wrong argument, option or name, or a call at the wrong time."""

    code = "usage"


class MissingExtra(UsageError):
    """A library is missing; the message says how to install it."""

    code = "missing_extra"

    def __init__(self, what: str, extra: str, then: str = "") -> None:
        super().__init__(f"{what}: pip install 'rightcall[{extra}]'{then}")
        self.extra = extra
        """The extra that installs it: ``pip install 'rightcall[EXTRA]'``."""


class ReplayError(RightcallError):
    """A replay needs a step that is not in the journal."""

    code = "replay"

    def __init__(self, key: str) -> None:
        super().__init__(f"the journal has no step {key}; the recorded run ended or took another path")
        self.key = key


class JournalError(RightcallError):
    """A journal cannot be read or written: where in it, and why."""

    code = "journal"

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        """The file, and the line or entry in it."""
        self.reason = reason


class JournalLocked(JournalError):
    """Another process kept a journal's file locked for too long; nothing was written."""

    code = "journal_locked"

    def __init__(self, where: str, reason: str, *, seconds: float = 0.0) -> None:
        super().__init__(where, reason)
        self.seconds = seconds
        """How long it waited."""


class RunHeld(RightcallError):
    """Another process or task holds the run, or took it over. Only the holder can append to it."""

    code = "run_held"

    def __init__(self, run: str, holder: str) -> None:
        super().__init__(f"the run {run!r} is held by {holder}; wait for it, or let that process finish")
        self.run = run
        self.holder = holder
        """Who holds it, if known."""


class ConversationBusy(RightcallError):
    """Another run of the conversation goes on, or waits for a person, or it has gone on since."""

    code = "conversation_busy"

    def __init__(self, conversation: str, run: str, *, waits: bool = False, reason: str = "") -> None:
        if waits:
            why = f"is busy: its run {run!r} waits for a decision; resume it, or abandon it"
        else:
            why = "is busy: another run of it goes on; wait for it, or add a message to that run"
        super().__init__(f"the conversation {conversation!r} {reason or why}")
        self.conversation = conversation
        self.run = run
        """The run that it is busy with; empty if that is not known."""
        self.waits = waits
        """Whether that run waits for a person."""


class AlreadyDecided(RightcallError):
    """The pending calls of a run have been decided already; the first answer counts."""

    code = "already_decided"

    def __init__(
        self, run: str, decisions: Mapping[str, Any], *, advice: str = "recover it to continue"
    ) -> None:
        answers = f": {decisions}" if decisions else ""
        super().__init__(f"the run {run!r} was answered already{answers}; {advice}")
        self.run = run
        self.decisions = decisions
        """The decisions that were made, by call id."""


class RunStopped(RightcallError):
    """A durable run has no result: it failed, was cancelled, or no worker can continue it."""

    code = "run_stopped"

    def __init__(self, run: str, status: str, reason: str = "") -> None:
        super().__init__(f"the run {run!r} is {status}" + (f": {reason}" if reason else ""))
        self.run = run
        self.status = status
        """``failed``, ``cancelled``, ``parked`` or ``stranded``."""
        self.reason = reason


class EncodeError(RightcallError):
    """A vendor's format cannot express the request: which dialect, which part, and what to do."""

    code = "encode"

    def __init__(self, dialect: str, reason: str, *, where: str = "") -> None:
        super().__init__(f"{dialect}{f', {where}' if where else ''}: {reason}")
        self.dialect = dialect
        self.reason = reason
        self.where = where
        """The tool, message or option at fault."""


class ProtocolError(RightcallError):
    """A vendor's response breaks its format."""

    code = "protocol"
    kind: ErrorKind = "protocol"


class TruncatedStream(ProtocolError):
    """A stream ended before its own end marker."""

    code = "truncated_stream"


class VendorError(RightcallError):
    """A vendor refused a request with a well-formed error.

    ``str(error)`` has the provider, the status, the vendor's message, when to retry, and the request id;
    ``message`` is only the vendor's message.
    """

    code = "vendor"

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind | None = None,
        status: int | None = None,
        vendor_code: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str = "",
        body: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind_of_status(status) if kind is None else kind
        """What it means, in one word that is the same for every vendor."""
        self.status = status
        self.vendor_code = vendor_code
        """The vendor's own error code."""
        self.retryable = retryable
        self.retry_after = retry_after
        """Seconds that the vendor asks to wait; None if it does not say."""
        self.request_id = request_id
        self.body = body
        """The beginning of the response, with secrets redacted."""
        self.provider = ""
        """Who refused: a provider's name, or a host. The model that was asked fills it in."""

    @property
    def message(self) -> str:
        """The vendor's message."""
        return str(self.args[0])

    def __str__(self) -> str:
        message = self.message
        head = []
        if self.status and not message.startswith("HTTP "):
            head.append(f"HTTP {self.status}")
        if self.vendor_code != str(self.status) and self.vendor_code not in message:
            head.append(self.vendor_code)
        tail = []
        if self.retry_after is not None:
            tail.append(f"retry after {self.retry_after:g} s")
        if self.request_id:
            tail.append(f"request {self.request_id}")
        words = ": ".join(filter(None, (self.provider, " ".join(head), message)))
        if tail:
            return f"{words} ({'; '.join(tail)})"
        return words


class TransportError(RightcallError):
    """A model could not be reached, or the connection was lost."""

    code = "transport"
    kind: ErrorKind = "connection"

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable
        """False if it will not be reached later either: nobody trusts its certificate, for example."""


class TransportTimeout(TransportError):
    """A model took too long."""

    code = "transport_timeout"
    kind = "timeout"


class LimitReached(RightcallError):
    """A run that had to give an answer ended without one; ``result`` has the run so far."""

    code = "limit"


class NoOutput(RightcallError):
    """A run that was asked for an output ended without one; ``result`` has the run, and its ``stop``.

    For a run that waits for a person's decisions, only ``result.output`` raises it.
    """

    code = "no_output"


class ToolFailure(RightcallError):
    """Raise it inside a tool for a failure you expect; the model reads the message and adapts.

    ``retryable=True`` says that the same call may succeed later: it is retried, with backoff, up to the
    tool's ``limits.retries``, before the model reads of it. ``own=True`` says that the message contains
    no untrusted text: it is shown without an envelope even if the tool's results are untrusted.
    """

    code = "tool_failure"

    def __init__(self, message: str, *, retryable: bool = False, own: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.own = own
