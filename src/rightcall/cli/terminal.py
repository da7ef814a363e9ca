"""Reads lines and decisions about calls, from a person or a pipe."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import TextIO

from rightcall.cli.summary import OutputView
from rightcall.core.decision import Allow, Deny, FinalDecision, Scope
from rightcall.core.proposal import Proposal, question, summary
from rightcall.core.sanitize import printable
from rightcall.gate.gate import Approve
from rightcall.user_files import state_folder

MAX_LINE = 16 * 1024 * 1024
"""The most bytes of a line from a pipe; a longer line is split."""
MAX_HISTORY = 1000
NOBODY = Deny("nobody is there to approve it")
"""The decision if there is neither a person nor an option that answers."""
_CATCH_UP = 0.05
_BINDINGS = (
    # Pasted text is one message, even with several lines; Enter sends it.
    "set enable-bracketed-paste on",
    # Ctrl-T toggles reasoning; the current line is kept for Ctrl-Y.
    r'"\C-t": "\C-a\C-k/reasoning\C-m"',
)
_NO = frozenset({"", "n", "no"})
_YES: dict[str, Scope] = {"y": "once", "yes": "once", "r": "run", "t": "target"}
"""The answers that mean yes, and their scope."""
_HOW_FAR = "(y: this call; r: every one in this run; t: every one with these targets)"


def is_typed() -> bool:
    """Whether a person types the lines and sees them."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def next_line(prompt: str, people: TextIO) -> str | None:
    """The next line, without its line end; None at the end of input."""
    if is_typed():
        try:
            return input(prompt)
        except EOFError:
            people.write("\n")
            return None
    if sys.stdin.isatty():
        people.write(prompt)
        people.flush()
    line = sys.stdin.buffer.readline(MAX_LINE)
    if line:
        return line.decode(errors="replace").rstrip("\r\n")
    return None


@contextmanager
def line_history() -> Iterator[None]:
    """Line editing, and the history of earlier conversations, if Python has readline."""
    if sys.platform == "win32":
        yield
        return
    try:
        import readline  # noqa: PLC0415 - not on every platform, and it takes hold of the terminal
    except ImportError:  # pragma: no cover
        yield
        return
    path = history_file()
    readline.set_auto_history(True)
    if "libedit" not in (readline.__doc__ or ""):
        for binding in _BINDINGS:
            readline.parse_and_bind(binding)
    # History is optional: a failing disk does not stop a conversation.
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_history_length(MAX_HISTORY)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            readline.write_history_file(path)


def history_file() -> Path:
    """The path of the history file: under the XDG state directory."""
    return state_folder() / "history"


def approver(options: Namespace, view: OutputView) -> Approve:
    """The approver: automatic with ``--yes`` or ``--no``, otherwise the person if one is there."""
    if options.yes or options.no:
        return _always(Allow() if options.yes else Deny())
    if sys.stdin.isatty() and view.people.isatty():
        return _Person(view)
    return _always(NOBODY)


def _always(decision: FinalDecision) -> Approve:
    async def decide(_: Proposal) -> FinalDecision:
        return decision

    return decide


class _Person:
    """Asks on the terminal, one question at a time."""

    def __init__(self, view: OutputView) -> None:
        self._view = view
        self._alone = asyncio.Lock()
        self._told = ""

    def show(self, proposals: Sequence[Proposal]) -> None:
        """Have all calls shown together before the first question."""
        self._told = f"{summary(proposals, columns())}\n"

    async def __call__(self, proposal: Proposal) -> FinalDecision:
        """Only a clear yes approves; any other text refuses, and is given to the model as the reason."""
        people = self._view.people
        async with self._alone:
            # The run is slightly ahead of the view; the call must be shown before the question.
            await asyncio.sleep(_CATCH_UP)
            self._view.hush()
            told = self._told
            self._told = ""
            asked = question(proposal, columns())
            people.write(f"{told}{asked}\n{_HOW_FAR}\nRun it? [y/N/why not] ")
            people.flush()
            answer = printable((await _line()).strip())
        if (scope := _YES.get(answer.lower())) is not None:
            return Allow(scope)
        if answer.lower() in _NO:
            return Deny()
        return Deny(answer)


def columns() -> int:
    """The width of the terminal: beyond it, the rest of a line would have no mark."""
    return get_terminal_size().columns


_takers: list[Callable[[str], None]] = []
"""Who gets a line that is typed, the last one first."""


@contextmanager
def lines_typed(take: Callable[[str], None]) -> Iterator[None]:
    """Pass each line that a person types to ``take``, on the event loop; one at a time has the lines.

    A terminal delivers whole lines, so a readable one is complete. Where terminals cannot be polled, as
    on Windows, nothing is passed.
    """
    loop = asyncio.get_running_loop()
    _takers.append(take)
    with suppress(NotImplementedError):
        loop.add_reader(sys.stdin.fileno(), _pass_line)
    try:
        yield
    finally:
        _takers.remove(take)
        if not _takers:
            with suppress(NotImplementedError):
                loop.remove_reader(sys.stdin.fileno())


def _pass_line() -> None:
    line = sys.stdin.readline()
    if not line:
        # The end of the input would be readable for ever; whoever reads next sees it.
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    _takers[-1](line)


async def _line() -> str:
    """A line that a person types."""
    if sys.platform == "win32":
        return sys.stdin.readline()
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def take(line: str) -> None:
        if not answered.done():
            answered.set_result(line)

    with lines_typed(take):
        return await answered
