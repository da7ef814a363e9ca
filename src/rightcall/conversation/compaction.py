"""Compacts the history of a conversation: once, when it has filled a share of the model's window.

First old large results become stubs, which costs nothing and is often enough. If it is not, the oldest
whole exchanges are left out, and one summary stands for them: made of the last summary and what is new,
never of the whole again. Either is recorded, and part of the conversation from then on; what is sent of
it is worked out in ``loop/history_view.py``.
"""

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.conversation.summaries import (
    HistorySummary,
    cut_excerpts,
    excerpt_messages,
    summary_text,
    write_summary,
)
from rightcall.core.entry import Entry, HistoryCompacted
from rightcall.core.events import CompactionStart, Emit
from rightcall.core.message import CompactionMark, Message, Reply, Results, Transcript, User, user_text
from rightcall.core.options import NameCheckedMeta
from rightcall.core.ports import Model
from rightcall.errors import RightcallError, UsageError
from rightcall.log import run_logger
from rightcall.loop.history_view import SentHistory, compaction_key, mark_of, with_stubs
from rightcall.loop.settings import ModelSource, Setup
from rightcall.loop.window import exchange_starts
from rightcall.record.steps import recorded_entry

Summarise: TypeAlias = Callable[[str, Transcript], Awaitable[str] | str]
"""Returns a new summary, of the last one, which is empty at first, and the messages left out since."""

By: TypeAlias = str | Model | Summarise
"""Who summarises: a word of ours or the name of a model, a model, or a function."""

_OUR_WORDS = ("model", "excerpts", "vendor")
_OVERFLOWED = 0.6
"""What is left of a history that the vendor has refused as too long, at the most."""


