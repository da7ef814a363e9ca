"""A run's events into what it has come to so far, whether or not it comes to its end."""

from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.cli.exits import INTERRUPTED, NO_ANSWER, OK
from rightcall.core.budget import Stop
from rightcall.core.call import Call
from rightcall.core.events import (
    CallEnd,
    ReplyEnd,
    ResultEnd,
    TextDelta,
    TurnStart,
)
from rightcall.core.history import mend
from rightcall.core.message import Message, Reply, Results, Transcript, said
from rightcall.core.parts import Text
from rightcall.core.usage import Usage
from rightcall.errors import RightcallError
from rightcall.loop.events import Event
from rightcall.loop.result import CallRecord, RunEnd, RunResult

if TYPE_CHECKING:
    from rightcall.core.result import Result

INTERRUPTION = "interrupted"


class Summary(Struct, frozen=True, kw_only=True):
    """What a run came to: its end, or how far it got."""

    text: str
    """The answer, or as much of it as there is."""
    reason: str
    """Why it ended: a Stop's reason, or ``interrupted``."""
    limit: str | None = None
    detail: str = ""
    calls: tuple[CallRecord, ...] = ()
    usage: Usage = Usage()
    turns: int = 0
    seconds: float = 0.0
    transcript: Transcript = ()
    """What a next run can go on from; every call in it has its result."""
    run: str = ""
    """The run's name in the journal, where the run lived to say it."""

    @property
    def is_answer(self) -> bool:
        """Whether the model said what it had to say."""
        return not self.trouble

    @property
    def trouble(self) -> str:
        """Why this is no answer, in words; empty when it is one."""
        match self.reason:
            case "end" | "stop_sequence":
                return ""
            case "output" if not self.detail:
                return ""
            case "limit":
                return f"the run reached its limit of {self.limit}"
            case "length":
                return "the reply reached its limit of tokens and is cut off"
            case "refusal":
                return "the model refused"
            case "filtered":
                return "the vendor's filter stopped the reply"
            case "error":
                return self.detail or "the reply broke off"
            case _:
                return f"{self.reason}: {self.detail}" if self.detail else self.reason

    @property
    def code(self) -> int:
        """The exit code that says the same."""
        if self.reason == INTERRUPTION:
            return INTERRUPTED
        return OK if self.is_answer else NO_ANSWER


class Progress:
    """Follows a run by its events, from what was said before it."""

    def __init__(self, prompt: str = "", history: Transcript = ()) -> None:
        self._messages: list[Message] = [*history, said(prompt)]
        self._calls: dict[str, Call] = {}
        self._records: list[CallRecord] = []
        self._results: list[Result] = []
        self._draft: list[str] = []
        self._usage = Usage()
        self._turns = 0
        self._result: RunResult | None = None

    def see(self, event: Event) -> None:
        """Take in the next event."""
        match event:
            case TurnStart(turn):
                self._settle()
                self._turns = turn
            case TextDelta(text):
                self._draft.append(text)
            case CallEnd(_, call):
                self._calls[call.id] = call
            case ReplyEnd(reply):
                self._draft = []
                self._messages.append(reply)
                self._usage += reply.usage
                self._calls.update((call.id, call) for call in reply.calls)
            case ResultEnd(result, seconds):
                self._results.append(result)
                call = self._calls.get(result.call_id) or Call(id=result.call_id, name=result.name)
                self._records.append(CallRecord(call=call, result=result, seconds=seconds))
            case RunEnd(result):
                self._result = result
            case _:
                pass

    def ended(self, seconds: float, error: RightcallError | None = None) -> Summary:
        """The run's summary, after RunEnd or after the error that ended it."""
        result = self._result if error is None else error.result
        if isinstance(result, RunResult):
            return _of(result, result.stop, seconds)
        stop = Stop("error", detail="the run ended without its end" if error is None else str(error))
        return self._so_far(stop.reason, stop.detail, seconds)

    def interrupted(self, seconds: float) -> Summary:
        """What there is of a run that somebody stopped."""
        return self._so_far(INTERRUPTION, "", seconds)

    def _so_far(self, reason: str, detail: str, seconds: float) -> Summary:
        self._settle()
        last = self._messages[-1]
        return Summary(
            text=last.text if isinstance(last, Reply) else "",
            reason=reason,
            detail=detail,
            calls=tuple(self._records),
            usage=self._usage,
            turns=self._turns,
            seconds=seconds,
            transcript=mend(self._messages).messages,
        )

    def _settle(self) -> None:
        """Put what came since the last message into messages.

        Of a reply that never came to its end there are only words: its calls were not run.
        """
        if self._results:
            self._messages.append(Results(tuple(self._results)))
            self._results = []
        if text := "".join(self._draft):
            self._messages.append(Reply((Text(text),), "error"))
            self._draft = []


def _of(result: RunResult, stop: Stop, seconds: float) -> Summary:
    return Summary(
        text=result.text,
        reason=stop.reason,
        limit=stop.limit,
        detail=stop.detail,
        calls=result.calls,
        usage=result.usage,
        turns=len(result.turns),
        seconds=seconds,
        transcript=mend(result.transcript).messages,
        run=result.run,
    )
