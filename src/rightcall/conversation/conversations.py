"""Conversations by id: what was said in each, the runs that said it, and one run of each at a time.

A run of a conversation is noted before it begins, and its messages are appended in one transaction when
it ends. Between the two the conversation is locked, for other processes too; the lock ends with its
process. A run that is found noted and unlocked died on the way: the agent recovers it from its journal
before the next one begins. Appending is by the run's name, so that doing it again changes nothing.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic, time
from typing import Any, Literal, Self, TypeAlias

from msgspec import DecodeError, Struct, json, to_builtins
from msgspec.structs import replace

from rightcall.conversation.database import ConversationDatabase, Query, database_at
from rightcall.core.history import mend
from rightcall.core.message import Message, Transcript, User
from rightcall.core.options import check_keywords, fits
from rightcall.core.sanitize import encodable_json
from rightcall.errors import ConversationBusy, JournalError, UsageError
from rightcall.gate.executor import checked_async
from rightcall.loop.result import RunResult
from rightcall.record.transcript_markdown import markdown_lines
from rightcall.record.waits import off_loop

_PAUSE = 0.05
"""Seconds between two tries to lock a conversation that another process has locked."""
_PAGE = 50
_MOST_CACHED = 32
"""Conversations whose messages are kept in memory, to be read once and not for every run."""

ConversationRunStatus: TypeAlias = Literal["running", "waiting", "done", "failed", "lost", "abandoned"]
"""``waiting``: for a person. ``failed``: an error ended it, and what it had said was appended. ``lost``:
its process died and no journal had it; the user's message was appended. ``abandoned``: somebody ended
its wait."""


class ConversationInfo(Struct, frozen=True, kw_only=True):
    """A conversation, without its messages."""

    id: str
    title: str
    length: int
    """How many messages it has."""
    created: float
    updated: float
    """Seconds since 1970."""


class ConversationRun(Struct, frozen=True, kw_only=True):
    """A run of a conversation."""

    run: str
    status: ConversationRunStatus
    stop: str
    """Why it ended, in a word; empty before that."""
    begun: float
    ended: float
    """Seconds since 1970; 0 for a run that has not ended."""
    start: int
    """How many messages the conversation had when it began."""
    count: int
    """How many messages it appended."""


class StoredConversation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A conversation as ``export`` writes it."""

    id: str
    title: str = ""
    created: float = 0.0
    messages: Transcript = ()
    version: int = 1


class _Row(Struct, frozen=True):
    """The row of a conversation."""

    number: int
    length: int
    version: int


class _OpenRun(Struct, frozen=True, kw_only=True):
    """A run that began and has not ended."""

    run: str
    status: ConversationRunStatus
    keeper: str
    start: int
    prompt: User


_ENCODER = json.Encoder()
_MESSAGE: json.Decoder[Message] = json.Decoder(Message)
_USER: json.Decoder[User] = json.Decoder(User)
_STORED: json.Decoder[StoredConversation] = json.Decoder(StoredConversation)
_RUNS = "SELECT run, status, stop, begun, ended, start, count FROM rightcall_conversation_runs"
_INFO = "SELECT id, title, length, created, updated FROM rightcall_conversations"


