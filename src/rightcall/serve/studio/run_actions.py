"""What a studio may do to runs: decide, fork, replay, chat, stop.

A decision is recorded first, under the run's lock, so that of two people one is first and the other is
told; the agent then continues from the record, as after a crash.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from os import urandom
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.conversation.inbox import Inbox
from rightcall.core.decision import Allow, Deny, FinalDecision, Rewrite
from rightcall.core.entry import Entry, RequestSent, RunPaused, RunResumed, RunStarted
from rightcall.core.events import CallDelta, CallStart, OutputDelta, ReasoningDelta, TextDelta, TurnStart
from rightcall.core.history import mend
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.message import Transcript, User, user_text
from rightcall.core.outcome import Invalid
from rightcall.core.parts import Call, Media, Text
from rightcall.core.problem import Problem
from rightcall.core.proposal import Proposal
from rightcall.core.schema import Schema, SchemaError
from rightcall.core.tool import CheckedCall
from rightcall.errors import AlreadyDecided, RightcallError, RunHeld, UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.call_check import check
from rightcall.gate.execution import not_run
from rightcall.gate.executor import Executor
from rightcall.gate.gate import Gate, validate_decisions
from rightcall.log import logger
from rightcall.loop.replay import check_standing, replay
from rightcall.loop.result import RunResult
from rightcall.models.connect import connect
from rightcall.record.redact import redact_secrets
from rightcall.record.steps import Holding, append, decisions_in, entries_of
from rightcall.serve.studio.agents import StudioAgent
from rightcall.serve.studio.live import Subscribers
from rightcall.serve.studio.pending_calls import is_clients, proposal_json
from rightcall.serve.studio.run_items import items_of
from rightcall.serve.studio.run_reader import RunReader
from rightcall.serve.studio.run_view import retrace_aside, start_of, without_secrets
from rightcall.serve.studio.sources import DecidingJournal, SubmittingJournal
from rightcall.serve.studio.to_json import Json, result_json

MOST_RUNS = 32
"""Runs of this process that may be under way at once."""
_FROM_A_TURN = (
    "a durable run is forked from before a turn, and with nothing changed: its workers go on from the "
    "steps that the store has"
)
_OWN_MODEL = "a durable run is carried out by the store's workers, with the model that their agent has"
_SOON = 0.25
"""Seconds to wait for the error of a run that cannot start at all."""
_LOOKS = 20
_BETWEEN_LOOKS = 0.05
"""How often, and after how many seconds each, a run that another process holds is read again."""


class NoAgent(Exception):
    """An agent is needed, and none was given."""


class NotFitting(Exception):
    """Changed arguments that the tool does not accept."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("the changed arguments do not fit the tool's schema")
        self.problems = problems


class Forking(Struct, frozen=True, kw_only=True):
    """Where a new run departs from an old one, and what it changes."""

    before_turn: int | None = None
    message: tuple[int, str] | None = None
    """The index of a message, and the text to put there; nothing that followed it is kept."""
    say: str = ""
    """A user message to add after everything before that turn."""
    name: str = ""


