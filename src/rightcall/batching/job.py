"""The life of one batch: planned, submitted once, polled, and its results recorded.

What is recorded in a journal as steps (the plan, each submission, each result, the end) suffices to
continue in another process. A submission is recorded before and after it is made, so that if only the
first record exists, the batch is searched for at the vendor and not submitted again.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from hashlib import sha256
from os import urandom
from time import monotonic
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.agent import Agent
from rightcall.batching.formats import (
    BatchStatus,
    Exchange,
    Format,
    Made,
    PossibleBatches,
    RequestResult,
    Submission,
)
from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import Entry, ReplyReceived, RunEnded, StepDone
from rightcall.core.events import ModelEvent
from rightcall.core.message import Reply, User
from rightcall.core.ports import Model, Steps
from rightcall.core.request import EncodedRequest, Profile, Request
from rightcall.errors import (
    JournalError,
    ProtocolError,
    RightcallError,
    TransportError,
    UsageError,
    VendorError,
)
from rightcall.log import logger
from rightcall.loop.agent_config import UNNAMED, AgentConfig
from rightcall.loop.result import RunResult
from rightcall.loop.run import Run
from rightcall.loop.settings import Setup
from rightcall.loop.state import initial_state
from rightcall.record.steps import Body, UnrecordedSteps, recorded_entry
from rightcall.request.endpoint import Errand, ErrandAnswer
from rightcall.request.wire_model import WireModel

_ONE_REPLY = Budget(turns=1, seconds=None, tokens=None, cost=None)
_NOT_THERE = ("bedrock", "vertex")
"""Providers that use a vendor's dialect but do not have its batch API."""


class _RequestKnown(RightcallError):
    """Raised once the request is known."""


class _RequestRecorder:
    """Replaces a model, and records its request."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.request: Request | None = None

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.request = request
        raise _RequestKnown


class _KnownReplySteps(UnrecordedSteps):
    """Steps of a run whose model reply is already known."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def step(self, key: str, body: Body) -> Entry:
        """The known reply for the model's step; other steps are executed."""
        if key == "t1.model":
            return ReplyReceived(key=key, reply=self._reply, seconds=0.0)
        return await body()


class BatchAgent:
    """One agent whose prompts are sent in a batch."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        # An agent's parts are private; a batch is another way to run it.
        self._config: AgentConfig = agent._config  # noqa: SLF001
        self._setup: Setup = agent._setup  # noqa: SLF001
        self.journal = agent._journal  # noqa: SLF001
        _check(agent, self._setup)
        model = self._config.model
        if not isinstance(model, WireModel):
            raise UsageError(
                f"rc.batching.batch: a batch goes to one vendor, and {type(model).__name__} is no "
                'connected model; give the agent one by name, as "openai:gpt-5.2"'
            )
        if model.provider.startswith(_NOT_THERE):
            raise UsageError(f"rc.batching.batch: {model.provider} has no batch API of this form")
        self.model = model
        self.asked = f"{model.name}\n"
        """The model's name and the instructions, for the digest."""
        if isinstance(self._config.instructions, str):
            self.asked += self._config.instructions

    async def request(self, prompt: User) -> Request:
        """The first request that a run would send."""
        model = _RequestRecorder(self._setup.model.profile)
        try:
            await (await self._run("", prompt, UnrecordedSteps(), model)).go()
        except _RequestKnown:
            assert model.request is not None
            return model.request
        raise AssertionError("a run that has not begun asks its model")

    async def result(self, run: str, prompt: User, reply: Reply) -> RunResult[Any]:
        """The result of a run that gets this reply."""
        going = await self._run(run, prompt, _KnownReplySteps(reply), self._setup.model)
        return self._config.with_output(await going.go())

    async def _run(self, run: str, prompt: User, steps: UnrecordedSteps, model: Model) -> Run:
        setup = replace(self._setup, run=run, steps=steps, model=model, observers=(), around=())
        config = replace(self._config, budget=_ONE_REPLY, retry_broken=False, name=UNNAMED)
        start = await config.make_start_entry(setup, (prompt,), {})
        wanted = start.wanted and replace(start.wanted, retries=0)
        return Run(setup, initial_state(replace(start, wanted=wanted)))


