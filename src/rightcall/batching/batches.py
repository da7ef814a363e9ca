"""``rc.batching.batch``: submits an agent's prompts as one batch, once, and reads all results."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from os import urandom
from typing import Any, Generic

from msgspec import Struct

from rightcall.agent import Agent
from rightcall.background import run_sync
from rightcall.batching.anthropic import AnthropicFormat
from rightcall.batching.formats import Format
from rightcall.batching.gemini import GeminiFormat
from rightcall.batching.job import (
    BatchAgent,
    BatchJob,
    BatchLedger,
    BatchProgress,
    EventLoopBreak,
    digest_of,
    run_exchange,
)
from rightcall.batching.openai import OpenAIFormat
from rightcall.core.message import Reply, User
from rightcall.core.options import check_keywords
from rightcall.core.parts import Usage
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.declare.attachment import Prompt, message_of, reads_files
from rightcall.errors import NoOutput, UsageError, VendorError
from rightcall.loop.result import Out, RunResult
from rightcall.record.steps import Holding, JournalSteps, UnrecordedSteps, entries_of

FORMATS: Mapping[str, Format] = {
    "anthropic": AnthropicFormat(),
    "gemini": GeminiFormat(),
    "openai_chat": OpenAIFormat(),
    "openai_responses": OpenAIFormat(),
}
"""The batch formats, by name of the dialect."""


class BatchItem(Struct, Generic[Out], frozen=True, kw_only=True):
    """The outcome of one prompt: a result, as from a run of the agent, or an error."""

    index: int
    """The position of its prompt."""
    result: RunResult[Out] | None = None
    error: VendorError | None = None
    """Why there is no reply; its ``kind`` says whether to submit the prompt again."""

    @property
    def is_answer(self) -> bool:
        """Whether there is a valid answer."""
        return self.result is not None and self.result.stop.is_answer

    @property
    def text(self) -> str:
        """The answer; empty if there is none."""
        if self.result is None:
            return ""
        return self.result.text

    @property
    def output(self) -> Out:
        """The answer, of the type that was asked for. Raises NoOutput if there is none."""
        if self.result is None:
            raise NoOutput(f"there is no reply to this prompt: {self.error}")
        return self.result.output

    @property
    def usage(self) -> Usage:
        """Its tokens and cost, at the batch price."""
        if self.result is None:
            return Usage()
        return self.result.usage


class BatchResult(Struct, Generic[Out], frozen=True, kw_only=True):
    """The results of a batch, in the order of its prompts."""

    run: str
    items: tuple[BatchItem[Out], ...]

    def __iter__(self) -> Iterator[BatchItem[Out]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> BatchItem[Out]:
        return self.items[index]

    @property
    def usage(self) -> Usage:
        """The tokens and cost of all prompts, at the batch price."""
        return sum((item.usage for item in self.items), Usage())

    @property
    def failed(self) -> tuple[BatchItem[Out], ...]:
        """The items without an answer."""
        return tuple([item for item in self.items if not item.is_answer])


class Batch(Generic[Out]):
    """A batch, which starts when it is awaited or iterated; ``run`` is its name in the journal.

    ``await`` returns the result. ``async for`` yields the progress, and ``result`` is set at the end.
    If you stop waiting, the batch continues at the vendor.
    """

    def __init__(
        self,
        run: str,
        asking: BatchAgent,
        prompts: Sequence[Prompt],
        journal: Journal | AsyncJournal | None,
    ) -> None:
        self.run = run
        self.result: BatchResult[Out] | None = None
        """The result, once the batch is over."""
        self.poll = 30.0
        self.adopt: str | None = None
        self._asking = asking
        self._prompts = prompts
        self._journal = journal
        self._live = BatchLedger(UnrecordedSteps())
        """For a batch without a journal; lost with this object."""
        self._form = form_for(asking.model.dialect.name)

    def __await__(self) -> Generator[Any, None, BatchResult[Out]]:
        return self._whole().__await__()

    async def _whole(self) -> BatchResult[Out]:
        async for _ in self:
            pass
        assert self.result is not None
        return self.result

    def run_sync(self) -> BatchResult[Out]:
        """The result, for code that cannot await."""
        return run_sync(self._whole())

    async def __aiter__(self) -> AsyncIterator[BatchProgress]:
        """How far it is; first when it is submitted, last when it is over."""
        if self.result is not None:
            return
        prompts = tuple([await _user(prompt) for prompt in self._prompts])
        async with Holding(self._journal, self.run) as held:
            ledger = self._live
            if self._journal is not None:
                ledger = BatchLedger(held.steps())
            if held.entries and ledger.plan() is None:
                raise UsageError(f"the journal holds a run {self.run!r} that is no batch; name another")
            job = BatchJob(self.run, self._asking, self._form, ledger, prompts)
            await job.submit(digest_of(prompts, self._asking.asked), self.adopt)
            async for progress in job.watch(self.poll):
                if not progress.is_over:
                    yield progress
            self.result = await self._read(prompts, ledger)
            await ledger.end()
            yield progress

    async def cancel(self) -> None:
        """Cancel it at the vendor. Answers so far are paid for, and are in the result.

        If another process waits for it, that one gets the result.
        """
        ledger = self._live
        if self._journal is not None:
            entries = await entries_of(self._journal, self.run)
            ledger = BatchLedger(JournalSteps(self._journal, self.run, entries))
        ids = []
        plan = ledger.plan()
        if plan is not None:
            for part in range(len(plan.parts)):
                batch = ledger.batch_id(part)
                if batch is not None:
                    ids.append(batch)
        if not ids:
            raise UsageError(f"the batch {self.run!r} is not submitted, so there is nothing to cancel")
        for batch in ids:
            await run_exchange(self._asking.model, self._form.cancel(batch))

    async def _read(self, prompts: tuple[User, ...], ledger: BatchLedger) -> BatchResult[Out]:
        items: list[BatchItem[Out]] = []
        breath = EventLoopBreak()
        for index, prompt in enumerate(prompts):
            came = ledger.result(index)
            if isinstance(came, Reply):
                result = await self._asking.result(f"{self.run}.{index}", prompt, came)
                items.append(BatchItem(index=index, result=result))
            else:
                items.append(BatchItem(index=index, error=came))
            await breath.take()
        return BatchResult(run=self.run, items=tuple(items))


@check_keywords("rc.batching.batch", say="rc.batching.batch(…, {}=…)")
def batch(
    agent: Agent[Any, Out],
    prompts: Sequence[Prompt],
    *,
    run: str | None = None,
    journal: Journal | AsyncJournal | None = None,
    poll: float = 30.0,
    adopt: str | None = None,
) -> Batch[Out]:
    """Send many prompts through the vendor's batch API: at half the price, within a day.

    For agents without tools, with or without ``output``. Await it for the results, in order, or iterate
    over it for the progress. With a ``journal`` (by default the agent's) and a name (``run``) the same
    call continues the batch in another process, and nothing is submitted twice. ``poll`` is the
    interval in seconds. ``adopt`` names the vendor's batch, if the process that submitted it died
    before it knew the id, and the vendor cannot tell.
    """
    if isinstance(prompts, str) or not prompts:
        raise UsageError("rc.batching.batch: prompts are a list of prompts, with at least one in it")
    asking = BatchAgent(agent)
    begun: Batch[Out] = Batch(run or urandom(16).hex(), asking, prompts, journal or asking.journal)
    begun.poll = poll
    begun.adopt = adopt
    return begun


def form_for(dialect: str) -> Format:
    """The batch format of a dialect."""
    if dialect not in FORMATS:
        raise UsageError(
            f"rc.batching.batch: no batch API is known for {dialect}; there is {', '.join(FORMATS)}"
        )
    return FORMATS[dialect]


async def _user(prompt: Prompt) -> User:
    if reads_files(prompt):
        return await to_thread(message_of, prompt)
    return message_of(prompt)
