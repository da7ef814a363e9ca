"""Selects the part of a transcript that is sent, so that it fits a token budget.

Old large results are replaced by stubs that say what was there. If that is not enough, the oldest
exchanges are left out, each as a whole: a reply with its results and the runtime's notes on them, or a
user message. The first and the last user message stay, and so does the newest exchange. A cut goes well
below the budget, so that many turns pass until the next. Between two cuts what is sent only grows at its
end, so that a vendor's prompt cache stays valid.

The transcript must be sound, as ``core.history`` makes it. Nothing here knows a model.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import is_

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.jsontext import dump
from rightcall.core.message import (
    Message,
    Reply,
    Results,
    Transcript,
    User,
    estimate_tokens,
    holds_much,
    most_tokens,
    user_text,
)
from rightcall.core.options import TypeCheckedMeta
from rightcall.core.parts import Media, Result, Text
from rightcall.core.ports import TokenCounter
from rightcall.core.request import Conversation
from rightcall.core.sanitize import encodable
from rightcall.errors import UsageError

UNKNOWN_CONTEXT = 128_000
"""The context in tokens that is assumed if a model's is not known: what most have, or more."""

_SNIPPET = 80
"""The most characters of a result that its stub shows."""


class Window(Struct, frozen=True, kw_only=True, gc=False, metaclass=TypeCheckedMeta):
    """How much of a transcript is sent."""

    tokens: int
    """The token limit for messages. The system prompt, the tools and the answer need more room."""
    keep: float = 0.6
    """The share of the limit that is kept after a cut; more only if recent messages fill it."""
    stub_tokens: int = 500
    """Results larger than this become stubs once they are old."""
    recent: int = 4
    """How many of the newest messages are stubbed or dropped only if nothing else helps."""

    def __post_init__(self) -> None:
        if self.tokens < 1 or not 0 < self.keep <= 1 or self.stub_tokens < 0 or self.recent < 0:
            raise UsageError(f"no window can be like this: {self}")


