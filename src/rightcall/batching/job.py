"""The life of one batch: planned, submitted once, polled, and its results recorded."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from os import urandom
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from rightcall.batching.asking import Asking
from rightcall.batching.formats import Exchange, Format, Found, Made, Sent, Standing, Unsure
from rightcall.batching.ledger import Ledger, Plan, same
from rightcall.core.message import Reply, User
from rightcall.core.request import Outgoing, Request
from rightcall.errors import ProtocolError, RightcallError, TransportError, UsageError, VendorError
from rightcall.log import logger
from rightcall.request.whole import Answered, Errand
from rightcall.request.wire_model import WireModel

ANEW = "new"
"""Given instead of a batch's id: the batch was certainly not submitted."""
_PRICE = 0.5
"""The price of a batch at all three vendors, relative to single requests."""
_MOST_MISSES = 10
"""How many polls in a row may fail before the error is raised."""
_TURN = 0.01
"""Seconds of encoding or parsing before the event loop gets a turn."""


class Progress(Struct, frozen=True, kw_only=True):
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


async def carried_out(model: WireModel, exchange: Exchange[Made]) -> Made:
    """Run the errands of an exchange; returns its outcome."""
    answered: Answered | None = None
    while True:
        # In a thread: a batch may have hundreds of megabytes, which are encoded and parsed there.
        step = await asyncio.to_thread(_next_step, exchange, answered)
        if not isinstance(step, Errand):
            return step[0]
        answered = await model.errand(step)


def _next_step(exchange: Exchange[Made], answered: Answered | None) -> Errand | tuple[Made]:
    """The next errand; or the final outcome, in a tuple."""
    try:
        return next(exchange) if answered is None else exchange.send(answered)
    except StopIteration as end:
        made: Made = end.value
        return (made,)


class Breath:
    """Yields to the event loop now and then in long work without awaits."""

    def __init__(self) -> None:
        self._turned = monotonic()

    async def take(self) -> None:
        """Yield to the event loop if it is time."""
        if monotonic() - self._turned > _TURN:
            await asyncio.sleep(0)
            self._turned = monotonic()