def _check(agent: Agent[Any, Any], setup: Setup) -> None:
    """Raise for an agent whose runs need more than one reply, or more than the model."""
    if names := agent.tools.names():
        raise UsageError(
            f"rc.batching.batch: a batch is one reply to each prompt, and nobody is there to run tools; "
            f"{agent.name!r} has {', '.join(names)}. Give an agent without tools, or agent.run"
        )
    if any(map(setup.hooks.has, ("before_model", "after_model"))):
        raise UsageError(
            f"rc.batching.batch: hooks around the model are not asked in a batch, and {agent.name!r} "
            "has some; give an agent without them"
        )


Known = TypeVar("Known")

_FIELDS = ("message", "kind", "status", "vendor_code", "retryable", "request_id", "body", "provider")
"""What is recorded of a vendor's error."""


class BatchPlan(Struct, frozen=True, kw_only=True):
    """What is submitted; the same for all processes that work on the batch."""

    mark: str
    """A unique prefix of this batch's ids. It is not a secret, and its name must not look like one:
    journals would redact the value."""
    prompts: int
    digest: str
    """A hash of the prompts, the model and the instructions."""
    parts: tuple[tuple[int, int], ...]
    """The prompts of each part: the first index, and the index after the last."""

    def label(self, part: int) -> str:
        """The label of a part at the vendor."""
        return f"rightcall-{self.mark}-{part}"

    def ids(self, part: int) -> tuple[str, ...]:
        """The ids of a part's requests."""
        first, last = self.parts[part]
        return tuple([f"{self.mark}-{index}" for index in range(first, last)])

    def index(self, name: str) -> int | None:
        """The index of the prompt of a request, by id; None for an id that is not ours."""
        mark, _, number = name.rpartition("-")
        if mark == self.mark and number.isdecimal():
            return int(number)
        return None


class SubmissionStart(Struct, frozen=True, kw_only=True):
    """Records that a part is about to be submitted."""

    label: str
    at: float
    """Seconds since the epoch."""


class BatchLedger:
    """The steps of one batch."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._own: dict[str, Entry] = {}
        """Steps recorded by this process, not by an earlier one."""

    def plan(self) -> BatchPlan | None:
        """The plan, if there is one."""
        return self._decode_step("batch.plan", BatchPlan)

    async def begin(self, plan: BatchPlan) -> None:
        """Record the plan."""
        await self._record_step("batch.plan", plan)

    def batch_id(self, part: int) -> str | None:
        """The vendor's id of a part; None if it is not known to be submitted."""
        return self._decode_step(f"batch.{part}.submitted", str)

    def pending_submission(self, part: int) -> SubmissionStart | None:
        """The record that a part was about to be submitted, if there is one."""
        return self._decode_step(f"batch.{part}.submitting", SubmissionStart)

    async def submit(self, part: int, label: str) -> None:
        """Record that a part is about to be submitted, unless that is recorded."""
        if self.pending_submission(part) is None:
            await self._record_step(
                f"batch.{part}.submitting", SubmissionStart(label=label, at=time.time())
            )

    async def record_batch_id(self, part: int, batch: str) -> None:
        """Record the vendor's id of a part."""
        await self._record_step(f"batch.{part}.submitted", batch)

    def result(self, index: int) -> Reply | VendorError | None:
        """The recorded result of a prompt."""
        match self._find_entry(_key(index)):
            case ReplyReceived(reply=reply):
                return reply
            case StepDone(value=value):
                fields = msgspec.json.decode(value)
                provider = fields.pop("provider")
                error = VendorError(fields.pop("message"), **fields)
                error.provider = provider
                return error
            case _:
                return None

    async def record_result(self, index: int, came: Reply | VendorError) -> None:
        """Record the result of a prompt."""
        key = _key(index)
        if isinstance(came, Reply):
            entry: Entry = ReplyReceived(key=key, reply=came, seconds=0.0)
        else:
            fields = {name: getattr(came, name) for name in _FIELDS}
            entry = StepDone(key=key, value=msgspec.json.encode(fields).decode())
        await self._take(key, entry)

    async def end(self) -> None:
        """Record that the batch is over."""
        await self._steps.note("run.ended", RunEnded(stop=Stop("end")))

    def _decode_step(self, key: str, kind: type[Known]) -> Known | None:
        entry = self._find_entry(key)
        if not isinstance(entry, StepDone):
            return None
        try:
            return msgspec.json.decode(entry.value, type=kind)
        except msgspec.DecodeError as error:
            raise JournalError(f"the step {key}", f"not as a batch writes it: {error}") from error

    def _find_entry(self, key: str) -> Entry | None:
        return self._own.get(key) or recorded_entry(self._steps, key)

    async def _take(self, key: str, entry: Entry) -> None:
        async def body() -> Entry:
            return entry

        self._own[key] = await self._steps.step(key, body)

    async def _record_step(self, key: str, value: object) -> None:
        entry = StepDone(key=key, value=msgspec.json.encode(value).decode())
        await self._take(key, entry)


