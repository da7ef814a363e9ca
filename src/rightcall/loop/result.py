"""The result of a run, and the check whether its answer has the required form."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from msgspec import UNSET, DecodeError, Struct, UnsetType, json, to_builtins
from msgspec.structs import replace
from typing_extensions import TypeForm, TypeVar

from rightcall.core.budget import Stop
from rightcall.core.entry import CallDropped, Entry
from rightcall.core.lazy import pattern
from rightcall.core.message import Citation, Reply, Results, Transcript
from rightcall.core.options import other_words
from rightcall.core.outcome import Invalid, OutcomeKind
from rightcall.core.parts import Call, Media, Result, Usage
from rightcall.core.proposal import Proposal
from rightcall.core.sanitize import encodable_json
from rightcall.core.tool import CheckedCall, Tool
from rightcall.declare.output import AnswerForm, form_of
from rightcall.errors import NoOutput, UsageError
from rightcall.gate.call_check import Refused, check
from rightcall.loop.state import PLAN, State, total_usage

Out = TypeVar("Out", default=Any)
T = TypeVar("T")

BAD_ANSWER = (
    "Your answer does not have the form that is asked for:\n{problems}\nGive the whole answer again."
)

REFUSED_ANSWER = "Your answer was not accepted: {problem}\nGive the whole answer again."

_AGAIN = "\nGive the whole answer again."
_LONGEST_MISFIT = 1000
"""Characters of what was wrong with an answer that an error quotes."""
_SHOWN = 60
"""Characters of an answer that a result's repr shows."""
_LOADS = pattern(r"<(?=[A-Za-z/!?])|!(?=\[)")
"""Where HTML or an image begins in Markdown."""
_DRAWS = pattern(r"(?<![`~])(`{3,}+|~{3,}+)(?=[ \t]*+[^\n]{0,20}?(?:mermaid|[&\\]))", re.IGNORECASE)
"""Where a block begins that notebooks draw by Mermaid, whose nodes may be images of any address. The
block's language may be written by entities."""
_FENCED = re.compile(r"\s*```[A-Za-z]*\n(.*)\n```\s*", re.DOTALL)


class CallRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a run, with its outcome and result."""

    call: Call
    result: Result
    seconds: float = 0.0
    attempts: int = 0
    error: str = ""
    """What the tool raised, such as ``ValueError: no account 7``, with secrets redacted. Empty for a
    ToolFailure, whose message is in the result. The traceback is in the log and in the journal."""

    @property
    def name(self) -> str:
        """The tool that was called."""
        return self.call.name

    @property
    def arguments(self) -> str:
        """The arguments, as the model wrote them."""
        return self.call.arguments

    @property
    def outcome(self) -> OutcomeKind:
        """What happened, in one word."""
        return self.result.outcome


def dropped_in(entries: Iterable[Entry]) -> tuple[CallRecord, ...]:
    """Returns the recorded calls that were started early and not used."""
    found = [entry for entry in entries if isinstance(entry, CallDropped)]
    return tuple(
        [
            CallRecord(
                call=entry.call,
                result=entry.result,
                seconds=entry.seconds,
                attempts=entry.attempts,
                error=entry.cause or last_line(entry.error),
            )
            for entry in found
        ]
    )


class PlanRecord(Struct, frozen=True, kw_only=True):
    """The plan of a planned run."""

    source: str
    """The program, in its last version."""
    calls: tuple[CallRecord, ...]
    """The calls that it made, in order."""
    earlier: tuple[str, ...] = ()
    """The earlier versions, which had to be repaired."""
    ordinary: str = ""
    """Why the run continued without a plan, under the ordinary rules; empty if it did not."""


class RunResult(Struct, Generic[Out], frozen=True, kw_only=True, omit_defaults=True):
    """The result of a run. Pass ``transcript`` as the next run's ``history`` to continue."""

    run: str
    """The run's name in the journal."""
    stop: Stop
    state: State
    """The state of the run at its end: enough to continue it."""
    begins: int = 0
    """Where in the transcript this run's own messages begin."""
    calls: tuple[CallRecord, ...] = ()
    dropped: tuple[CallRecord, ...] = ()
    """Calls that were started while a reply still streamed, and whose results were not used: the reply
    broke off, or does not contain them as they were started, or they were not to be run."""
    pending: tuple[Proposal, ...] = ()
    """Calls that wait for approval, if ``stop.reason`` is ``pending``."""
    conversation: str = ""
    """The id of the conversation that it was said in, if the agent stores ``conversations``."""
    value: Out | UnsetType = UNSET
    """The validated structured answer, if there is one; read it as ``output``."""

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = other_words(
            {
                **dict.fromkeys(["all_messages", "messages", "history"], "result.transcript"),
                "to_input_list": "result.transcript",
                "new_messages": "result.transcript[result.begins:]",
                "all_messages_json": "result.to_json()",
                **dict.fromkeys(["final_output", "content", "choices"], "result.text or result.output"),
                "output_text": "result.text",
                "tool_calls": "result.calls",
                **dict.fromkeys(["finish_reason", "stop_reason"], "result.stop.reason"),
                "cost": "result.usage.cost",
                **dict.fromkeys(["data", "structured_response", "parsed"], "result.output"),
                "interruptions": "result.pending",
            }
        )

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents that the run was handed over to, in order."""
        return self.state.path

    @property
    def transcript(self) -> Transcript:
        """All messages, including the history that the run started with."""
        return self.state.messages

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The model's replies in this run."""
        return tuple(m for m in self.transcript[self.begins :] if isinstance(m, Reply))

    @property
    def output(self) -> Out:
        """The answer, of the type that was asked for; of an agent without ``output=`` it is the text.

        Raises NoOutput if the run has not given it, because it waits for a person or ended without it.
        """
        if self.value is not UNSET:
            return self.value
        if self.state.wanted is None:
            return cast("Out", self.text)
        if self.stop.reason == "output":
            raise UsageError(
                "this result was loaded without the type of its output: "
                "RunResult.from_json(data, output=…) takes it"
            )
        raise no_output_error(self)

    @property
    def text(self) -> str:
        """The answer: the text of the last reply."""
        replies = self.replies
        if replies:
            return replies[-1].text
        return ""

    @property
    def plan(self) -> PlanRecord | None:
        """The plan of a planned run, and its calls; None for an ordinary run."""
        steps = [(_plan_step(reply), reply) for reply in self.replies]
        sources = [reply.text for step, reply in steps if step == "source"]
        ordinary = [reply.text for step, reply in steps if step == "ordinary"]
        if not sources and not ordinary:
            return None
        ids = {call.id for step, reply in steps if step == "call" for call in reply.calls}
        return PlanRecord(
            source=sources[-1] if sources else "",
            calls=tuple([each for each in self.calls if each.call.id in ids]),
            earlier=tuple(sources[:-1]),
            ordinary=ordinary[-1] if ordinary else "",
        )

    @property
    def reasoning(self) -> str:
        """The model's reasoning in this run, as far as the vendor shows it."""
        return "".join(reply.reasoning for reply in self.replies)

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, audio and files that the model produced in this run, in order."""
        return tuple(media for reply in self.replies for media in reply.media)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources of the answer, if the vendor gives them; spans refer to ``text``."""
        replies = self.replies
        if replies:
            return replies[-1].citations
        return ()

    @property
    def usage(self) -> Usage:
        """Tokens and cost of the run, including subagents."""
        return total_usage(self.state)

    @property
    def turns(self) -> tuple[Usage, ...]:
        """Tokens and cost of each of the model's replies."""
        return tuple(reply.usage for reply in self.replies)

    @property
    def models(self) -> tuple[str, ...]:
        """Which model gave each reply: its name in ``fallback``, or the vendor's name for it."""
        return tuple(reply.answered_by or reply.model for reply in self.replies)

    def __repr__(self) -> str:
        fields = [
            f"stop={str(self.stop)!r}",
            f"text={_shorten(self.text)!r}",
            f"calls={len(self.calls)}",
        ]
        if self.value is not UNSET:
            fields.append(f"output={_shorten(repr(self.value))}")
        if self.pending:
            fields.append(f"pending={len(self.pending)}")
        cost = self.usage.cost
        if cost is not None:
            fields.append(f"cost={cost:.4g}")
        return f"RunResult({', '.join(fields)})"

    def _repr_markdown_(self) -> str:
        """What waits for a person, the answer, and a line about the run, for notebooks.

        A notebook would load an image or a page that the answer names, and send with its address
        whatever the model was led to put there. So neither HTML nor images nor diagrams work.
        """
        # What waits comes first: a code block that the answer leaves open would swallow it.
        parts: list[str] = []
        for proposal in self.pending:
            parts.append(f"```text\n{proposal}\n```")
        answer = _LOADS.sub(lambda found: f"{found[0]} ", self.text)
        parts.append(_DRAWS.sub(r"\1text ", answer))
        usage = self.usage
        calls = "1 call" if len(self.calls) == 1 else f"{len(self.calls)} calls"
        facts = [str(self.stop), calls, f"{usage.tokens:,} tokens"]
        if usage.cost is not None:
            facts.append(f"{usage.cost:.4g} US dollars")
        # The reason of a stop may be a vendor's or a hook's words.
        parts.append("`" + ", ".join(facts).replace("`", "'").replace("\n", " ") + "`")
        return "\n\n".join(filter(None, parts))

    def to_json(self) -> bytes:
        """The result as JSON: enough to resume the run elsewhere, and to read its output again."""
        plain = replace(self, value=UNSET)
        try:
            return json.encode(plain)
        except UnicodeEncodeError:
            # There is half a surrogate pair somewhere. A run with a replacement character in it is
            # better than one that cannot be stored.
            return json.encode(encodable_json(to_builtins(plain)))

    @overload
    @staticmethod
    def from_json(data: bytes | str) -> "RunResult[Any]": ...

    @overload
    @staticmethod
    def from_json(data: bytes | str, *, output: TypeForm[T]) -> "RunResult[T]": ...

    @staticmethod
    def from_json(data: bytes | str, *, output: Any = None) -> "RunResult[Any]":
        """Load a result that ``to_json`` wrote. Pass the agent's ``output`` to restore the output."""
        try:
            result: RunResult[Any] = json.decode(data, type=RunResult)
        except DecodeError as error:
            raise UsageError(f"this is not what RunResult.to_json wrote: {error}") from error
        if output is None:
            return result
        return with_output(result, form_of(output))


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN - 1]}…"