class Job:
    """One batch; the ledger records what has been done."""

    def __init__(
        self, run: str, asking: Asking, form: Format, ledger: Ledger, prompts: tuple[User, ...]
    ) -> None:
        self._run = run
        self._asking = asking
        self._model = asking.model
        self._form = form
        self._ledger = ledger
        self._prompts = prompts
        self._outgoing: dict[int, Outgoing] = {}
        self._standings: dict[int, Standing] = {}
        self._began = monotonic()

    @property
    def _plan(self) -> Plan:
        plan = self._ledger.plan()
        assert plan is not None
        return plan

    async def submit(self, digest: str, adopt: str | None) -> None:
        """Submit every part, except those that are known to be submitted."""
        plan = self._ledger.plan()
        if plan is None:
            await self._encode(range(len(self._prompts)))
            parts = tuple(_parts(list(self._outgoing.values()), self._form))
            mark, count = urandom(8).hex(), len(self._prompts)
            plan = Plan(mark=mark, prompts=count, digest=digest, parts=parts)
            await self._ledger.begin(plan)
        same(plan, self._run, len(self._prompts), digest)
        for part in range(len(plan.parts)):
            if self._ledger.submitted(part) is None:
                await self._ledger.has_submitted(part, await self._submitted(part, adopt))
        self._outgoing.clear()

    async def _submitted(self, part: int, adopt: str | None) -> str:
        plan, before = self._plan, self._ledger.submitting(part)
        label, ids = plan.label(part), plan.ids(part)
        if before is not None and adopt != ANEW:
            # A process was about to submit it, but it is unknown whether it did.
            found: str | Unsure | None = adopt
            found = found or await self._carried(self._form.find(label, ids, before.at))
            if isinstance(found, Unsure):
                raise UsageError(_unsure(self._run, found))
            if found is not None:
                return found
        await self._encode(range(*plan.parts[part]))
        sent = tuple([self._outgoing[index] for index in range(*plan.parts[part])])
        await self._ledger.submit(part, label)
        return await self._carried(self._form.submit(Sent(label=label, ids=ids, requests=sent)))

    async def watch(self, poll: float) -> AsyncIterator[Progress]:
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
            batch = self._ledger.submitted(part)
            assert batch is not None
            if self._has_all(part):
                self._standings[part] = self._settled(part, batch)
                continue
            standing = await self._carried(self._form.look(batch))
            if standing.is_over:
                await self._collect(part, standing)
                standing = self._settled(part, batch, standing.status)
            self._standings[part] = standing

    async def _collect(self, part: int, standing: Standing) -> None:
        """Record every result of a part; a request without one gets an error that says why."""
        breath, plan, ledger = Breath(), self._plan, self._ledger
        # The same for all requests: they differ only in their prompts.
        request = await self._asking.request(self._prompts[0])
        forced = self._model.encoded(request).held.forced
        for found in await self._carried(self._form.results(standing, self._model.dialect)):
            index = plan.index(found.id)
            if index is not None and ledger.result(index) is None:
                await ledger.has_result(index, self._read(found, request, forced))
            await breath.take()
        nothing = VendorError("the batch's results say nothing of this prompt", kind="protocol")
        for index in range(*plan.parts[part]):
            if ledger.result(index) is None:
                await ledger.has_result(index, self._named(standing.problem or nothing))
            await breath.take()

    def _read(self, found: Found, request: Request, forced: frozenset[str]) -> Reply | VendorError:
        if found.error is not None:
            return self._named(found.error)
        try:
            reply = self._model.decoded(found.body, request, forced)
        except VendorError as error:
            return self._named(error)
        except ProtocolError as error:
            return self._named(VendorError(str(error), kind="protocol"))
        cost = reply.usage.cost
        return replace(reply, usage=replace(reply.usage, cost=None if cost is None else cost * _PRICE))

    def _named(self, error: VendorError) -> VendorError:
        error.provider = self._model.provider
        return error

    def _settled(self, part: int, batch: str, status: str = "over") -> Standing:
        first, last = self._plan.parts[part]
        came = [self._ledger.result(index) for index in range(first, last)]
        failed = sum(isinstance(each, VendorError) for each in came)
        done = last - first - failed
        return Standing(
            id=batch, status=status, is_over=True, total=last - first, done=done, failed=failed
        )

    def _has_all(self, part: int) -> bool:
        return all(self._ledger.result(index) is not None for index in range(*self._plan.parts[part]))

    @property
    def _is_over(self) -> bool:
        return all(standing.is_over for standing in self._standings.values())

    def _progress(self) -> Progress:
        standings = list(self._standings.values())
        first = next((each for each in standings if not each.is_over), standings[-1])
        return Progress(
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
        breath = Breath()
        for index in indices:
            if index not in self._outgoing:
                request = await self._asking.request(self._prompts[index])
                try:
                    self._outgoing[index] = self._model.encoded(request)
                except RightcallError as error:
                    error.add_note(f"in prompt {index} of the batch")
                    raise
            await breath.take()

    async def _carried(self, exchange: Exchange[Made]) -> Made:
        return await carried_out(self._model, exchange)


def _parts(outgoing: Sequence[Outgoing], form: Format) -> Iterator[tuple[int, int]]:
    """Split the requests into parts that fit the limits of a batch."""
    first = size = 0
    for index, each in enumerate(outgoing):
        # Each request also needs an id and a path.
        more = len(each.body) + 200
        if index > first and (index - first >= form.most_requests or size + more > form.most_bytes):
            yield first, index
            first, size = index, 0
        size += more
    yield first, len(outgoing)


def _unsure(run: str, found: Unsure) -> str:
    return (
        f"the batch {run!r} may have been submitted or not: the process that was about to do it ended, "
        f"and the vendor keeps no names to tell by. It may be {' or '.join(found.candidates)}, which "
        f"cannot be told until it is over; wait and try again, or say which one with adopt='ID', or "
        f"adopt={ANEW!r} to submit it again"
    )