def digest_of(prompts: tuple[User, ...], asked: str) -> str:
    """A hash that shows whether a continued batch is the one that was begun."""
    digest = sha256(asked.encode(errors="replace"))
    for prompt in prompts:
        digest.update(msgspec.json.encode(prompt))
    return digest.hexdigest()


def check_same_batch(plan: BatchPlan, run: str, prompts: int, digest: str) -> BatchPlan:
    """The plan; raises if it is not for these prompts."""
    if plan.prompts != prompts:
        raise UsageError(
            f"the journal holds a batch {run!r} of {plan.prompts:,} prompts, and these are {prompts:,}; "
            "pass the same ones to continue it, or name another run"
        )
    if plan.digest != digest:
        raise UsageError(
            f"the journal holds a batch {run!r} of other prompts, or for another model; "
            "pass the same ones to continue it, or name another run"
        )
    return plan


def _key(index: int) -> str:
    return f"p{index}.model"


ANEW = "new"
"""Given instead of a batch's id: the batch was certainly not submitted."""
_PRICE = 0.5
"""The price of a batch at all three vendors, relative to single requests."""
_MOST_MISSES = 10
"""How many polls in a row may fail before the error is raised."""
_TURN = 0.01
"""Seconds of encoding or parsing before the event loop gets a turn."""


class BatchProgress(Struct, frozen=True, kw_only=True):
    """The progress of a batch."""

    run: str
    ids: tuple[str, ...]
    """The vendor's ids of the batch; several if one batch cannot hold all prompts."""
    status: str
    """The vendor's own status; of several batches, that of the first unfinished one."""
    total: int
    done: int
    """The number of prompts answered."""
    failed: int
    """The number of prompts that failed, expired or were cancelled."""
    seconds: float
    """Seconds since this process began to watch it."""
    is_over: bool


async def run_exchange(model: WireModel, exchange: Exchange[Made]) -> Made:
    """Run the errands of an exchange; returns its outcome."""
    answered: ErrandAnswer | None = None
    while True:
        # In a thread: a batch may have hundreds of megabytes, which are encoded and parsed there.
        step = await asyncio.to_thread(_next_step, exchange, answered)
        if not isinstance(step, Errand):
            return step[0]
        answered = await model.errand(step)


