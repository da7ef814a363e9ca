"""A command's options into an agent: a model, its tools, a journal, and who is asked."""

from argparse import Namespace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rightcall.agent import Agent
from rightcall.cli.approval import approver
from rightcall.cli.load import is_place, load_model
from rightcall.cli.toolset import gather
from rightcall.cli.view import View
from rightcall.core.budget import Budget
from rightcall.core.ports import Journal, Model
from rightcall.core.request import Named, ToolChoice
from rightcall.errors import UsageError
from rightcall.models.catalogue import is_local
from rightcall.models.connect import connect
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal
from rightcall.trust.file import read_rules
from rightcall.trust.rules import Rules

_JOURNALS: dict[str, Any] = {
    ".jsonl": JsonLinesJournal,
    ".ndjson": JsonLinesJournal,
    ".db": SqliteJournal,
    ".sqlite": SqliteJournal,
    ".sqlite3": SqliteJournal,
}


class Session:
    """What the options of ``ask`` and ``chat`` come to. Close it when done."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self.tools = gather(options)
        self.choice = self._choice()
        self.model_name: str = options.model
        self._model = model_of(options.model)
        self._journal = journal_at(options.journal) if options.journal else None

    @property
    def loading(self) -> str:
        """What to say while the model has not begun to answer."""
        return waiting_words(self.model_name)

    async def switch(self, name: str) -> None:
        """Go on with another model."""
        model = model_of(name)
        await _close(self._model)
        self._model, self.model_name = model, name

    def agent(self, view: View) -> Agent:
        """An agent whose approvals are asked for in the view."""
        options = self._options
        sampling = {"temperature": options.temperature, "seed": options.seed}
        return Agent(
            self._model,
            self.tools,
            options.instructions,
            budget=self._budget(),
            journal=self._journal,
            approve=approver(options, view),
            trust=_rules(options),
            options={name: value for name, value in sampling.items() if value is not None},
            max_tokens=options.max_tokens,
        )

    async def close(self) -> None:
        """Let go of the model and the journal."""
        await _close(self._model)
        close = getattr(self._journal, "close", None)
        if close is not None:
            close()

    def _budget(self) -> Budget:
        given = {"turns": self._options.max_turns, "seconds": self._options.timeout}
        return Budget(**{name: value for name, value in given.items() if value is not None})

    def _choice(self) -> ToolChoice:
        choice: str = self._options.choice
        match choice:
            case "auto" | "required" | "none":
                return choice
            case name if name in self.tools:
                return Named(name)
            case name:
                near = get_close_matches(name, self.tools.names(), n=1)
                hint = (
                    f"did you mean {near[0]!r}?"
                    if near
                    else f"there is {', '.join(self.tools.names()) or 'none'}"
                )
                raise UsageError(f"--choice: no tool {name!r}; {hint}")


def waiting_words(name: str) -> str:
    """What is being waited for: a model of this machine is loaded before it answers."""
    return f"{'loading' if is_local(name) else 'waiting for'} {name} …"


def _rules(options: Namespace) -> Rules | None:
    if options.policy:
        return read_rules(options.policy)
    return Rules() if options.trust else None


def model_of(name: str) -> Model:
    """The model of that name, or at that place in a Python file."""
    return load_model(name) if is_place(name) else connect(name)


def journal_at(path: str) -> Journal:
    """The journal in a file, by the end of its name."""
    kind = _JOURNALS.get(Path(path).suffix.lower())
    if kind is None:
        raise UsageError(f"--journal {path}: the name must end in {', '.join(_JOURNALS)}")
    journal: Journal = kind(path)
    return journal


async def _close(model: Model) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()