class RunActions:
    """The runs that are executed in this process."""

    def __init__(self, reader: RunReader, subscribers: Subscribers) -> None:
        self._reader = reader
        self._subscribers = subscribers
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._inboxes: dict[str, Inbox] = {}
        """Where messages to the runs of this process are added."""

    async def decide(self, run: str, pause: str, given: Mapping[str, FinalDecision]) -> str:
        """Record a person's decisions, and continue the run if its agent is here."""
        journal = self._reader.source.journal()
        if isinstance(journal, DecidingJournal):
            entries = tuple(await entries_of(journal, run))
            if pause and pause != _pause_of(entries):
                raise AlreadyDecided(run, decisions_in(entries))
            result = (await retrace_aside(entries, run)).result
            self._check_changes(result, validate_decisions(result.pending, given), entries)
            await journal.decide(run, given)
            await self._reader.catch_up()
            return "resumed"
        try:
            written = await self._decide_held(run, pause, given)
        except RunHeld:
            # Another studio holds a run while it writes a decision: its person was faster, if whoever
            # holds the run ends its pause within a moment.
            for _ in range(_LOOKS if pause else 0):
                entries = tuple(await entries_of(journal, run))
                if _pause_of(entries) != pause:
                    raise AlreadyDecided(run, decisions_in(entries)) from None
                await asyncio.sleep(_BETWEEN_LOOKS)
            raise
        here = self._agent_for(written)
        if here is None:
            return "recorded"
        await self._go_on(run, here, None)
        return "resumed"

    async def _decide_held(
        self, run: str, pause: str, given: Mapping[str, FinalDecision]
    ) -> Sequence[Entry]:
        """Write the decisions while nobody else can write to the run; its entries before that."""
        async with Holding(self._reader.source.journal(), run) as held:
            result = (await retrace_aside(held.entries, run)).result
            stands = decisions_in(held.entries)
            if not result.pending or not (at := _pause_of(held.entries)) or pause not in ("", at):
                raise AlreadyDecided(run, stands)
            if is_clients(at):
                raise UsageError("the client of an MCP server is asked about this call, and nobody else")
            decided = validate_decisions(result.pending, given)
            check_standing(result, decided, stands)
            self._check_changes(result, decided, held.entries)
            key = f"t{result.state.progress.turns}.resumed"
            await held.steps().note(key, RunResumed(decisions=decided))
        return held.entries

    def _check_changes(
        self, result: RunResult[Any], decided: Mapping[str, FinalDecision], entries: Sequence[Entry]
    ) -> None:
        """Refuse changed arguments that the tool does not accept, while they can be corrected."""
        names = {each.call_id: each.name for each in result.pending}
        here = self._agent_for(entries)
        start = start_of(entries)
        for call_id, decision in decided.items():
            if not isinstance(decision, Rewrite):
                continue
            name = names[call_id]
            arguments = decision.arguments
            if here is not None and here.agent.tools.get(name) is not None:
                verdict = check(Call(id="1", name=name, arguments=dump(arguments)), here.agent.tools)
                if not isinstance(verdict, CheckedCall):
                    raise NotFitting(verdict.problems if isinstance(verdict, Invalid) else ())
                continue
            # The agent is not here: only the recorded schema is known, and it may be unusable.
            for spec in start.specs if start else ():
                if spec.name == name:
                    with suppress(SchemaError):
                        if problems := Schema(spec.parameters).problems(arguments):
                            raise NotFitting(tuple(problems))

    async def fork(self, run: str, forking: Forking, model: str, agent: str) -> tuple[str, str]:
        """Begin a new run from part of another; returns its name, and whether it continues here."""
        journal = self._reader.source.journal()
        entries = tuple(await entries_of(journal, run))
        new = forking.name or f"{run[:60]}-fork-{urandom(3).hex()}"
        if await entries_of(journal, new):
            raise UsageError(f"there is a run {new!r} already; name another")
        if isinstance(journal, SubmittingJournal):
            if forking.before_turn is None or forking.message or forking.say or model:
                raise UsageError(_FROM_A_TURN)
            await journal.fork(run, forking.before_turn, new)
            await self._reader.catch_up()
            return new, "queued"
        head = await _head(entries, run, forking)
        here = self._reader.find_agent(agent) if agent else self._agent_for(entries)
        for entry in head:
            await append(journal, new, entry)
        if here is None:
            await self._reader.catch_up()
            return new, "recorded"
        await self._go_on(new, here, model or None)
        return new, "running"

    async def replay(self, run: str, model: str, agent: str, *, live_tools: bool) -> Json:
        """Replay a run; without a model and live tools nothing outside is called."""
        journal = self._reader.source.journal()
        entries = await entries_of(journal, run)
        recorded = (await retrace_aside(entries, run)).result.transcript
        here = self._reader.find_agent(agent) if agent else self._agent_for(entries)
        tools = None
        if live_tools:
            if here is None:
                raise NoAgent
            tools = here.agent.tools
        if live_tools and here is not None:
            tools = here.agent.tools
        else:
            tools = None
        opened = connect(model) if model else None
        try:
            result = await replay(journal, run, model=opened, tools=tools)
        finally:
            if opened is not None:
                await opened.close()
        again = result.transcript
        first = None
        for number, (message, earlier) in enumerate(zip_longest(again, recorded)):
            if message != earlier:
                first = number
                break
        told = "as recorded" if first is None else "not as recorded"
        (start,) = without_secrets([RunStarted(messages=again, budget=result.state.budget)])
        return {
            "same": first is None,
            "words": f"{len(again)} messages, {told}: {result.stop}",
            "first": first,
            "items": items_of([(start, None)], run),
            "stop": result.stop.reason,
        }

    async def chat(
        self, here: StudioAgent, prompt: str, after: str | None, model: str, *, dry_run: bool
    ) -> str:
        """Begin a run with a user's message; returns its name at once."""
        journal = self._reader.source.journal()
        run = urandom(16).hex()
        history: Transcript = ()
        if after:
            entries = tuple(await entries_of(journal, after))
            history = mend((await retrace_aside(entries, after)).result.transcript).messages
        if isinstance(journal, SubmittingJournal):
            if model:
                raise UsageError(_OWN_MODEL)
            await journal.submit(here.name, prompt, run, history, dry_run=dry_run)
            await self._reader.catch_up()
            return run
        inbox = self._inboxes[run] = Inbox()
        options: dict[str, Any] = {
            "run": run,
            "history": history,
            "dry_run": dry_run,
            "inbox": inbox,
        }
        if model:
            options["model"] = model
        agent = here.keep_in(journal)

        async def talk() -> None:
            async for event in agent.stream(prompt, **options):
                self._tell(run, event)

        await self._begin(run, talk())
        return run

    async def say(self, run: str, text: str, *, now: bool) -> bool:
        """Add a message to a run that goes on; False if it is not this studio's to add to."""
        journal = self._reader.source.journal()
        if isinstance(journal, SubmittingJournal):
            await journal.say(run, text, now=now)
        elif run in self._inboxes:
            await self._inboxes[run].say(text, now=now)
        else:
            return False
        await self._reader.catch_up()
        return True

    async def stop(self, run: str) -> bool:
        """Cancel a run of this process; False if it is not one."""
        task = self._tasks.get(run)
        if task is None:
            return False
        task.cancel()
        return True

    async def close(self) -> None:
        """Cancel what is under way: it is recorded, and can be resumed."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _agent_for(self, entries: Sequence[Entry]) -> StudioAgent | None:
        start = start_of(entries)
        return self._reader.find_agent(start.agent if start else "")

    async def _go_on(self, run: str, here: StudioAgent, model: str | None) -> None:
        agent = here.keep_in(self._reader.source.journal())
        inbox = self._inboxes[run] = Inbox()
        options: dict[str, Any] = {"inbox": inbox}
        if model is not None:
            options["model"] = model

        async def recover() -> None:
            await agent.recover(run, wait=5.0, **options)

        await self._begin(run, recover())

    async def _begin(self, run: str, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background; an error that keeps it from starting is raised here."""
        if len(self._tasks) >= MOST_RUNS:
            work.close()
            raise UsageError(f"{MOST_RUNS} runs are under way here; wait for one to end")
        task = asyncio.create_task(work, name=f"studio run {run}")
        self._tasks[run] = task
        self._reader.stopped.discard(run)

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.pop(run, None)
            if (inbox := self._inboxes.pop(run, None)) is not None:
                inbox.end()
            if task.cancelled():
                self._reader.stopped.add(run)
            elif (error := task.exception()) is not None:
                logger.warning("run %s ended here with an error: %s", run, error)
            self._subscribers.tell(run, None)

        task.add_done_callback(end)
        done, _ = await asyncio.wait({task}, timeout=_SOON)
        await self._reader.catch_up()
        if done and not task.cancelled() and isinstance(error := task.exception(), RightcallError):
            raise error

    def _tell(self, run: str, event: object) -> None:
        """Send streamed pieces to watchers."""
        piece: Json = {"index": 0, "text": "", "name": ""}
        match event:
            case TextDelta(text) | OutputDelta(text, index=None):
                piece |= {"kind": "text", "text": text}
            case ReasoningDelta(text):
                piece |= {"kind": "reasoning", "text": text}
            case CallStart(index, name):
                piece |= {"kind": "call", "index": index, "name": name}
            case CallDelta(index, text):
                piece |= {"kind": "call", "index": index, "text": text}
            case TurnStart(turn):
                piece |= {"kind": "start", "turn": turn}
            case _:
                return
        self._subscribers.tell(run, piece)


