"""A served call into the entries of a journal: a run of its own, with one turn and one call in it.

The request of the client stands where a model's reply would, so that whatever reads the records of
agents reads these.
"""

from msgspec.structs import replace

from rightcall.core.budget import Budget, Stop
from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import FinalDecision
from rightcall.core.entry import (
    CallChecked,
    CallDecided,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
)
from rightcall.core.message import Reply
from rightcall.core.outcome import Failed, Outcome
from rightcall.core.ports import Journal
from rightcall.core.tool import Tool
from rightcall.core.usage import Usage
from rightcall.gate.gate import Execution

_MODEL = "t1.model"


class Record:
    """What is written of one call. Without a journal, nothing."""

    def __init__(self, journal: Journal | None, run: str, call: Call) -> None:
        self._journal = journal
        self._run = run
        self._call = call
        self._key = f"t1.0.{call.name}"
        self._is_over = False
        self.spent: list[Usage] = []
        """What the call itself spends on models."""

    @property
    def key(self) -> str:
        """Names the call, and stays the same when it is made again with a client's answers."""
        return f"{self._run}.{self._key}"

    def began(self, tool: Tool | None, client: str, user: str) -> None:
        """The client asked for the call, on behalf of a user where that is known."""
        if self._journal is None:
            return
        specs = () if tool is None else (tool.spec,)
        self._append(RunStarted(messages=(), budget=Budget(), specs=specs))
        asking = f"mcp {client}".rstrip() + (f" for {user}" if user else "")
        reply = Reply((self._call,), "calls", model=asking)
        self._append(ReplyReceived(key=_MODEL, reply=reply, seconds=0.0))

    def checked(self, verdict: CheckedCall | Outcome) -> None:
        """The call went through the gate."""
        if self._journal is None:
            return
        refused = None if isinstance(verdict, CheckedCall) else verdict.kind
        repairs = verdict.repairs if isinstance(verdict, CheckedCall) else ()
        self._append(CallChecked(key=self._key, call_id=self._call.id, refused=refused, repairs=repairs))

    def decided(self, decision: FinalDecision, *, by_person: bool) -> None:
        """A policy or a person decided about it."""
        by = "person" if by_person else "policy"
        self._append(
            CallDecided(key=self._key, call_id=self._call.id, decision=decision, by=by)  # type: ignore[arg-type]
        )

    def started(self) -> None:
        """It is about to run."""
        self._append(CallStarted(key=self._key, call_id=self._call.id))

    def paused(self) -> None:
        """It waits for what the client was asked."""
        self._append(RunPaused(key=f"{self._key}.asked", call_ids=(self._call.id,)))

    def resumed(self) -> None:
        """The client made the call again, with answers."""
        self._append(RunResumed(decisions={}))

    def finished(self, execution: Execution) -> None:
        """It has its result, and with that the run its end. Only the first end counts."""
        if self._journal is None or self._is_over:
            return
        self._is_over = True
        outcome = execution.outcome
        self._append(
            CallFinished(
                key=self._key,
                result=replace(execution.result, call_id=self._call.id),
                seconds=execution.seconds,
                attempts=execution.attempts,
                usage=sum(self.spent, Usage()) if self.spent else None,
                error=outcome.error if isinstance(outcome, Failed) else "",
            )
        )
        self._append(RunEnded(stop=Stop("end")))

    def _append(self, entry: Entry) -> None:
        if self._journal is not None:
            self._journal.append(self._run, entry)
