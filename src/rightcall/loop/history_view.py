"""What is sent of a transcript whose earlier messages were compacted, and what a record says of that.

A compaction adds one message with a mark to the transcript and takes none away. What is sent follows
from the transcript alone: the pinned messages, the last summary, the messages right before it that
were kept, and everything after it. So a run that is recovered, replayed or continued elsewhere sends the
same, and between two compactions what is sent only grows at its end.
"""

from collections.abc import Iterable, Mapping, Sequence

from rightcall.core.entry import Entry, HistoryCompacted
from rightcall.core.events import Emit
from rightcall.core.message import CompactionMark, Message, Reply, Results, Transcript, User
from rightcall.core.parts import Result
from rightcall.loop.settings import Setup
from rightcall.loop.window import stub_for


def compaction_key(turn: int, *, overflowed: bool = False) -> str:
    """Returns the key of the step that compacts the history before a turn."""
    if overflowed:
        return f"t{turn}.overflow"
    return f"t{turn}.compact"


def mark_of(message: Message) -> CompactionMark | None:
    """Returns the mark of a message that is sent in place of earlier ones; None of any other."""
    if isinstance(message, User):
        return message.compaction
    return None


class SentHistory:
    """What is sent of one transcript, which grows."""

    def __init__(self) -> None:
        self.messages: Transcript = ()
        """The messages to send."""
        self.indexes: tuple[int, ...] = ()
        """Where in the transcript each of them is."""
        self.head = 0
        """How many of them are pinned ones and the summary: what comes before the messages kept."""
        self.shortened = 0
        """Large results of messages before this index of the transcript are sent as stubs."""
        self._seen = 0
        self._stubs: dict[int, tuple[Message, Message]] = {}
        """Messages with stubs, by the identity of the original: the same object each time, since what
        was encoded of it is kept by its identity."""

    def update(self, transcript: Transcript) -> Transcript:
        """Returns what is sent of the transcript now."""
        new = transcript[self._seen :]
        if self._seen == 0 or any(mark_of(message) is not None for message in new):
            self._rebuild(transcript)
        elif new:
            self.messages += new
            self.indexes += tuple(range(self._seen, len(transcript)))
        self._seen = len(transcript)
        return self.messages

    def _rebuild(self, transcript: Transcript) -> None:
        summary = -1
        latest: CompactionMark | None = None
        self.shortened = 0
        for index in range(len(transcript) - 1, -1, -1):
            mark = mark_of(transcript[index])
            if mark is None:
                continue
            if latest is None:
                latest = mark
                if mark.shortened is not None:
                    self.shortened = index - mark.shortened
            if mark.kept is not None:
                summary = index
                break
        indexes: list[int] = []
        if summary >= 0:
            indexes += _pinned_before(transcript, summary)
            indexes.append(summary)
            self.head = len(indexes)
            indexes += _kept_before(transcript, summary)
        else:
            self.head = 0
        indexes += range(summary + 1, len(transcript))
        self.indexes = tuple(indexes)
        self.messages = tuple([self._stub_message(transcript[at], at, latest) for at in indexes])

    def _stub_message(self, message: Message, index: int, mark: CompactionMark | None) -> Message:
        if mark is None or index >= self.shortened or not isinstance(message, Results):
            return message
        known = self._stubs.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        shorter = with_stubs(message, mark.large, mark.whole)
        self._stubs[id(message)] = (message, shorter)
        return shorter


def with_stubs(message: Results, large: int, whole: Sequence[str]) -> Results:
    """Returns the message with stubs for its large results, except those of the tools in ``whole``."""
    results: list[Result] = []
    is_changed = False
    for result in message.results:
        shorter = result
        if result.name not in whole and _size_of(result) > large:
            shorter = stub_for(result)
            is_changed = True
        results.append(shorter)
    if is_changed:
        return Results(tuple(results))
    return message


def _size_of(result: Result) -> int:
    size = len(result.text.encode(errors="replace"))
    for part in result.content:
        if not hasattr(part, "text"):
            size += len(part.data)
    return size


def _pinned_before(transcript: Transcript, summary: int) -> list[int]:
    """Returns the indexes of the pinned messages, calls never without their results."""
    mark = mark_of(transcript[summary])
    assert mark is not None
    places = sorted([summary - before for before in mark.pinned if 0 < before <= summary])
    found: list[int] = []
    for at in places:
        message = transcript[at]
        if isinstance(message, Results):
            # Sent with the reply before it, or not at all.
            continue
        found.append(at)
        if isinstance(message, Reply) and message.calls:
            if isinstance(transcript[at + 1], Results):
                found.append(at + 1)
            else:
                found.pop()
    return found


def _kept_before(transcript: Transcript, summary: int) -> list[int]:
    """Returns the indexes of the messages right before the summary that are sent after it."""
    mark = mark_of(transcript[summary])
    assert mark is not None
    start = max(summary - (mark.kept or 0), 0)
    if start < summary and isinstance(transcript[start], Results) and start > 0:
        # The beginning of the transcript is not what it was: the calls of these results come along.
        start -= 1
    # Earlier summaries are part of this one.
    return [at for at in range(start, summary) if mark_of(transcript[at]) is None]


class RecordedCompaction:
    """Compacts a history as its record says, and nothing else: for replays."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: Mapping[str, HistoryCompacted] = {
            entry.key: entry for entry in entries if isinstance(entry, HistoryCompacted)
        }
        self._sent = SentHistory()

    async def compact(
        self,
        messages: Transcript,  # noqa: ARG002 - the record says what was compacted
        turn: int,
        emit: Emit | None,  # noqa: ARG002
        /,
        *,
        tainted: bool | None,  # noqa: ARG002
        seconds: float | None,  # noqa: ARG002
        overflowed: bool = False,
    ) -> Sequence[HistoryCompacted]:
        """Returns what was compacted before a turn, as recorded."""
        if overflowed:
            # Whatever the record says of this turn was applied before the model was asked.
            return ()
        keys = (compaction_key(turn), compaction_key(turn, overflowed=True))
        return [self._entries[key] for key in keys if key in self._entries]

    def messages_to_send(self, messages: Transcript, /) -> Transcript:
        """Returns what is sent of the messages."""
        return self._sent.update(messages)


class RecordedCompactions:
    """Takes the place of a run's compaction setting in a replay."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def connect_models(self, _: object, /) -> "RecordedCompactions":
        """Returns itself: nothing is asked."""
        return self

    def compact_setup(self, setup: Setup, /) -> Setup:
        """Returns the setup as it is."""
        return setup

    def compactor(self, _: Setup, /) -> RecordedCompaction:
        """Returns what compacts the replayed run."""
        return RecordedCompaction(self._entries)


def is_compacted(messages: Transcript, entries: Iterable[Entry]) -> bool:
    """Whether a run began with a compacted history, or compacted it itself."""
    if any(isinstance(entry, HistoryCompacted) for entry in entries):
        return True
    return any(mark_of(message) is not None for message in messages)
