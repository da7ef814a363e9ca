"""The steps of one segment, recorded in the journal that an engine provides.

What must be known after a crash is recorded when it happens: a model's reply, a call's result, and that
a call with effects is about to start. Other notes (that a request was sent, a call checked or decided
about) wait for the next such record and are written with it, so that a turn costs as many records as it
has effects. The result of a ``pure`` call is not recorded at all: it is computed again.
"""

from collections.abc import Awaitable, Callable
from json import dumps, loads
from typing import TypeAlias

from msgspec import DecodeError, Raw, Struct, json, to_builtins

from rightcall.core.entry import CallFinished, CallStarted, Entry, Nested, RunStarted, StepDone
from rightcall.core.sanitize import encodable_json
from rightcall.durable.engine import INLINE, Blobs, Journal
from rightcall.errors import JournalError
from rightcall.record.entry_text import decode, encode

Body: TypeAlias = Callable[[], Awaitable[Entry]]
Pairs: TypeAlias = list[tuple[str, Entry]]


class Record(Struct, frozen=True, omit_defaults=True):
    """A record of a journal: entries by their keys, the last of which is the record's own."""

    entries: tuple[tuple[str, Raw], ...] = ()
    blob: str = ""
    """The reference of the record, if it is too long for the journal."""


_RECORD = json.Decoder(Record)


class DurableSteps:
    """Records the effects of a segment; used as a run's ``steps``."""

    def __init__(self, journal: Journal, blobs: Blobs, run: str, known: Pairs) -> None:
        self._journal = journal
        self._blobs = blobs
        self._run = run
        self._entries = dict(known)
        """The entries of earlier executions, by key."""
        self._noted = set(self._entries)
        self._waiting: Pairs = []
        """Entries that are written with the next record."""

    async def step(self, key: str, body: Body) -> Entry:
        """The recorded entry of that key; or the result of ``body``, which is recorded."""
        if (known := self._entries.get(key)) is not None:
            return known
        entry = await body()
        finished = unwrapped(entry)
        if not isinstance(finished, CallFinished):
            await self._keep(key, entry)
        elif not finished.attempts:
            self._waiting.append((key, entry))
        elif f"{key}.started" in self._noted:
            await self._keep(key, entry)
        # Otherwise it is the result of a pure call: for all others a start was noted.
        return entry

    async def note(self, key: str, entry: Entry) -> bool:
        """Record a note on the way to a step, once; at once if it matters after a crash."""
        if key in self._noted:
            return False
        self._noted.add(key)
        if must_be_kept(entry):
            await self._keep(key, entry)
        elif not isinstance(unwrapped(entry), RunStarted):
            # The start of a run is in the segment's input.
            self._waiting.append((key, entry))
        return True

    def was_started(self, key: str) -> bool:
        """Whether an earlier execution started the call, and its end was not recorded."""
        return f"{key}.started" in self._entries and key not in self._entries

    def recorded(self, key: str) -> Entry | None:
        """The entry that earlier executions recorded under that key."""
        return self._entries.get(key)

    async def _keep(self, key: str, entry: Entry) -> None:
        pairs, self._waiting = [*self._waiting, (key, entry)], []
        where = f"the run {self._run!r}, {key}"
        record = Record(entries=tuple([(name, Raw(encode(each, None, where))) for name, each in pairs]))
        text = json.encode(record)
        if len(text) > INLINE:
            text = json.encode(Record(blob=await self._blobs.put(self._run, text)))
        await self._journal.record(key, text.decode())


async def read(value: str, blobs: Blobs, where: str) -> Pairs:
    """The entries of a record, by their keys."""
    try:
        record = _decoded(value)
        if record.blob:
            record = _decoded((await blobs.get(record.blob)).decode())
    except (DecodeError, ValueError) as error:
        raise JournalError(where, f"this is not a record of a step: {error}") from error
    return [(key, decode(bytes(entry), where)) for key, entry in record.entries]


def _decoded(text: str) -> Record:
    try:
        return _RECORD.decode(text)
    except DecodeError:
        if "\\ud" not in text.lower():
            raise
    # Half of a surrogate pair, which msgspec cannot decode: each entry is extracted with json instead.
    plain = loads(text)
    pairs = [(str(key), Raw(dumps(entry).encode())) for key, entry in plain.get("entries", ())]
    return Record(entries=tuple(pairs), blob=plain.get("blob", ""))


async def steps_of(journal: Journal, blobs: Blobs, run: str) -> DurableSteps:
    """The steps of a segment, with everything that earlier executions recorded."""
    known: Pairs = []
    for key, value in journal.known.items():
        known += await read(value, blobs, f"the run {run!r}, {key}")
    return DurableSteps(journal, blobs, run, known)


def encodable(encoder: json.Encoder, value: object) -> bytes:
    """A value as JSON, with a replacement character for half of a surrogate pair."""
    try:
        return encoder.encode(value)
    except UnicodeEncodeError:
        return encoder.encode(encodable_json(to_builtins(value)))


def must_be_kept(entry: Entry) -> bool:
    """Whether a note must be durable before the run goes on.

    A call with effects must not be made twice, and a request that a vendor has accepted is fetched from
    there. Anything else may be started again.
    """
    match unwrapped(entry):
        case CallStarted(effect="write") | StepDone():
            return True
        case _:
            return False


def unwrapped(entry: Entry) -> Entry:
    """The innermost entry: of a run inside a call, or inside a call of that run."""
    while isinstance(entry, Nested):
        entry = entry.entry
    return entry