def _pause_of(entries: Sequence[Entry]) -> str:
    """The key of the pause that a run is in; empty if it does not wait."""
    key = ""
    for entry in entries:
        if isinstance(entry, RunPaused):
            key = entry.key
        elif isinstance(entry, RunResumed):
            key = ""
    return key


async def _head(entries: tuple[Entry, ...], run: str, forking: Forking) -> list[Entry]:
    """The entries that the new run begins with."""
    start = start_of(entries)
    if start is None:
        raise UsageError("this run has no beginning, so that it cannot be forked")
    if forking.message is not None:
        index, text = forking.message
        if not 0 <= index < len(start.messages):
            raise UsageError(f"there is no message {index}; the run began with {len(start.messages)}")
        message = start.messages[index]
        if not isinstance(message, User):
            raise UsageError(f"message {index} is not the user's, and only those can be edited")
        media = [part for part in message.content if isinstance(part, Media)]
        changed = replace(message, content=(*media, Text(text)))
        return [replace(start, messages=(*start.messages[:index], changed), parent=run)]
    turn = forking.before_turn or 1
    at = None
    for number, entry in enumerate(entries):
        if isinstance(entry, RequestSent) and entry.key == f"t{turn}.model":
            at = number
            break
    if at is None:
        raise UsageError(f"run {run!r} has no turn {turn}")
    if forking.say:
        request = (await retrace_aside(entries[:at], run)).requests.get(f"t{turn}.model")
        before = request.messages if request else start.messages
        return [replace(start, messages=(*before, user_text(forking.say)), parent=run)]
    head: list[Entry] = []
    for entry in entries[:at]:
        if isinstance(entry, RunStarted):
            head.append(replace(entry, parent=run))
        else:
            head.append(entry)
    return head


