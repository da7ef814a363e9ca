"""A command's options into an agent: a model, its tools, a journal, and who is asked."""

import sys
from argparse import Namespace
from difflib import get_close_matches
from typing import Any, cast

from rightcall.agent import Agent
from rightcall.cli.load import is_place, load_journal, load_model, load_toolbox
from rightcall.cli.summary import View
from rightcall.cli.terminal import approver
from rightcall.cli.views import JsonLinesView, PlainView
from rightcall.cli.wording import is_lively
from rightcall.core.budget import Budget
from rightcall.core.ports import Model
from rightcall.core.request import ModelOptions, Named, ToolChoice
from rightcall.errors import UsageError
from rightcall.models.catalogue import is_local
from rightcall.models.connect import connect
from rightcall.trust.file import read_rules
from rightcall.trust.rules import Rules


class Session:
    """What the options of ``ask`` and ``chat`` come to. Close it when done."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self.tools = load_toolbox(options)
        self.choice = self._choice()
        self.model_name: str = options.model
        self._model = _model_of(options.model)
        self._journal = load_journal(options.journal) if options.journal else None

    def view(self) -> View:
        """JSON for programs, a live view for a terminal that can move its cursor, lines for the rest."""
        quiet, loading = self._options.quiet, waiting_words(self.model_name)
        if getattr(self._options, "json", False):
            return JsonLinesView(sys.stdout, sys.stderr)
        if is_lively() and not quiet:
            from rightcall.cli.richview import RichView  # noqa: PLC0415 - rich is an extra

            return RichView(sys.stdout, loading=loading)
        return PlainView(sys.stdout, sys.stderr, loading=loading, quiet=quiet)

    async def switch(self, name: str) -> None:
        """Go on with another model."""
        model = _model_of(name)
        await _close(self._model)
        self._model, self.model_name = model, name

    def agent(self, view: View) -> Agent:
        """An agent whose approvals are asked for in the view."""
        options = self._options
        return Agent(
            self._model,
            self.tools,
            options.instructions,
            budget=self._budget(),
            journal=self._journal,
            approve=approver(options, view),
            trust=_rules(options),
            options=cast("ModelOptions", _given(temperature=options.temperature, seed=options.seed)),
            max_tokens=options.max_tokens,
        )

    async def close(self) -> None:
        """Let go of the model and the journal."""
        await _close(self._model)
        close = getattr(self._journal, "close", None)
        if close is not None:
            close()

    def _budget(self) -> Budget:
        return Budget(**_given(turns=self._options.max_turns, seconds=self._options.timeout))

    def _choice(self) -> ToolChoice:
        choice: str = self._options.choice
        match choice:
            case "auto" | "required" | "none":
                return choice
            case name if name in self.tools:
                return Named(name)
            case name:
                names = self.tools.names()
                near = get_close_matches(name, names, n=1)
                there = f"there is {', '.join(names) or 'none'}"
                hint = f"did you mean {near[0]!r}?" if near else there
                raise UsageError(f"--choice: no tool {name!r}; {hint}")


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def waiting_words(name: str) -> str:
    """What is being waited for: a model of this machine is loaded before it answers."""
    return f"{'loading' if is_local(name) else 'waiting for'} {name} …"


def _rules(options: Namespace) -> Rules | None:
    if options.policy:
        return read_rules(options.policy)
    return Rules() if options.trust else None


def _model_of(name: str) -> Model:
    return load_model(name) if is_place(name) else connect(name)


async def _close(model: Model) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()