def default_window(context: int | None, max_tokens: int | None, tools: int = 0) -> Window:
    """Returns the window that a model's context leaves, with room for the reply, the tools and error.

    ``tools`` is how many tokens the tools take. An unknown context counts as 128,000 tokens.
    """
    context = context or UNKNOWN_CONTEXT
    return Window(tokens=max(int(context * 0.75) - (max_tokens or 0) - tools, context // 4))


class WindowView(Struct, frozen=True, kw_only=True, gc=False):
    """What is sent of a transcript now, and what the next ``update_view`` needs to know."""

    transcript: Transcript = ()
    """The transcript so far."""
    messages: Transcript = ()
    """The messages to send. After the first ``head`` of them come the transcript's, from ``start``
    on."""
    sizes: tuple[int, ...] = ()
    """The tokens of each message in ``messages``."""
    tokens: int = 0
    """The sum of ``sizes``."""
    budget: int = 0
    """The most tokens that should be sent."""
    ends: tuple[int, int] = (-1, -1)
    """The index of the first user message, and of the last that is not a note of the runtime; -1 for
    none."""
    start: int = 0
    head: int = 0
    kept: tuple[int, ...] = ()
    """The indexes of messages before ``start`` that are sent all the same."""
    stubbed: int = 0
    """Large results before this index have been stubbed."""
    cuts: int = 0
    """How often the beginning of ``messages`` has changed."""

    @property
    def seen_count(self) -> int:
        """How many messages of the transcript were processed."""
        return len(self.transcript)

    @property
    def over(self) -> bool:
        """Whether even the least that can be sent exceeds the budget."""
        return self.tokens > self.budget


def update_view(
    view: WindowView | None,
    transcript: Transcript,
    window: Window,
    count: TokenCounter = estimate_tokens,
) -> WindowView:
    """Returns the view of a grown transcript. Only new messages are counted, unless a cut is needed.

    Before each new reply the model was asked, and what was sent may have been cut then. The same is done
    here, so that a run which continues a long conversation sends what the last one sent, and more at its
    end.
    """
    view = view or WindowView()
    if view.transcript[-1:] != transcript[view.seen_count - 1 : view.seen_count]:
        raise UsageError("the transcript is not the one that was looked at before; look at it anew")
    new: list[int] = []
    tokens = view.tokens
    for index in range(view.seen_count, len(transcript)):
        message = transcript[index]
        if new and tokens > window.tokens and isinstance(message, Reply):
            view = _cut(_grow(view, transcript[:index], new, window), window, count)
            new = []
            tokens = view.tokens
        new.append(count(message))
        tokens += new[-1]
    grown = _grow(view, transcript, new, window)
    if grown.over:
        return _cut(grown, window, count)
    return grown


def _grow(view: WindowView, transcript: Transcript, sizes: Sequence[int], window: Window) -> WindowView:
    """Returns the view with messages of these sizes added at its end."""
    new = transcript[view.seen_count :]
    return replace(
        view,
        transcript=transcript,
        messages=transcript if view.messages is view.transcript else view.messages + new,
        sizes=view.sizes + tuple(sizes),
        tokens=view.tokens + sum(sizes),
        budget=window.tokens,
        ends=_ends(view, new),
    )


def messages_to_send(view: WindowView, transcript: Transcript) -> Transcript:
    """Returns the messages to send."""
    if len(transcript) != view.seen_count:
        raise UsageError(
            f"the view is of {view.seen_count} messages, not of {len(transcript)}; look again"
        )
    return view.messages


def _cut(view: WindowView, window: Window, count: TokenCounter) -> WindowView:
    """Returns the view after as few cuts as necessary, the mildest first."""
    low = int(window.tokens * window.keep)
    stops = list(exchange_starts(view.transcript, view.start))
    newest = stops[-1] if stops else view.start
    old = [stop for stop in stops if stop <= view.seen_count - window.recent]
    before_last = [stop for stop in old if stop <= view.ends[1]]
    cut = view
    least = next(_totals(view, [newest], count))
    if least > window.tokens:
        # The newest exchange alone does not fit: leaving out the rest would not help.
        cut = _stub(cut, range(newest, view.seen_count), view.tokens - least + low, window, count)
    if cut.over:
        recent = next(_totals(cut, old[-1:] or [view.start], count))
        if recent > low:
            # Even without all old messages the target would not be reached, so aim for less.
            low = recent + int((window.tokens - recent) * window.keep)
        cut = _stub(cut, range(cut.stubbed, old[-1] if old else 0), low, window, count)
        cut = _drop(cut, before_last, low, count)
        cut = _drop(cut, old, low, count)
        cut = _stub(cut, range(cut.stubbed, newest), window.tokens, window, count)
        cut = _drop(cut, stops, window.tokens, count)
    if cut.messages is view.messages:
        return cut
    return replace(cut, cuts=view.cuts + 1)


def exchange_starts(transcript: Transcript, start: int) -> Iterator[int]:
    """Yields the indexes after ``start`` where a new exchange begins."""
    in_exchange = False
    for index in range(start, len(transcript)):
        message = transcript[index]
        is_note = isinstance(message, User) and message.author == "runtime"
        is_inside = isinstance(message, Results) or (is_note and in_exchange)
        in_exchange = is_inside or isinstance(message, Reply)
        if index > start and not is_inside:
            yield index


def _ends(view: WindowView, new: Transcript) -> tuple[int, int]:
    first, last = view.ends
    for index, message in enumerate(new, view.seen_count):
        if isinstance(message, User):
            first = index if first < 0 else first
            if last < 0 or message.author != "runtime":
                last = index
    return first, last


def _stub(view: WindowView, span: range, goal: int, window: Window, count: TokenCounter) -> WindowView:
    """Returns the view with large results stubbed, the oldest first, until ``goal`` is met."""
    messages = list(view.messages)
    sizes = list(view.sizes)
    tokens = view.tokens
    reached = span.start
    for index in range(max(span.start, view.start), span.stop):
        if tokens <= goal:
            break
        at = view.head + index - view.start
        before = messages[at]
        original = view.transcript[index]
        if isinstance(before, Results) and isinstance(original, Results):
            enough = goal - tokens + sizes[at]
            messages[at], size = _with_stubs(before, original, sizes[at], enough, window, count)
            tokens += size - sizes[at]
            sizes[at] = size
        # A message that still has large results is processed again next time.
        reached = index if tokens <= goal else index + 1
    if span.start <= view.stubbed:
        stubbed = max(reached, view.stubbed)
    else:
        stubbed = view.stubbed
    if tokens == view.tokens:
        return replace(view, stubbed=stubbed)
    return replace(view, messages=tuple(messages), sizes=tuple(sizes), tokens=tokens, stubbed=stubbed)


def _with_stubs(
    message: Results, original: Results, size: int, enough: int, window: Window, count: TokenCounter
) -> tuple[Results, int]:
    """Returns the message with large results stubbed, the largest first, until it is ``enough``."""
    if size <= window.stub_tokens:
        return message, size
    costs = [
        (count(Results((now,))), position)
        for position, (now, was) in enumerate(zip(message.results, original.results, strict=True))
        if now is was
    ]
    for cost, position in sorted(costs, reverse=True):
        if size <= enough or cost <= window.stub_tokens:
            break
        results = list(message.results)
        results[position] = stub_for(results[position])
        smaller = Results(tuple(results))
        if (smaller_size := count(smaller)) < size:
            message = smaller
            size = smaller_size
    return message, size


def stub_for(result: Result) -> Result:
    """Returns a result's stub: its tool, its size and how it began."""
    media = []
    for part in result.content:
        if isinstance(part, Media):
            media.append(len(part.data))
    stub = {
        "left_out": "this result, to make room",
        "tool": encodable(result.name),
        "outcome": result.outcome,
        "bytes": len(encodable(result.text).encode()) + sum(media),
        "began": _snippet(result),
    }
    if result.reference:
        stub["stored"] = result.reference
    if result.source is not None:
        stub["untrusted_source"] = encodable(result.source)
        if result.what:
            stub["what"] = result.what
    # The vendor's data may hold the whole result again.
    return replace(result, content=(Text(dump(stub)),), vendor={})


def _snippet(result: Result) -> str:
    text = result.text
    if result.source is not None:
        # In an envelope the text comes after the label, with its line breaks escaped.
        text = text.partition('"content":"')[2].partition("\\n")[0] or text
    line = next((line for line in text[: 20 * _SNIPPET].splitlines() if line.strip()), "")
    if not line:
        return ", ".join([part.media_type for part in result.content if isinstance(part, Media)])
    return encodable(line if len(line) <= _SNIPPET else line[: _SNIPPET - 1] + "…")


def _drop(view: WindowView, stops: Sequence[int], goal: int, count: TokenCounter) -> WindowView:
    """Returns the view without what comes before the first of the stops that meets ``goal``."""
    stops = [stop for stop in stops if stop > view.start]
    if view.tokens <= goal or not stops:
        return view
    least = view.tokens
    start = view.start
    for stop, total in zip(stops, _totals(view, stops, count), strict=True):
        if total < least:
            least = total
            start = stop
        if total <= goal:
            break
    if start == view.start:
        return view
    kept = []
    for end in sorted(set(view.ends)):
        if 0 <= end < start:
            kept.append(end)
    tail = view.head + start - view.start
    dropped = replace(
        view,
        messages=view.messages[tail:],
        sizes=view.sizes[tail:],
        head=0,
        start=start,
        kept=tuple(kept),
    )
    return _rebuild_head(dropped, count)


def _totals(view: WindowView, stops: Sequence[int], count: TokenCounter) -> Iterator[int]:
    """Yields how many tokens would be sent if everything before each of the stops were left out."""
    ends = {end: count(view.transcript[end]) for end in view.ends if end >= 0}
    note = count(_note(view.seen_count))
    at = view.head
    rest = sum(view.sizes[view.head :])
    for stop in stops:
        start, at = at, view.head + stop - view.start
        rest -= sum(view.sizes[start:at])
        kept = sorted([end for end in ends if end < stop])
        yield rest + sum([ends[end] for end in kept]) + len(_gaps(kept, stop)) * note


def _rebuild_head(view: WindowView, count: TokenCounter) -> WindowView:
    """Returns the view with its head made anew: the kept messages and the notes."""
    head: dict[int, Message] = {at: view.transcript[at] for at in view.kept}
    head |= {begin: _note(stop - begin) for begin, stop in _gaps(view.kept, view.start)}
    new = tuple([head[at] for at in sorted(head)])
    messages = new + view.messages[view.head :]
    sizes = tuple([count(message) for message in new]) + view.sizes[view.head :]
    return replace(view, messages=messages, sizes=sizes, tokens=sum(sizes), head=len(new))


def _gaps(kept: Sequence[int], start: int) -> list[tuple[int, int]]:
    """Returns the ranges before ``start`` of which nothing is kept."""
    edges = [-1, *kept, start]
    return [(before + 1, after) for before, after in pairwise(edges) if before + 1 < after]


def _note(left_out: int) -> User:
    return user_text(f"[Messages left out here to make room: {left_out}]", "runtime")


class Fitting:
    """Fits the transcript of one run into its model's window, turn by turn.

    Most runs stay far below their window to the end. For those the messages are only measured, which
    takes half as long as counting their tokens; the window looks at a transcript once that no longer
    settles it.
    """

    __slots__ = ("_most", "_seen", "_view", "_window")

    def __init__(self) -> None:
        self._window: Window | None = None
        self._view: WindowView | None = None
        """What the window lets through, once the transcript may not fit."""
        self._seen = 0
        self._most = 0
        """How many messages were measured, and how many tokens they have at the most."""

    def fit_messages(self, transcript: Transcript, window: Window, count: TokenCounter) -> Transcript:
        """Returns the part of the transcript that is sent, so that it fits."""
        if window != self._window:
            # The last run of this conversation may have asked another model.
            self._window = window
            self._view = None
            self._seen = 0
            self._most = 0
        if self._view is None and self._is_far_below(window, count, transcript):
            return transcript
        self._view = update_view(self._view, transcript, window, count)
        return messages_to_send(self._view, transcript)

    def _is_far_below(self, window: Window, count: TokenCounter, transcript: Transcript) -> bool:
        """Whether the transcript fits by any estimate. A user's own count is always asked."""
        if count is not estimate_tokens:
            return False
        for message in transcript[self._seen :]:
            self._most += most_tokens(message)
            if self._most > window.tokens:
                # The rest of a long history need not be measured: the window counts it.
                return False
        self._seen = len(transcript)
        return True


_LONG_HISTORY = 64
"""Messages below which a history is encoded in less time than a look at this is worth."""
_MOST_CONVERSATIONS = 32
"""Conversations that are kept. Their messages stay alive with them, so there must not be many."""


class ConversationCache:
    """What one run works out about its transcript, and the next of the same conversation can use.

    A server runs its agent once for each message of a user, with what was said before as ``history``.
    What was encoded and counted of it then is still true, since messages do not change. It is recognised
    by the identity of every message: equal ones may be encoded differently.
    """

    __slots__ = ("call_ids", "conversation", "fitting", "messages")

    def __init__(self, messages: Transcript) -> None:
        self.messages = messages
        self.conversation = Conversation()
        self.fitting = Fitting()
        self.call_ids = set(_call_ids(messages))

    def is_of(self, messages: Transcript) -> bool:
        """Whether it is about these very messages."""
        return len(messages) == len(self.messages) and all(map(is_, messages, self.messages))


class Carryover:
    """The long conversations whose last runs ended most recently."""

    def __init__(self, most: int = _MOST_CONVERSATIONS) -> None:
        self._most = most
        self._kept: OrderedDict[int, ConversationCache] = OrderedDict()
        """By the identity of the last message."""

    def take(self, messages: Transcript, history: int) -> ConversationCache:
        """What is known about the messages of a new run, of which ``history`` are from earlier ones.

        It is taken out: two runs that continue the same conversation at once must not share it.
        """
        if history >= _LONG_HISTORY:
            known = self._kept.pop(id(messages[history - 1]), None)
        else:
            known = None
        if known is None or not known.is_of(messages[:history]):
            return ConversationCache(messages)
        known.call_ids.update(_call_ids(messages[history:]))
        return known

    def keep(self, carried: ConversationCache, messages: Transcript) -> None:
        """Keep what a run knows, unless its transcript has large files."""
        if len(messages) < _LONG_HISTORY or holds_much(messages):
            return
        carried.messages = messages
        self._kept[id(messages[-1])] = carried
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)


NO_CARRYOVER = Carryover(most=0)
"""Keeps nothing, for runs that nobody continues."""


def _call_ids(messages: Iterable[Message]) -> list[str]:
    return [call.id for message in messages if isinstance(message, Reply) for call in message.calls]
