"""The records of a batch in a journal, as steps: the plan, each submission, each result, the end.

They suffice to continue in another process. A submission is recorded before and after it is made, so
that if only the first record exists, the batch is searched for at the vendor and not submitted again.
"""

import time
from hashlib import sha256
from typing import TypeVar

import msgspec
from msgspec import Struct

from rightcall.core.budget import Stop
from rightcall.core.entry import Entry, ReplyReceived, RunEnded, StepDone
from rightcall.core.message import Reply, User
from rightcall.core.ports import Steps
from rightcall.errors import JournalError, UsageError, VendorError
from rightcall.record.steps import recorded

Known = TypeVar("Known")

_FIELDS = ("kind", "status", "vendor_code", "retryable", "request_id", "body")


class Plan(Struct, frozen=True, kw_only=True):
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
        return int(number) if mark == self.mark and number.isdecimal() else None


class Submitting(Struct, frozen=True, kw_only=True):
    """Records that a part is about to be submitted."""

    label: str
    at: float
    """Seconds since the epoch."""


class Ledger:
    """The steps of one batch."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._own: dict[str, Entry] = {}
        """Steps recorded by this process, not by an earlier one."""

    def plan(self) -> Plan | None:
        """The plan, if there is one."""
        return self._known("batch.plan", Plan)

    async def begin(self, plan: Plan) -> None:
        """Record the plan."""
        await self._done("batch.plan", plan)

    def submitted(self, part: int) -> str | None:
        """The vendor's id of a part; None if it is not known to be submitted."""
        return self._known(f"batch.{part}.submitted", str)

    def submitting(self, part: int) -> Submitting | None:
        """The record that a part was about to be submitted, if there is one."""
        return self._known(f"batch.{part}.submitting", Submitting)

    async def submit(self, part: int, label: str) -> None:
        """Record that a part is about to be submitted, unless that is recorded."""
        if self.submitting(part) is None:
            await self._done(f"batch.{part}.submitting", Submitting(label=label, at=time.time()))

    async def has_submitted(self, part: int, batch: str) -> None:
        """Record the vendor's id of a part."""
        await self._done(f"batch.{part}.submitted", batch)

    def result(self, index: int) -> Reply | VendorError | None:
        """The recorded result of a prompt."""
        match self._recorded(_key(index)):
            case ReplyReceived(reply=reply):
                return reply
            case StepDone(value=value):
                return _error(value)
            case _:
                return None

    async def has_result(self, index: int, came: Reply | VendorError) -> None:
        """Record the result of a prompt."""
        key = _key(index)
        entry: Entry = (
            ReplyReceived(key=key, reply=came, seconds=0.0)
            if isinstance(came, Reply)
            else StepDone(key=key, value=_written(came))
        )
        await self._take(key, entry)

    async def end(self) -> None:
        """Record that the batch is over."""
        await self._steps.note("run.ended", RunEnded(stop=Stop("end")))

    def _known(self, key: str, kind: type[Known]) -> Known | None:
        entry = self._recorded(key)
        if not isinstance(entry, StepDone):
            return None
        try:
            return msgspec.json.decode(entry.value, type=kind)
        except msgspec.DecodeError as error:
            raise JournalError(f"the step {key}", f"not as a batch writes it: {error}") from error

    def _recorded(self, key: str) -> Entry | None:
        return self._own.get(key) or recorded(self._steps, key)

    async def _take(self, key: str, entry: Entry) -> None:
        async def body() -> Entry:
            return entry

        self._own[key] = await self._steps.step(key, body)

    async def _done(self, key: str, value: object) -> None:
        entry = StepDone(key=key, value=msgspec.json.encode(value).decode())
        await self._take(key, entry)


def digest_of(prompts: tuple[User, ...], asked: str) -> str:
    """A hash that shows whether a continued batch is the one that was begun."""
    digest = sha256(asked.encode(errors="replace"))
    for prompt in prompts:
        digest.update(msgspec.json.encode(prompt))
    return digest.hexdigest()


def same(plan: Plan, run: str, prompts: int, digest: str) -> Plan:
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


def _written(error: VendorError) -> str:
    fields = {name: getattr(error, name) for name in (*_FIELDS, "provider")}
    return msgspec.json.encode({"message": error.message, **fields}).decode()


def _error(value: str) -> VendorError:
    told = msgspec.json.decode(value)
    error = VendorError(told["message"], **{name: told[name] for name in _FIELDS})
    error.provider = told["provider"]
    return error