def decisions_from(given: object) -> dict[str, FinalDecision]:
    """The decisions that a page sent, by call id."""
    if not isinstance(given, Mapping) or not given:
        raise UsageError('decisions are an object: {call_id: {"kind": "allow"}}')
    found = {}
    for call_id, each in given.items():
        if not isinstance(each, Mapping):
            raise UsageError(f"the decision about {call_id} is no object")
        plain = dict(each)
        if "kind" in plain:
            plain["type"] = plain.pop("kind")
        try:
            found[str(call_id)] = msgspec.convert(plain, FinalDecision)
        except msgspec.ValidationError as error:
            raise UsageError(f"the decision about {call_id} cannot be read: {error}") from error
    return found


class _FormApprover:
    """The approver: returns the person's answer, and keeps the proposal that they must be shown."""

    def __init__(self, *, is_approved: bool) -> None:
        self._is_approved = is_approved
        self.proposal: Proposal | None = None

    async def __call__(self, proposal: Proposal) -> FinalDecision:
        if self._is_approved:
            return Allow()
        self.proposal = proposal
        return Deny()


async def try_call(
    here: StudioAgent, tool: str, arguments: JsonObject, *, dry_run: bool, is_approved: bool
) -> Json:
    """Send a person's call through the agent's gate, as if its model had asked for it.

    If a person must approve it first, nothing is run.
    """
    asked = _FormApprover(is_approved=is_approved)
    call = Call(id="try", name=tool, arguments=dump(arguments))
    tools = here.agent.tools
    gate = Gate(tools=tools, policy=here.policy, approve=asked, hooks=here.hooks, dry_run=dry_run)
    verdict = await gate.judge(call, call.id)
    if isinstance(verdict, CheckedCall):
        execute = partial(Executor().run, setting=Setting(dry_run=dry_run))
        done = await gate.run_between_hooks(verdict, call.id, execute)
    else:
        assert not isinstance(verdict, Proposal)
        done = not_run(call, verdict)
    if asked.proposal is not None:
        answer: Json = {"outcome": "", "result": None, "seconds": 0.0, "problems": [], "error": ""}
        return answer | {"proposal": proposal_json(asked.proposal)}
    problems = []
    if isinstance(done.outcome, Invalid):
        problems = [{"path": each.path, "message": each.message} for each in done.outcome.problems]
    result = result_json(done.result, "")
    for part in result["parts"]:
        if part["type"] == "media":
            # Media from a tool is in no journal, so there is no URL for it.
            part.update(url=None, inline=False)
    return {
        "outcome": done.outcome.kind,
        "result": redact_secrets(result),
        "seconds": done.seconds,
        "problems": problems,
        "error": redact_secrets(getattr(done.outcome, "error", "")),
        "proposal": None,
    }
