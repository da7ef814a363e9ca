"""Large results by reference: the model gets a result's beginning, its shape and a handle, and reads on.

A tool's text over a limit goes to a store, whole. What was in the result of the call instead is recorded
like any result, so replay and recovery give the same. ``read_result`` is offered from the turn after the
first result that was stored, and its text has the labels of the result that it comes from.
"""

from asyncio import to_thread
from collections.abc import Collection, Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from rightcall.conversation.result_rows import ResultRows, describe_shape
from rightcall.conversation.result_store import ResultStore, StoredResult, store_beside
from rightcall.core.facts import Facts
from rightcall.core.handler import FoundTools
from rightcall.core.jsontext import dump
from rightcall.core.limits import Limits
from rightcall.core.options import TypeCheckedMeta
from rightcall.core.parts import Part, Result, Text
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.core.tool import CheckedCall, Tool, object_schema
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import ToolFailure, UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.execution import Execution
from rightcall.gate.render import cut, replace_text
from rightcall.log import run_logger
from rightcall.loop.settings import Runner, Setup
from rightcall.loop.tool_offer import Offered
from rightcall.trust.pieces import open_envelope

READER = "read_result"
"""The name of the tool that reads stored results."""

_OURS = Facts(untrusted=False, private=False, reach="nothing", dangers=(), targets=())
_MUCH = 256 * 1024
"""Characters of text that take so long to look through that the event loop would be blocked."""
_MOST_ROWS = 1_000
_NOT_STORED = "[This result is large and could not be stored: it is cut.]"
_WRITTEN = 32 * 1024 * 1024
"""Bytes of a result that are written as text, so that its size is known. A longer text has a gap, which
comes after what is kept of it: that is half as much at the most."""
_GAP = 64
"""The most bytes by which a text with a gap is shorter than what it may have."""

_PARAMETERS = object_schema(
    ["handle"],
    handle={"type": "string", "description": "As the result says."},
    query={
        "type": "string",
        "description": "Only rows that hold all of these words, in any order and case.",
    },
    first={"type": "integer", "minimum": 1, "description": "The number of the first row; 1 by default."},
    count={
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST_ROWS,
        "description": "The most rows to read; by default as many as fit.",
    },
)


class StoredLimits(Limits, frozen=True, kw_only=True):
    """The limits of a tool whose large results are stored."""

    over: int = 0
    """The bytes of text that the model gets at the most; a longer result is stored."""
    most: int = 0
    """The bytes that are kept of it."""


class LargeResults(Struct, frozen=True, kw_only=True, metaclass=TypeCheckedMeta):
    """Which results are stored: ``rc.Agent(…, large_results=rc.conversation.LargeResults())``."""

    over: int = 16_000
    """Bytes of text; a larger result is stored, and the model reads it by its handle."""
    head: int = 2_000
    """How many bytes of its beginning the model gets at once."""
    tools: Mapping[str, int | None] = {}
    """The limit of single tools, in place of ``over``; None: this tool's results are never stored."""
    most: int = 16 * 1024 * 1024
    """The most bytes that are kept of one result; of a longer one, its beginning."""
    store: ResultStore | None = None
    """Where they are kept. None: in a folder beside the agent's journal; in memory without a journal."""

    def __post_init__(self) -> None:
        for name in ("over", "head", "most"):
            if not getattr(self, name) > 0:
                raise UsageError(
                    f"LargeResults: {name} must be more than 0, not {getattr(self, name)!r}"
                )
        if not self.head <= self.over <= self.most:
            raise UsageError("LargeResults: head is at most over, and over at most most")
        for name, limit in self.tools.items():
            if limit is not None and not self.head <= limit <= self.most:
                raise UsageError(f"LargeResults: the limit of {name} is from head to most: {limit!r}")

    def store_for(self, journal: Journal | AsyncJournal | None, /) -> "LargeResults":
        """Returns a copy with its store: its own, or the one beside the journal."""
        if self.store is not None:
            return self
        return replace(self, store=store_beside(journal))

    def check_tools(self, names: Collection[str], /) -> None:
        """Raise UsageError if a single tool's limit is of a tool that the agent does not have."""
        for name in self.tools:
            if name not in names:
                raise UsageError(
                    f"LargeResults: tools= has a limit of {name!r}, and the agent has no such tool; "
                    f"it has {', '.join(sorted(names)) or 'none'}"
                )

    def limit_tools(self, box: Toolbox, /) -> Toolbox:
        """Returns the tools, of which those whose results are stored may return more."""
        return Toolbox([self._with_limit(each) for each in box])

    def _with_limit(self, tool: Tool) -> Tool:
        over = self.tools.get(tool.name, self.over)
        if over is None or tool.delegates:
            return tool
        limits = tool.limits
        # The tool's own limit still says how much the model gets at once.
        own = min(over, limits.max_output_bytes)
        values = asdict(limits) | {"max_output_bytes": max(2 * self.most, _WRITTEN)}
        return tool.replace(limits=StoredLimits(**values, over=own, most=self.most))

    def offer_reader(self, offered: Offered, /) -> Offered:
        """Returns what is offered, with the tool that reads stored results once there is one."""
        assert self.store is not None
        tool = reader_tool(self.store, self.over)
        box = Toolbox(
            [*[each for name in offered.tools.names() if (each := offered.tools.get(name))], tool]
        )
        later = {**offered.later, READER: tool.spec}
        return Offered(box, offered.specs, later, offered.only_by)

    def store_setup(self, setup: Setup, /) -> Setup:
        """Returns the setup of a run whose large results are stored."""
        assert self.store is not None
        return replace(setup, executor=StoringRunner(setup.executor, self.store, self.head))