class Conversations:
    """Conversations by id, for ``rc.Agent(…, conversations=…)`` and ``agent.run("…", conversation=id)``.

    Args:
        address: A path or ``sqlite:///chat.db`` for an SQLite file, ``postgresql://…`` for a server,
            nothing for memory.
        wait: How many seconds a run waits while another one of its conversation goes on, before
            ConversationBusy; 0 to be told at once.
    """

    @check_keywords("rc.Conversations")
    def __init__(self, address: str = "", *, wait: float = 30.0) -> None:
        if not wait >= 0:
            raise UsageError(f"rc.Conversations: wait is seconds, 0 or more, and not {wait!r}")
        self.wait = wait
        self._database: ConversationDatabase = database_at(address)
        self._turns: dict[str, _InTurn] = {}
        self._cache: OrderedDict[int, tuple[int, Transcript]] = OrderedDict()
        """By the number of a conversation: its version, and its messages."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the database. Closing twice is fine."""
        await off_loop(self._database.close, "conversations")

    # What was said.

    @checked_async("conversations.messages")
    async def messages(
        self, conversation: str, *, last: int | None = None, before: int | None = None
    ) -> Transcript:
        """The messages of a conversation; with ``last``, so many of the latest ones.

        ``before`` is a place: only messages before it. A page costs the same however long the
        conversation is. A conversation that does not exist has none.
        """
        _check_number("conversations.messages", "last", last)
        _check_number("conversations.messages", "before", before)

        def look(query: Query) -> list[tuple[Any, ...]]:
            row = _find(query, conversation)
            if row is None:
                return []
            end = row.length if before is None else before
            begin = 0 if last is None else max(end - last, 0)
            return query(
                "SELECT message FROM rightcall_messages "
                "WHERE conversation = ? AND place >= ? AND place < ? ORDER BY place",
                *(row.number, begin, end),
            )

        return _read_messages(conversation, await self._database.look(look))

    @checked_async("conversations.append")
    async def append(
        self, conversation: str, messages: Sequence[Message], *, at: int | None = None
    ) -> int:
        """Append messages of your own; returns how many there are now.

        It waits for a run that goes on, as a run does, and raises ConversationBusy if one waits for a
        person. ``at`` is how many there must be before; if there are others, this raises
        ConversationBusy and appends nothing.
        """
        _check_id(conversation)
        _check_number("conversations.append", "at", at)
        messages = _check_messages(messages)

        def check(length: int) -> None:
            if at is not None and length != at:
                raise ConversationBusy(
                    conversation, "", reason=f"has {length} messages, not {at}: read it again"
                )

        def look(query: Query) -> int:
            row = _find(query, conversation)
            return 0 if row is None else row.length

        def change(query: Query) -> int:
            row = _make(query, conversation)
            check(row.length)
            _insert(query, row, "", messages)
            return row.length + len(messages)

        check(await self._database.look(look))
        async with self.in_turn(conversation):
            going = await self.open_run(conversation)
            if going is not None and going.status == "waiting":
                raise ConversationBusy(conversation, going.run, waits=True)
            return await self._database.change(change)

    @checked_async("conversations.export")
    async def export(self, conversation: str, *, form: Literal["json", "markdown"] = "json") -> str:
        """A conversation as JSON, which ``restore`` reads, or as Markdown, which people read."""
        info = await self.info(conversation)
        messages = await self.messages(conversation)
        if form == "markdown":
            return "\n".join([f"# {info.title or info.id}\n", *markdown_lines(messages)])
        stored = StoredConversation(
            id=info.id, title=info.title, created=info.created, messages=messages
        )
        return _encode(stored)

    @checked_async("conversations.restore")
    async def restore(self, exported: str | bytes, *, id: str | None = None) -> str:  # noqa: A002
        """Store a conversation that ``export`` wrote as JSON; returns its id, which must be new."""
        try:
            stored = _STORED.decode(exported)
        except DecodeError as error:
            raise UsageError(f"this is not what conversations.export wrote: {error}") from error
        name = _check_id(stored.id if id is None else id)

        def change(query: Query) -> None:
            _refuse_known(query, name)
            row = _make(query, name)
            _insert(query, row, "", stored.messages)
            query(
                "UPDATE rightcall_conversations SET title = ?, created = ? WHERE number = ?",
                *(stored.title, stored.created, row.number),
            )

        await self._database.change(change)
        return name

    # Which there are.

    @checked_async("conversations.list")
    async def list(
        self, *, limit: int = _PAGE, before: float | None = None
    ) -> Sequence[ConversationInfo]:
        """The conversations, the latest first; ``before``: only those last updated before that time."""
        _check_number("conversations.list", "limit", limit)

        def look(query: Query) -> list[tuple[Any, ...]]:
            where = "" if before is None else "WHERE updated < ?"
            values = () if before is None else (before,)
            return query(f"{_INFO} {where} ORDER BY updated DESC LIMIT ?", *values, limit)

        return [_info(row) for row in await self._database.look(look)]

    async def info(self, conversation: str) -> ConversationInfo:
        """A conversation without its messages. Raises UsageError if there is none of that id."""

        def look(query: Query) -> list[tuple[Any, ...]]:
            return query(f"{_INFO} WHERE id = ?", conversation)

        found = await self._database.look(look)
        if not found:
            raise _unknown(conversation)
        return _info(found[0])

    async def runs(self, conversation: str) -> Sequence[ConversationRun]:
        """The runs of a conversation, the first one first."""

        def look(query: Query) -> list[tuple[Any, ...]]:
            row = _find_known(query, conversation)
            return query(f"{_RUNS} WHERE conversation = ? ORDER BY begun", row.number)

        found = await self._database.look(look)
        return [
            ConversationRun(
                run=run, status=status, stop=stop, begun=begun, ended=ended, start=start, count=count
            )
            for run, status, stop, begun, ended, start, count in found
        ]

    async def waiting(self, conversation: str) -> RunResult[Any] | None:
        """The run of a conversation that waits for a person, for ``agent.resume``; None if none does."""

        def look(query: Query) -> list[tuple[Any, ...]]:
            row = _find_known(query, conversation)
            return query(
                "SELECT result FROM rightcall_conversation_runs "
                "WHERE conversation = ? AND status = 'waiting' ORDER BY begun DESC LIMIT 1",
                row.number,
            )

        found = await self._database.look(look)
        if not found:
            return None
        return replace(RunResult.from_json(found[0][0]), conversation=conversation)

    # What can be done with one.

    @checked_async("conversations.rename")
    async def rename(
        self,
        conversation: str,
        *,
        id: str | None = None,  # noqa: A002
        title: str | None = None,
    ) -> None:
        """Give a conversation another id, which waits for its run to end, another title, or both."""
        name = None if id is None else _check_id(id)

        def change(query: Query) -> None:
            row = _find_known(query, conversation)
            if name is not None and name != conversation:
                _refuse_known(query, name)
                query("UPDATE rightcall_conversations SET id = ? WHERE number = ?", name, row.number)
            if title is not None:
                entitle = "UPDATE rightcall_conversations SET title = ? WHERE number = ?"
                query(entitle, title, row.number)

        if name is None:
            await self._database.change(change)
            return
        # A run has the conversation by its id: under a new one another could begin beside it.
        async with self.in_turn(conversation):
            await self._database.change(change)

    @checked_async("conversations.fork")
    async def fork(self, conversation: str, new: str, *, at: int | None = None) -> None:
        """Copy a conversation under a new id; ``at``: only so many of its first messages."""
        _check_id(new)

        def change(query: Query) -> None:
            row = _find_known(query, conversation)
            _refuse_known(query, new)
            copy = _make(query, new)
            count = row.length if at is None else at
            if not 0 <= count <= row.length:
                raise UsageError(
                    f"the conversation {conversation!r} has {row.length} messages; fork at one of them, "
                    f"and not at {at}"
                )
            query(
                "INSERT INTO rightcall_messages (conversation, place, run, at, message) "
                "SELECT ?, place, '', at, message FROM rightcall_messages "
                "WHERE conversation = ? AND place < ?",
                *(copy.number, row.number, count),
            )
            _update(query, copy.number, count)

        await self._database.change(change)

    async def delete(self, conversation: str) -> bool:
        """Delete a conversation with its messages and runs; returns whether there was one."""

        def change(query: Query) -> bool:
            row = _find(query, conversation)
            if row is None:
                return False
            for table, column in (
                ("rightcall_messages", "conversation"),
                ("rightcall_conversation_runs", "conversation"),
                ("rightcall_conversations", "number"),
            ):
                query(f"DELETE FROM {table} WHERE {column} = ?", row.number)  # noqa: S608 - our own names
            return True

        return await self._database.change(change)

    async def abandon(self, conversation: str) -> bool:
        """Give up a run that waits for a person, or whose process died, and append what it had said.

        Its calls without a result are answered as not recorded. Returns whether there was such a run.
        """
        async with self.in_turn(conversation):
            paused = await self.waiting(conversation)
            if paused is not None:
                messages = mend(paused.transcript[paused.begins :]).messages
                return await self.settle(paused.run, messages, "abandoned", "abandoned")
            begun = await self.open_run(conversation)
            if begun is None:
                return False
            return await self.settle(begun.run, (begun.prompt,), "abandoned", "abandoned")

    # What an agent's runs do.

    @asynccontextmanager
    async def in_turn(self, conversation: str) -> AsyncIterator[None]:
        """Have a conversation to oneself; ConversationBusy if another has it too long."""
        _check_id(conversation)
        end = monotonic() + self.wait
        turn = self._turns.setdefault(conversation, _InTurn())
        turn.users += 1
        unlock: Callable[[], None] | None = None
        try:
            try:
                async with asyncio.timeout(self.wait):
                    await turn.lock.acquire()
            except TimeoutError:
                raise ConversationBusy(conversation, "") from None
            try:
                while True:
                    unlock = await off_loop(
                        partial(self._database.try_lock, conversation), "conversations"
                    )
                    if unlock is not None:
                        break
                    if monotonic() >= end:
                        raise ConversationBusy(conversation, "")
                    await asyncio.sleep(_PAUSE)
                yield
            finally:
                try:
                    if unlock is not None:
                        await off_loop(unlock, "conversations")
                finally:
                    turn.lock.release()
        finally:
            turn.users -= 1
            if not turn.users:
                self._turns.pop(conversation, None)

    async def open_run(self, conversation: str) -> _OpenRun | None:
        """The run of a conversation that began and has not ended; None if there is none."""

        def look(query: Query) -> list[tuple[Any, ...]]:
            row = _find(query, conversation)
            if row is None:
                return []
            return query(
                "SELECT run, status, keeper, start, prompt FROM rightcall_conversation_runs "
                "WHERE conversation = ? AND status IN ('running', 'waiting') ORDER BY begun LIMIT 1",
                row.number,
            )

        found = await self._database.look(look)
        if not found:
            return None
        run, status, keeper, start, prompt = found[0]
        return _OpenRun(run=run, status=status, keeper=keeper, start=start, prompt=_USER.decode(prompt))

    async def conversation_of(self, run: str) -> str | None:
        """The conversation that a run is of; None if it is of none."""

        def look(query: Query) -> list[tuple[Any, ...]]:
            return query(
                "SELECT id FROM rightcall_conversations WHERE number = "
                "(SELECT conversation FROM rightcall_conversation_runs WHERE run = ?)",
                run,
            )

        found = await self._database.look(look)
        return found[0][0] if found else None

    async def status_of(self, run: str) -> ConversationRunStatus | None:
        """What has become of a run; None if it is of no conversation."""

        def look(query: Query) -> list[tuple[Any, ...]]:
            return query("SELECT status FROM rightcall_conversation_runs WHERE run = ?", run)

        found = await self._database.look(look)
        return found[0][0] if found else None

    async def begin(self, conversation: str, run: str, prompt: User, keeper: str) -> Transcript:
        """Note that a run begins; returns the messages before it.

        A run that has begun already, in a process that died, begins with the same messages.
        """
        text = _encode(prompt)

        def change(query: Query) -> tuple[_Row, int, list[tuple[Any, ...]] | None]:
            row = _make(query, conversation)
            known = query(
                "SELECT start, conversation, keeper FROM rightcall_conversation_runs WHERE run = ?", run
            )
            start = row.length
            if known:
                start, number, again = known[0]
                if number != row.number or not again or again != keeper:
                    raise UsageError(f"there is a run {run!r} already; name this one otherwise")
            else:
                query(
                    "INSERT INTO rightcall_conversation_runs (run, conversation, status, keeper, stop, "
                    "begun, ended, start, count, prompt, result) "
                    "VALUES (?, ?, 'running', ?, '', ?, 0, ?, 0, ?, '')",
                    *(run, row.number, keeper, time(), start, text),
                )
            cached = self._cache.get(row.number)
            if cached is not None and cached[0] == row.version:
                return row, start, None
            rows = query(
                "SELECT message FROM rightcall_messages WHERE conversation = ? ORDER BY place",
                row.number,
            )
            return row, start, rows

        row, start, rows = await self._database.change(change)
        if rows is None:
            messages = self._cache[row.number][1]
        else:
            messages = _read_messages(conversation, rows)
        self._remember(row.number, row.version, messages)
        return messages[:start]

    async def pause(self, result: RunResult[Any]) -> None:
        """Note that a run waits for a person, with all that is needed to resume it."""

        def change(query: Query) -> None:
            query(
                "UPDATE rightcall_conversation_runs SET status = 'waiting', stop = ?, result = ? "
                "WHERE run = ?",
                *(str(result.stop), result.to_json().decode(), result.run),
            )

        await self._database.change(change)

    async def settle(
        self, run: str, messages: Sequence[Message], status: ConversationRunStatus, stop: str
    ) -> bool:
        """Append the messages of a run that has ended. Doing it again replaces them.

        Returns false, and changes nothing, if the conversation is gone, or has gone on since.
        """

        def change(query: Query) -> tuple[_Row, int] | None:
            known = query(
                "SELECT conversation, start, count FROM rightcall_conversation_runs WHERE run = ?", run
            )
            if not known:
                return None
            number, start, count = known[0]
            row = _by_number(query, number)
            if count:
                if not messages or row.length != start + count:
                    return None
                query(
                    "DELETE FROM rightcall_messages WHERE conversation = ? AND place >= ?", number, start
                )
                row = _Row(number, start, row.version)
            _insert(query, row, run, messages)
            query(
                "UPDATE rightcall_conversation_runs SET status = ?, stop = ?, ended = ?, start = ?, "
                "count = ?, result = '' WHERE run = ?",
                *(status, stop, time(), row.length, len(messages), run),
            )
            return row, row.length

        done = await self._database.change(change)
        if done is None:
            return False
        row, length = done
        cached = self._cache.get(row.number)
        if cached is not None and cached[0] == row.version and len(cached[1]) >= length:
            # The same objects, so that what the agent has encoded of them is found by its next run.
            self._remember(row.number, row.version + 1, (*cached[1][:length], *messages))
        return True

    def _remember(self, number: int, version: int, messages: Transcript) -> None:
        self._cache[number] = (version, messages)
        self._cache.move_to_end(number)
        if len(self._cache) > _MOST_CACHED:
            self._cache.popitem(last=False)