def _next_step(exchange: Exchange[Made], answered: ErrandAnswer | None) -> Errand | tuple[Made]:
    """The next errand; or the final outcome, in a tuple."""
    try:
        if answered is None:
            return next(exchange)
        return exchange.send(answered)
    except StopIteration as end:
        made: Made = end.value
        return (made,)


class EventLoopBreak:
    """Yields to the event loop now and then in long work without awaits."""

    def __init__(self) -> None:
        self._turned = monotonic()

    async def take(self) -> None:
        """Yield to the event loop if it is time."""
        if monotonic() - self._turned > _TURN:
            await asyncio.sleep(0)
            self._turned = monotonic()


class BatchJob:
    """One batch; the ledger records what has been done."""

    def __init__(
        self, run: str, asking: BatchAgent, form: Format, ledger: BatchLedger, prompts: tuple[User, ...]
    ) -> None:
        self._run = run
        self._asking = asking
        self._model = asking.model
        self._form = form
        self._ledger = ledger
        self._prompts = prompts
        self._outgoing: dict[int, EncodedRequest] = {}
        self._standings: dict[int, BatchStatus] = {}
        self._began = monotonic()

    @property
    def _plan(self) -> BatchPlan:
        plan = self._ledger.plan()
        assert plan is not None
        return plan

    async def submit(self, digest: str, adopt: str | None) -> None:
        """Submit every part, except those that are known to be submitted."""
        plan = self._ledger.plan()
        if plan is None:
            await self._encode(range(len(self._prompts)))
            parts = tuple(_parts(list(self._outgoing.values()), self._form))
            mark = urandom(8).hex()
            count = len(self._prompts)
            plan = BatchPlan(mark=mark, prompts=count, digest=digest, parts=parts)
            await self._ledger.begin(plan)
        check_same_batch(plan, self._run, len(self._prompts), digest)
        for part in range(len(plan.parts)):
            if self._ledger.batch_id(part) is None:
                await self._ledger.record_batch_id(part, await self._submit_part(part, adopt))
        self._outgoing.clear()

    async def _submit_part(self, part: int, adopt: str | None) -> str:
        plan = self._plan
        before = self._ledger.pending_submission(part)
        label = plan.label(part)
        ids = plan.ids(part)
        if before is not None and adopt != ANEW:
            # A process was about to submit it, but it is unknown whether it did.
            found: str | PossibleBatches | None = adopt
            found = found or await self._run_exchange(self._form.find(label, ids, before.at))
            if isinstance(found, PossibleBatches):
                raise UsageError(
                    f"the batch {self._run!r} may have been submitted or not: the process that was "
                    "about to do it ended, and the vendor keeps no names to tell by. It may be "
                    f"{' or '.join(found.candidates)}, which cannot be told until it is over; wait and "
                    f"try again, or say which one with adopt='ID', or adopt={ANEW!r} to submit it again"
                )
            if found is not None:
                return found
        await self._encode(range(*plan.parts[part]))
        sent = tuple([self._outgoing[index] for index in range(*plan.parts[part])])
        await self._ledger.submit(part, label)
        return await self._run_exchange(
            self._form.submit(Submission(label=label, ids=ids, requests=sent))
        )

    async def watch(self, poll: float) -> AsyncIterator[BatchProgress]:
        """Yield the progress until the batch is over and every result is recorded."""
        misses = 0
        while True:
            try:
                await self._look()
                misses = 0
            except (TransportError, VendorError) as error:
                misses += 1
                if not error.retryable or misses > _MOST_MISSES:
                    raise
                logger.warning("the batch %s could not be looked at: %s", self._run, error)
            if self._standings:
                yield self._progress()
            if len(self._standings) == len(self._plan.parts) and self._is_over:
                return
            await asyncio.sleep(poll)

    async def _look(self) -> None:
        for part in range(len(self._plan.parts)):
            standing = self._standings.get(part)
            if standing is not None and standing.is_over:
                continue
            batch = self._ledger.batch_id(part)
            assert batch is not None
            indices = range(*self._plan.parts[part])
            if all(self._ledger.result(index) is not None for index in indices):
                self._standings[part] = self._finished_status(part, batch)
                continue
            standing = await self._run_exchange(self._form.fetch_status(batch))
            if standing.is_over:
                await self._collect(part, standing)
                standing = self._finished_status(part, batch, standing.status)
            self._standings[part] = standing

    async def _collect(self, part: int, standing: BatchStatus) -> None:
        """Record every result of a part; a request without one gets an error that says why."""
        breath = EventLoopBreak()
        plan = self._plan
        ledger = self._ledger
        # The same for all requests: they differ only in their prompts.
        request = await self._asking.request(self._prompts[0])
        forced = self._model.encode_whole(request).held.forced
        for found in await self._run_exchange(self._form.results(standing, self._model.dialect)):
            index = plan.index(found.id)
            if index is not None and ledger.result(index) is None:
                await ledger.record_result(index, self._read(found, request, forced))
            await breath.take()
        nothing = VendorError("the batch's results say nothing of this prompt", kind="protocol")
        for index in range(*plan.parts[part]):
            if ledger.result(index) is None:
                await ledger.record_result(index, self._with_provider(standing.problem or nothing))
            await breath.take()

    def _read(
        self, found: RequestResult, request: Request, forced: frozenset[str]
    ) -> Reply | VendorError:
        if found.error is not None:
            return self._with_provider(found.error)
        try:
            reply = self._model.decode_reply(found.body, request, forced)
        except VendorError as error:
            return self._with_provider(error)
        except ProtocolError as error:
            return self._with_provider(VendorError(str(error), kind="protocol"))
        if reply.usage.cost is None:
            return reply
        return replace(reply, usage=replace(reply.usage, cost=reply.usage.cost * _PRICE))

    def _with_provider(self, error: VendorError) -> VendorError:
        error.provider = self._model.provider
        return error

    def _finished_status(self, part: int, batch: str, status: str = "over") -> BatchStatus:
        first, last = self._plan.parts[part]
        failed = 0
        for index in range(first, last):
            if isinstance(self._ledger.result(index), VendorError):
                failed += 1
        done = last - first - failed
        return BatchStatus(
            id=batch, status=status, is_over=True, total=last - first, done=done, failed=failed
        )

    @property
    def _is_over(self) -> bool:
        return all(standing.is_over for standing in self._standings.values())

    def _progress(self) -> BatchProgress:
        standings = list(self._standings.values())
        first = standings[-1]
        for each in reversed(standings):
            if not each.is_over:
                first = each
        return BatchProgress(
            run=self._run,
            ids=tuple([each.id for each in standings]),
            status=first.status,
            total=len(self._prompts),
            done=sum(each.done for each in standings),
            failed=sum(each.failed for each in standings),
            seconds=monotonic() - self._began,
            is_over=len(standings) == len(self._plan.parts) and self._is_over,
        )

    async def _encode(self, indices: Sequence[int]) -> None:
        breath = EventLoopBreak()
        for index in indices:
            if index not in self._outgoing:
                request = await self._asking.request(self._prompts[index])
                try:
                    self._outgoing[index] = self._model.encode_whole(request)
                except RightcallError as error:
                    error.add_note(f"in prompt {index} of the batch")
                    raise
            await breath.take()

    async def _run_exchange(self, exchange: Exchange[Made]) -> Made:
        return await run_exchange(self._model, exchange)


def _parts(outgoing: Sequence[EncodedRequest], form: Format) -> Iterator[tuple[int, int]]:
    """Split the requests into parts that fit the limits of a batch."""
    first = size = 0
    for index, each in enumerate(outgoing):
        # Each request also needs an id and a path.
        more = len(each.body) + 200
        if index > first and (index - first >= form.most_requests or size + more > form.most_bytes):
            yield first, index
            first = index
            size = 0
        size += more
    yield first, len(outgoing)
