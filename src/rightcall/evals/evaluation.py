"""Asks a model the cases and judges its replies: each question is asked once, and no call is run.

Replies are recorded in a journal under a hash of the request and the model's name. A recorded request is
not sent again: an interrupted eval resumes where it was, and without a model the journal alone gives the
same verdicts. Any change of a request makes it a new one.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from typing import cast

import msgspec

from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import ReplyReceived, RunEnded, RunStarted
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Reply
from rightcall.core.options import check_keywords
from rightcall.core.ports import AsyncJournal, Journal, Model
from rightcall.core.request import Request, ToolChoice
from rightcall.core.tool import Spec
from rightcall.declare.toolbox import Toolbox, ToolSource
from rightcall.errors import ProtocolError, RightcallError, TransportTimeout, UsageError
from rightcall.evals.eval_files import with_distractors
from rightcall.evals.judgement import ANY, Case, judge, missing_reply_verdict
from rightcall.evals.scores import Scores
from rightcall.loop.ask import ReplyDraft
from rightcall.record.memory import MemoryJournal
from rightcall.record.steps import append, entries_of
from rightcall.request.endpoint import close_stream

KEY = "t1.model"
"""The key of the reply, the same as for the first of any run."""


@check_keywords("evaluate")
async def evaluate(  # noqa: PLR0913 - all by name
    cases: Sequence[Case],
    model: Model | None,
    tools: ToolSource | Sequence[Spec] = (),
    *,
    name: str = "",
    title: str = "",
    journal: Journal | AsyncJournal | None = None,
    size: int | None = None,
    catalogue: Sequence[Spec] = (),
    seed: int = 0,
    system: str = "",
    choice: ToolChoice = "auto",
    max_tokens: int | None = None,
    options: Mapping[str, JsonValue] | None = None,
    at_once: int = 4,
    seconds: float = 600.0,
) -> Scores:
    """Ask every case of the model, run nothing, and judge what it calls.

    ``name`` is the model's, for the journal. Without a model everything must be in the journal. With
    ``size``, tools drawn from the ``catalogue`` are added up to that number. With a ``choice`` of
    ``required`` it must call some tool. ``seconds`` are for one reply.
    """
    if at_once < 1:
        raise UsageError(f"evaluate: at_once={at_once} asks nothing; ask one at once at least")
    specs = specs_of(tools)
    asked: dict[str, Request] = {}
    runs: list[tuple[Case, str]] = []
    most = 0
    for case in cases:
        offered = case.tools or specs
        if size is not None:
            offered = with_distractors(offered, size, catalogue, seed=seed)
        # Refuse a case that no offered tool can answer; of several equally good tools, one is enough.
        names = [spec.name for spec in offered]
        for each in case.calls:
            if not {ANY, *names} & set(each.names):
                hint = f"there is {', '.join(names) or 'none'}"
                if near := get_close_matches(each.names[0], names, n=1):
                    hint = f"did you mean {near[0]!r}?"
                wanted = " or ".join(map(repr, each.names))
                raise UsageError(f"case {case.id}: no tool {wanted} is offered; {hint}")
        request = Request(
            messages=case.messages,
            system=case.system or system,
            specs=offered,
            choice=choice,
            max_tokens=max_tokens,
            options=options or {},
        )
        run = run_name(name, request)
        asked[run] = request
        runs.append((case, run))
        most = max(most, len(offered))
    if journal is not None and not name:
        raise UsageError("a journal keeps replies by the model's name, too: give it as name=…")
    # A journal may be empty, and so false.
    kept = MemoryJournal() if journal is None else journal
    replies = await _replies(asked, model, kept, at_once, seconds)
    verdicts = []
    for case, run in runs:
        reply = replies[run]
        if isinstance(reply, RightcallError):
            verdicts.append(missing_reply_verdict(case, str(reply)))
        else:
            verdicts.append(judge(case, reply, {spec.name for spec in asked[run].specs}))
    return Scores(title=title or name or "model", verdicts=tuple(verdicts), tools=most)


def specs_of(tools: ToolSource | Sequence[Spec]) -> tuple[Spec, ...]:
    """The specs of tools, or of definitions that were read from a file."""
    if isinstance(tools, list | tuple) and tools and all(isinstance(each, Spec) for each in tools):
        return tuple(cast("Sequence[Spec]", tools))
    return tuple(tool.spec for tool in Toolbox(cast("ToolSource", tools)))


def run_name(model: str, request: Request) -> str:
    """The journal name of a request: the same for the same request, and only for that."""
    said = (
        model,
        request.messages,
        request.system,
        request.specs,
        request.choice,
        request.max_tokens,
        dict(sorted(request.options.items())),
    )
    return f"eval-{sha256(msgspec.json.encode(said)).hexdigest()[:32]}"


async def _replies(
    asked: Mapping[str, Request],
    model: Model | None,
    journal: Journal | AsyncJournal,
    at_once: int,
    seconds: float,
) -> Mapping[str, Reply | RightcallError]:
    replies: dict[str, Reply | RightcallError] = {}
    for run in asked:
        for entry in await entries_of(journal, run):
            if isinstance(entry, ReplyReceived):
                replies.setdefault(run, entry.reply)
    missing = [run for run in asked if run not in replies]
    if model is None:
        if missing:
            raise UsageError(
                f"{len(missing)} of {len(asked)} questions are not recorded: they, their tools, the "
                "model or its options are others than those of the journal. Ask a model for them"
            )
        return replies
    slots = asyncio.Semaphore(at_once)

    async def fill(run: str) -> None:
        async with slots:
            try:
                replies[run] = await _ask(run, asked[run], model, journal, seconds)
            except RightcallError as error:
                replies[run] = error

    async with asyncio.TaskGroup() as group:
        for run in missing:
            group.create_task(fill(run))
    errors = [reply for reply in replies.values() if isinstance(reply, RightcallError)]
    if errors and len(errors) == len(replies):
        # Nothing was measured; usually a wrong key.
        raise errors[0]
    return replies


async def _ask(
    run: str, request: Request, model: Model, journal: Journal | AsyncJournal, seconds: float
) -> Reply:
    start = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            draft = ReplyDraft()
            stream = model.stream(request)
            try:
                async for event in stream:
                    draft.add(event)
            finally:
                await close_stream(stream)
    except TimeoutError:
        raise TransportTimeout(f"no reply within {seconds:g} seconds") from None
    if draft.end is None:
        raise ProtocolError("the reply has no end")
    reply = draft.end.reply
    took = time.monotonic() - start
    # Written once the reply is complete: an interrupted one is requested again.
    begun = RunStarted(
        messages=request.messages,
        budget=Budget(turns=1),
        system=request.system,
        specs=request.specs,
        choice=request.choice,
    )
    stop = Stop("limit", "turns") if reply.calls else Stop("end")
    for entry in (begun, ReplyReceived(key=KEY, reply=reply, seconds=took), RunEnded(stop=stop)):
        await append(journal, run, entry)
    return reply