class Compaction(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """When and how a conversation is compacted: ``rc.Agent(…, compact=rc.Compaction())``."""

    at: float = 0.8
    """The share of the window that the history fills when it is compacted."""
    keep: float = 0.4
    """The share of the window that the newest messages may take after a summary."""
    by: By = "model"
    """Who summarises: ``"model"``, the agent's own; another model, or its name as ``rc.connect`` takes
    it; a function of the last summary and the messages left out since; ``"excerpts"``, no model: each
    message is cut to its beginning; or ``"vendor"``, for vendors that compact on their servers."""
    instructions: str = ""
    """What a model that summarises is told besides: what must not be lost."""
    stub: int | None = 2_000
    """Old results with more bytes of text become stubs first; None for none."""
    keep_tools: Sequence[str] = ()
    """Tools whose calls and results always stay, as they are."""
    timeout: float = 120.0
    """Seconds that a model may take for a summary."""

    def __post_init__(self) -> None:
        if not 0 < self.keep < self.at <= 1:
            raise UsageError(
                f"rc.Compaction: keep is less than at, and both are shares of the window: "
                f"keep={self.keep!r}, at={self.at!r}"
            )
        if isinstance(self.keep_tools, str):
            raise UsageError(
                f"rc.Compaction: keep_tools are several names; write ({self.keep_tools!r},)"
            )
        if not isinstance(self.instructions, str):
            raise UsageError(f"rc.Compaction: instructions are a text, and not {self.instructions!r}")
        if self.stub is not None and self.stub < 0:
            raise UsageError(f"rc.Compaction: stub is a number of bytes or None, and not {self.stub!r}")
        if self.timeout <= 0:
            raise UsageError(f"rc.Compaction: timeout must be more than 0, not {self.timeout!r}")
        if not isinstance(self.by, str) and not hasattr(self.by, "stream") and not callable(self.by):
            raise UsageError(
                'rc.Compaction: by is "model", "excerpts", "vendor", a model or its name, or a function,'
                f" and not {self.by!r}"
            )

    def connect_models(self, model: Callable[[ModelSource], Model], /) -> "Compaction":
        """Returns a copy with the model that it names connected."""
        if isinstance(self.by, str) and self.by not in _OUR_WORDS:
            return replace(self, by=model(self.by))
        return self

    def compact_setup(self, setup: Setup, /) -> Setup:
        """Returns the setup of a run whose history is compacted; the vendor's way needs its options."""
        if self.by == "vendor":
            return _with_vendor_compaction(setup, self)
        return setup

    def compactor(self, setup: Setup, /) -> "HistoryCompactor":
        """Returns what compacts the history of one run."""
        return HistoryCompactor(self, setup)


class CutPlan(Struct, frozen=True, kw_only=True):
    """What a compaction leaves out of what was sent."""

    mark: CompactionMark
    """The mark of the message that will stand for it, without the summary."""
    fallen: Transcript = ()
    """The messages that are summarised; none if only results are shortened."""


class HistoryCompactor:
    """Compacts the history of one run."""

    def __init__(self, settings: Compaction, setup: Setup) -> None:
        assert setup.window is not None
        self._settings = settings
        self._setup = setup
        self._limit = setup.window.tokens
        """The tokens that messages may take; less once the vendor has refused that many."""
        self._sent = SentHistory()
        self._sizes: dict[int, tuple[Message, int]] = {}
        """The tokens of messages, by identity."""
        self._applied: set[str] = set()
        """The keys of compactions that were applied, so that a recorded one is applied once."""

    def messages_to_send(self, messages: Transcript, /) -> Transcript:
        """Returns what is sent of the messages."""
        return self._sent.update(messages)

    async def compact(
        self,
        messages: Transcript,
        turn: int,
        emit: Emit | None,
        /,
        *,
        tainted: bool | None,
        seconds: float | None,
        overflowed: bool = False,
    ) -> Sequence[HistoryCompacted]:
        """Returns what was compacted before a turn, recorded; empty if nothing needed to be."""
        done: list[HistoryCompacted] = []
        steps = self._setup.steps
        for key in (compaction_key(turn), compaction_key(turn, overflowed=True)):
            known = recorded_entry(steps, key)
            if isinstance(known, HistoryCompacted) and key not in self._applied:
                self._applied.add(key)
                done.append(known)
                if known.reason == "overflow":
                    self._limit = _limit_after_overflow(self._limit, known.before)
        if done:
            return done
        if recorded_entry(steps, f"t{turn}.model") is not None:
            # The model was asked with this history: a record is followed, whatever is set now.
            return ()
        key = compaction_key(turn, overflowed=overflowed)
        if key in self._applied:
            return ()
        sent = self._sent.update(messages)
        tokens = self._tokens(sent)
        limit = self._limit
        if overflowed:
            limit = _limit_after_overflow(limit, tokens)
        elif tokens <= limit * self._settings.at:
            return ()
        plan = self._plan(messages, tokens, limit, overflowed=overflowed)
        if plan is None:
            return ()
        plan = replace(plan, mark=replace(plan.mark, tainted=tainted))
        if emit is not None and plan.fallen:
            emit(CompactionStart(turn))

        async def body() -> Entry:
            return await self._carry_out(messages, plan, key, tokens, seconds)

        entry = await steps.step(key, body)
        assert isinstance(entry, HistoryCompacted)
        self._applied.add(key)
        self._limit = limit
        run_logger.info("run %s, %s: %s", self._setup.run, key, describe_compaction(entry))
        return (entry,)

    async def _carry_out(
        self,
        messages: Transcript,
        plan: CutPlan,
        key: str,
        tokens: int,
        seconds: float | None,
    ) -> HistoryCompacted:
        """Have the summary written, and return what the record says of the compaction."""
        clock = self._setup.clock
        started = clock.now()
        summary = HistorySummary("")
        mark = plan.mark
        if plan.fallen:
            earlier = _last_summary(messages)
            before = "" if earlier is None else earlier.summary
            summary = await self._summarise(before, plan.fallen, key, seconds)
            # In bytes, of which four or so are a token: a quarter of what the newest messages may take.
            most = int(self._limit * self._settings.keep)
            mark = replace(mark, summary=summary.cut(summary.text, most))
        message = replace(user_text(summary_text(mark), "runtime"), compaction=mark)
        after = SentHistory()
        kept = after.update((*messages, message))
        return HistoryCompacted(
            key=key,
            message=message,
            reason="overflow" if key.endswith("overflow") else "window",
            before=tokens,
            after=self._tokens(kept),
            seconds=clock.now() - started,
            usage=summary.usage,
            problem=summary.problem,
        )

    async def _summarise(
        self, earlier: str, fallen: Transcript, key: str, seconds: float | None
    ) -> HistorySummary:
        by = self._settings.by
        if by == "excerpts":
            return HistorySummary(excerpt_messages(earlier, fallen), cut=cut_excerpts)
        if not isinstance(by, str) and not hasattr(by, "stream"):
            text: Any = by(earlier, fallen)
            if isawaitable(text):
                text = await text
            if not isinstance(text, str):
                raise UsageError(
                    f"rc.Compaction: a summary is a text, and not of the type {type(text).__name__}"
                )
            return HistorySummary(text)
        model = self._setup.model if isinstance(by, str) else cast("Model", by)
        most = self._settings.timeout
        if seconds is not None:
            most = min(most, seconds)
        try:
            return await write_summary(
                self._setup, model, key, earlier, fallen, self._settings.instructions, most
            )
        except (TimeoutError, RightcallError) as error:
            problem = f"no summary within {most:g} s" if isinstance(error, TimeoutError) else str(error)
            run_logger.warning(
                "run %s, %s: excerpts stand in for a summary: %s", self._setup.run, key, problem
            )
            return HistorySummary(excerpt_messages(earlier, fallen), problem=problem, cut=cut_excerpts)

    def _plan(
        self, messages: Transcript, tokens: int, limit: int, *, overflowed: bool
    ) -> CutPlan | None:
        """Returns what to leave out: large results if that is enough, or whole exchanges."""
        sent = self._sent
        settings = self._settings
        starts = list(exchange_starts(sent.messages, sent.head))
        keep = limit * settings.keep
        cut = _first_that_fits(sent.messages, starts, keep, self._size)
        enough = limit * (settings.at + settings.keep) / 2
        if cut is not None or overflowed:
            # In a history that was refused, even the newest results may be too large.
            before = len(sent.messages) if cut is None else cut
            freed = self._freed_by_stubs(before)
            if freed and (tokens - freed <= enough or cut is None):
                return CutPlan(mark=self._shortening_mark(messages, before))
        if cut is None:
            return None
        return self._drop(messages, cut)

    def _freed_by_stubs(self, before: int) -> int:
        """Returns the tokens that are freed by stubs for the large results before this place."""
        large = self._settings.stub
        if large is None:
            return 0
        freed = 0
        for place in range(self._sent.head, before):
            message = self._sent.messages[place]
            if isinstance(message, Results) and self._sent.indexes[place] >= self._sent.shortened:
                shorter = with_stubs(message, large, self._settings.keep_tools)
                if shorter is not message:
                    freed += self._size(message) - self._setup.count(shorter)
        return freed

    def _shortening_mark(self, messages: Transcript, before: int) -> CompactionMark:
        """Returns the mark of a compaction that only shortens results: those before a place."""
        end = len(messages)
        if before < len(self._sent.indexes):
            end = self._sent.indexes[before]
        return CompactionMark(
            shortened=len(messages) - end,
            large=self._settings.stub or 0,
            whole=tuple(self._settings.keep_tools),
        )

    def _drop(self, messages: Transcript, cut: int) -> CutPlan | None:
        """Leave out what is sent before a place, except what is pinned; None if all of it is."""
        sent = self._sent
        start = sent.indexes[cut]
        pinned = self._pinned_before(messages, cut)
        fallen: list[Message] = []
        for index in sent.indexes[:cut]:
            message = messages[index]
            # The new summary continues the last one, and a note on shortened results says nothing.
            if index not in pinned and mark_of(message) is None:
                fallen.append(message)
        if not fallen:
            return None
        here = len(messages)
        earlier = _last_summary(messages)
        shortened = None
        if self._settings.stub is not None and sent.shortened > start:
            shortened = here - sent.shortened
        mark = CompactionMark(
            kept=here - start,
            pinned=tuple([here - index for index in pinned]),
            left_out=len(fallen) + (0 if earlier is None else earlier.left_out),
            shortened=shortened,
            large=self._settings.stub or 0,
            whole=tuple(self._settings.keep_tools),
        )
        return CutPlan(mark=mark, fallen=tuple(fallen))

    def _pinned_before(self, messages: Transcript, cut: int) -> list[int]:
        """Returns the indexes of the messages that stay, of those that are sent before a place."""
        tasks = _open_requests(messages)
        pinned: list[int] = []
        last = -1
        for index in self._sent.indexes[:cut]:
            match messages[index]:
                case User(pinned=is_pinned):
                    stays = is_pinned or index in tasks
                case Reply(calls=calls):
                    stays = any(call.name in self._settings.keep_tools for call in calls)
                case Results():
                    # With the reply that they belong to.
                    stays = last in pinned
            if stays:
                pinned.append(index)
            last = index
        return pinned

    def _tokens(self, messages: Transcript) -> int:
        return sum([self._size(message) for message in messages])

    def _size(self, message: Message) -> int:
        known = self._sizes.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        size = self._setup.count(message)
        self._sizes[id(message)] = (message, size)
        return size


def _limit_after_overflow(limit: int, tokens: int) -> int:
    """Returns how many tokens may be sent to a vendor that has refused so many."""
    return min(limit, int(tokens * _OVERFLOWED))


def _first_that_fits(
    messages: Transcript, starts: Sequence[int], keep: float, size: Callable[[Message], int]
) -> int | None:
    """Returns the first place from which the rest takes ``keep`` tokens at most; the last if none does.

    None if there is no place to cut at.
    """
    if not starts:
        return None
    tail = 0
    at = len(messages)
    for start in reversed(starts):
        tail += sum([size(message) for message in messages[start:at]])
        if tail > keep:
            return at if at < len(messages) else start
        at = start
    return at


def _last_summary(messages: Transcript) -> CompactionMark | None:
    """Returns the mark of the last message that is a summary; None if there is none."""
    for message in reversed(messages):
        mark = mark_of(message)
        if mark is not None and mark.kept is not None:
            return mark
    return None


def _open_requests(messages: Transcript) -> set[int]:
    """Returns the indexes of what people have asked since the last answer: what is being worked on."""
    found: set[int] = set()
    after: Message | None = None
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if _is_said(message):
            found.add(index)
        elif isinstance(message, Reply) and not message.calls and after is not None and _is_said(after):
            # An answer, after which somebody asked the next thing.
            break
        after = message
    return found


def _is_said(message: Message) -> bool:
    """Whether somebody said it, and not the runtime."""
    return isinstance(message, User) and message.author != "runtime"


def describe_compaction(entry: HistoryCompacted) -> str:
    """Returns one line about a compaction, for the log and the studio."""
    mark = entry.message.compaction
    assert mark is not None
    did = "large results were shortened" if mark.kept is None else "earlier messages were summarised"
    return f"{did}: {entry.before:,} tokens became {entry.after:,}"


_FEWEST_AT_ANTHROPIC = 50_000
"""https://platform.claude.com/docs/en/build-with-claude/compaction#trigger-configuration"""


def _with_vendor_compaction(setup: Setup, settings: Compaction) -> Setup:
    """Returns the setup with the vendor's own compaction asked for; nothing is left out here.

    It is a member of the request's body, in the vendor's words. What the vendor makes of it comes back
    as a part of the reply that this library keeps and sends back as it is.
    """
    assert setup.window is not None
    dialect = getattr(getattr(setup.model, "dialect", None), "name", "")
    tokens = int(setup.window.tokens * settings.at)
    extra: dict[str, Any]
    match dialect:
        case "anthropic":
            edit: dict[str, Any] = {
                "type": "compact_20260112",
                "trigger": {"type": "input_tokens", "value": max(tokens, _FEWEST_AT_ANTHROPIC)},
            }
            if settings.instructions:
                edit["instructions"] = settings.instructions
            extra = {"context_management": {"edits": [edit]}, "betas": ["compact-2026-01-12"]}
        case "openai_responses":
            # https://developers.openai.com/api/docs/guides/compaction
            extra = {"context_management": [{"type": "compaction", "compact_threshold": tokens}]}
        case _:
            spoken = dialect or type(setup.model).__name__
            raise UsageError(
                'rc.Compaction(by="vendor") is for models that are asked by anthropic or '
                f"openai_responses: their vendors compact. This one is asked by {spoken}: "
                'by="model" has it summarise itself'
            )
    given: Any = setup.options.get("extra") or {}
    if "context_management" in given:
        raise UsageError('rc.Compaction(by="vendor") and options.extra both set context_management')
    if "betas" in extra:
        extra["betas"] = [*given.get("betas", ()), *extra["betas"]]
    options = {**setup.options, "extra": {**given, **extra}}
    return replace(setup, options=options, compact=None, window=None)