class _InTurn:
    """Those of this process who want a conversation, one after the other."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


def _check_id(conversation: str) -> str:
    if not fits(conversation, str) or not conversation.strip() or "\0" in conversation:
        raise UsageError(f"a conversation's id is a text that is not blank, and not {conversation!r}")
    return conversation


def _check_number(place: str, name: str, value: int | None) -> None:
    if value is not None and value < 0:
        raise UsageError(f"{place}: {name} is 0 or more, and not {value!r}")


def _check_messages(messages: object) -> Transcript:
    """Returns messages that can be read again; raises UsageError for anything else."""
    if isinstance(messages, Message):
        kind = type(messages).__name__
        raise UsageError(f"conversations.append takes a list of messages: [{kind}(…)]")
    if not isinstance(messages, list | tuple):
        raise UsageError(f'conversations.append takes a list, as [rc.User("…")], and not {messages!r}')
    for place, message in enumerate(messages):
        where = f"messages[{place}] of conversations.append"
        if isinstance(message, dict):
            raise UsageError(
                f"{where} is a dict; rc.wire.from_messages makes messages of those of a vendor"
            )
        if not isinstance(message, Message):
            raise UsageError(f'{where} is no message, as rc.User("…"): {message!r}')
        try:
            _MESSAGE.decode(_encode(message))
        except (DecodeError, TypeError) as error:
            raise UsageError(f"{where} could not be read again: {error}") from error
    return tuple(messages)


def _find(query: Query, conversation: str) -> _Row | None:
    found = query(
        "SELECT number, length, version FROM rightcall_conversations WHERE id = ?", conversation
    )
    return _Row(*found[0]) if found else None


def _find_known(query: Query, conversation: str) -> _Row:
    row = _find(query, conversation)
    if row is None:
        raise _unknown(conversation)
    return row


def _make(query: Query, conversation: str) -> _Row:
    """Returns the row of a conversation, which nobody else changes until the transaction ends."""
    now = time()
    # An update that changes nothing, instead of "do nothing": in Postgres it locks the row.
    found = query(
        "INSERT INTO rightcall_conversations (id, title, created, updated, length, version) "
        "VALUES (?, '', ?, ?, 0, 0) ON CONFLICT (id) DO UPDATE SET id = excluded.id "
        "RETURNING number, length, version",
        *(conversation, now, now),
    )
    return _Row(*found[0])


def _by_number(query: Query, number: int) -> _Row:
    """The same, by the row's number."""
    found = query(
        "UPDATE rightcall_conversations SET id = id WHERE number = ? RETURNING number, length, version",
        number,
    )
    return _Row(*found[0])