def _plan_step(reply: Reply) -> object:
    bag = reply.vendor.get(PLAN)
    if isinstance(bag, dict):
        return bag.get("step")
    return None


def with_output(result: RunResult[Any], form: AnswerForm) -> RunResult[Any]:
    """Returns the result with its run's output, read from the transcript."""
    if result.stop.reason != "output":
        if form.output.on_no_output == "return" and result.stop.reason != "pending":
            return replace(result, value=None)
        return result
    text = result.text
    wanted = result.state.wanted
    if wanted is not None and wanted.mode == "tool":
        given = [call for call in result.calls if call.name == wanted.tool]
        text = next(call.arguments for call in reversed(given) if call.outcome == "returned")
    verdict = judge(form.tool, text)
    if not isinstance(verdict, CheckedCall):
        raise UsageError(f"the run's output is not of this form: {'; '.join(_problems(verdict))}")
    return replace(result, value=form.value(verdict.bound))


def require_output(result: RunResult[Any]) -> RunResult[Any]:
    """Returns the result of a run; raises NoOutput if it ended without the output it was asked for."""
    is_missing = result.value is UNSET and result.state.wanted is not None
    if is_missing and result.stop.reason not in ("pending", "output"):
        raise no_output_error(result)
    return result


def no_output_error(result: RunResult[Any]) -> NoOutput:
    """Returns the error for a result that has no output."""
    if result.stop.reason == "pending":
        error = NoOutput("the run has no output yet: it waits for decisions, which agent.resume takes")
    else:
        why = str(result.stop)
        if result.stop.reason == "no_output":
            why = f"{result.stop.detail}; the last attempt: {_last_misfit(result)}"
        error = NoOutput(f"the run ended without the output that it was asked for: {why}")
    error.result = result
    return error


def _last_misfit(result: RunResult[Any]) -> str:
    """Returns what was wrong with the model's last attempt at the output, as the model was told."""
    wanted = result.state.wanted
    assert wanted is not None
    if wanted.mode != "tool":
        told = result.state.progress.note.removesuffix(_AGAIN)
    else:
        told = f"the model did not call {wanted.tool}"
        last = result.transcript[-1]
        results = last.results if isinstance(last, Results) else ()
        for each in results:
            if each.name == wanted.tool and each.outcome != "returned":
                told = each.text
    if len(told) <= _LONGEST_MISFIT:
        return told
    return f"{told[: _LONGEST_MISFIT - 1]}…"


class RunEnd(Struct, Generic[Out], frozen=True):
    """The run is over; the last event of a run's stream."""

    result: RunResult[Out]


class Only:
    """A toolbox with one tool."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def get(self, name: str) -> Tool | None:
        """Returns the tool if the name is its own."""
        if name == self._tool.name:
            return self._tool
        return None

    def names(self) -> tuple[str, ...]:
        """Returns its name."""
        return (self._tool.name,)


def judge(answer: Tool, text: str) -> CheckedCall | Refused:
    """Check an answer as if it were the arguments of a call. A code fence around it is removed."""
    fenced = _FENCED.fullmatch(text)
    arguments = fenced[1] if fenced else text
    # Empty text would pass for a form without required fields; it is not an answer.
    text = arguments if arguments.strip() else "null"
    # A strict schema may have forced nulls for fields that are left out.
    call = Call(id="answer", name=answer.name, arguments=text, nulls=True)
    return check(call, Only(answer))


def describe_misfit(verdict: Refused) -> str:
    """Returns the message for the model about an answer that does not have the form."""
    return BAD_ANSWER.format(problems="\n".join(f"- {problem}" for problem in _problems(verdict)))


def _problems(verdict: Refused) -> list[str]:
    if isinstance(verdict, Invalid):
        return [str(problem) for problem in verdict.problems]
    return []


def last_line(trace: str) -> str:
    """Returns the exception's last line from a traceback: older journals record nothing else."""
    return trace.rstrip().rpartition("\n")[2]