class StoringRunner:
    """Runs calls, and stores their results if they are large."""

    def __init__(self, runner: Runner, store: ResultStore, head: int) -> None:
        self._runner = runner
        self._store = store
        self._head = head

    async def run(self, checked: CheckedCall, setting: Setting, /) -> Execution:
        """Run a call; a large result is replaced by its beginning, its shape and a handle."""
        execution = await self._runner.run(checked, setting)
        result = execution.result
        if result.outcome != "returned":
            return execution
        if checked.tool.name == READER:
            if result.source is None:
                # Nobody knows which fields its values were in, so it vouches for none of them.
                return replace(execution, result=replace(result, own=True))
            return execution
        limits = checked.tool.limits
        if not isinstance(limits, StoredLimits) or _size_of(result) <= limits.over:
            return execution
        return replace(execution, result=await self._store_result(result, checked.tool, limits))

    async def _store_result(self, result: Result, tool: Tool, limits: StoredLimits) -> Result:
        text = result.text
        has_gap = _size_of(result) > limits.max_output_bytes - _GAP
        if result.source is not None:
            text = open_envelope(text)
        size = len(text.encode(errors="replace"))
        about = f"{size:,} bytes. It is stored whole as"
        if size > limits.most:
            text = _beginning(text, limits.most)
            kept = len(text.encode(errors="replace"))
            number = f"more than {size:,}" if has_gap else f"{size:,}"
            about = f"cut from {number} bytes. Its first {kept:,} bytes, and no more, are stored as"
        stored = StoredResult(name=result.name, text=text, source=result.source, what=result.what)
        if len(text) > _MUCH:
            handle = await to_thread(lambda: stored.handle)
            shape = await to_thread(describe_shape, text)
        else:
            handle = stored.handle
            shape = describe_shape(text)
        try:
            await self._store.put(handle, stored)
        except Exception:
            # The call has been made: its result is cut, as it is without a store.
            run_logger.exception("a large result of %s could not be stored", result.name)
            words = f"{_NOT_STORED}\n{cut(text, limits.over - len(_NOT_STORED) - 1)}"
            return replace_text(result, words, tool)
        head = cut(text[: 2 * self._head], self._head)
        words = (
            f"[This result is large: {about} {handle}, and {READER} reads "
            f"it: from a row on, or the rows that hold some words.]\n{shape}\nIt begins:\n{head}"
        )
        shorter = replace_text(result, cut(words, limits.over), tool)
        others: list[Part] = [part for part in result.content if not isinstance(part, Text)]
        return replace(
            shorter,
            content=(*shorter.content, *others),
            # Trusted text is the runtime's here: no field says what its values are.
            own=result.own or result.source is None,
            offers=(*result.offers, READER),
            reference=handle,
        )


def _beginning(text: str, most: int) -> str:
    """Returns the first lines of a text within so many bytes: the numbers of its rows stay true."""
    kept = text[:most].encode(errors="replace")[:most].decode(errors="ignore")
    return kept.rpartition("\n")[0] or kept


def _size_of(result: Result) -> int:
    return sum(
        [len(part.text.encode(errors="replace")) for part in result.content if isinstance(part, Text)]
    )


def reader_tool(store: ResultStore, over: int) -> Tool:
    """Returns the tool that reads stored results, at most ``over`` bytes at a time."""

    async def read_result(
        handle: str, query: str = "", first: int = 1, count: int = _MOST_ROWS
    ) -> FoundTools:
        stored = await store.get(handle.strip())
        if stored is None:
            raise ToolFailure(
                f"There is no stored result {dump(handle[:100])}. Handles are in the results of earlier "
                "calls; if this one is, it is no longer kept, and the call must be made again."
            )
        if len(stored.text) > _MUCH:
            text = await to_thread(_read_rows, stored.text, query, first, count, over)
        else:
            text = _read_rows(stored.text, query, first, count, over)
        return FoundTools(text, source=stored.source)

    return Tool(
        READER,
        "Read a stored result: the rows from a number on, or those that hold some words.",
        _PARAMETERS,
        read_result,
        effect="read",
        facts=_OURS,
        limits=Limits(max_output_bytes=4 * over),
        errors="neutral",
    )


def _read_rows(text: str, query: str, first: int, count: int, over: int) -> str:
    return ResultRows(text).read(query=query, first=first, count=count, most=over)