def _refuse_known(query: Query, conversation: str) -> None:
    if _find(query, conversation) is not None:
        raise UsageError(f"there is a conversation {conversation!r} already; choose another id")


def _insert(query: Query, row: _Row, run: str, messages: Iterable[Message]) -> None:
    """Write messages at the end of a conversation."""
    now = time()
    place = row.length
    for message in messages:
        query(
            "INSERT INTO rightcall_messages (conversation, place, run, at, message) "
            "VALUES (?, ?, ?, ?, ?)",
            *(row.number, place, run, now, _encode(message)),
        )
        place += 1
    _update(query, row.number, place)


def _update(query: Query, number: int, length: int) -> None:
    query(
        "UPDATE rightcall_conversations SET length = ?, updated = ?, version = version + 1 "
        "WHERE number = ?",
        *(length, time(), number),
    )


def _encode(value: object) -> str:
    try:
        return _ENCODER.encode(value).decode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, which no database holds: a replacement character is better.
        return _ENCODER.encode(encodable_json(to_builtins(value))).decode()


def _read_messages(conversation: str, rows: Iterable[tuple[Any, ...]]) -> Transcript:
    try:
        return tuple([_MESSAGE.decode(text) for (text,) in rows])
    except DecodeError as error:
        where = f"the conversation {conversation!r}"
        raise JournalError(where, f"this is no message: {error}") from error


def _info(row: tuple[Any, ...]) -> ConversationInfo:
    name, title, length, created, updated = row
    return ConversationInfo(id=name, title=title, length=length, created=created, updated=updated)


def _unknown(conversation: str) -> UsageError:
    return UsageError(f"there is no conversation {conversation!r}")
