"""Builds an agent from a command's options: a model, tools, a journal, and approvals."""

import sys
from argparse import Namespace
from contextlib import AsyncExitStack
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from rightcall import cli
from rightcall.agent import Agent
from rightcall.cli.conversations import ConversationRecorder, EarlierConversation, earlier_conversation
from rightcall.cli.formatting import is_lively
from rightcall.cli.load import is_place, load_journal, load_model, load_toolbox, read_schema
from rightcall.cli.summary import OutputView
from rightcall.cli.terminal import approver
from rightcall.cli.user_config import default_model, keeps_conversations, key_for
from rightcall.cli.views import JsonLinesView, PlainView
from rightcall.cli.wiretap import RawFile, ShownModel, TappedTransport, show_body
from rightcall.core.budget import Budget
from rightcall.core.message import Transcript
from rightcall.core.ports import Model, Observer
from rightcall.core.request import ModelOptions, Named, ToolChoice
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import UsageError
from rightcall.loop.settings import RunOptions
from rightcall.models.catalogue import SERVERS, is_local
from rightcall.models.connect import connect
from rightcall.models.providers import PROVIDERS
from rightcall.transport.http import HttpTransport
from rightcall.trust.facts_file import facts_at
from rightcall.trust.rules import Rules
from rightcall.trust.rules_file import read_rules

if TYPE_CHECKING:
    from rightcall.mcp import Group, ListedPrompt, Server


class Session:
    """The agent and resources for ``ask`` and ``chat``. Open it, and close it when done."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._own = load_toolbox(options)
        if options.facts:
            if options.servers:
                raise UsageError(
                    "--facts are laid over tools of this machine; give a server's with rc.mcp.connect"
                )
            self._own = Toolbox(facts_at(options.facts).over(self._own))
        self._schema = read_schema(options.schema) if getattr(options, "schema", None) else None
        self._earlier = _earlier(options)
        self.model_name: str = options.model or self._earlier.model or default_model()
        keeps = not options.no_log and keeps_conversations()
        self._keeping = ConversationRecorder(self.model_name) if keeps else None
        self._servers: Group | None = None
        self._opened = AsyncExitStack()
        self._raw: RawFile | None = None
        self._model = self._model_of(self.model_name)
        self._journal = load_journal(options.journal) if options.journal else None

    @property
    def history(self) -> Transcript:
        """The earlier messages, if a conversation is continued."""
        return self._earlier.messages

    @property
    def tools(self) -> Toolbox:
        """The current tools: servers may change theirs."""
        if self._servers is None:
            return self._own
        return self._own + list(self._servers)

    async def open(self) -> None:
        """Start the MCP servers."""
        if self._options.servers:
            self._servers = await cli.servers.open_servers(self._options.servers)
            self._opened.push_async_exit(self._servers)

    async def prompts(self) -> "dict[str, tuple[Server, ListedPrompt]]":
        """The prompts of the MCP servers, by ``SERVER_NAME``."""
        found = {}
        servers = {} if self._servers is None else self._servers.servers
        for name, server in servers.items():
            for prompt in await server.prompts():
                found[f"{name}_{prompt.name}"] = (server, prompt)
        return found

    def view(self) -> OutputView:
        """The view of its runs."""
        return view_for(self._options, self.model_name)

    async def switch(self, name: str) -> None:
        """Switch to another model."""
        model = self._model_of(name)
        await _close(self._model)
        self._model = model
        self.model_name = name
        if self._keeping is not None:
            self._keeping.model = name

    def agent(self, view: OutputView, *observers: Observer) -> Agent[Any, Any]:
        """An agent whose approvals are requested in the view."""
        options = self._options
        return Agent(
            self._model,
            self._own if self._servers is None else [self._own, self._servers],
            options.instructions or self._earlier.system,
            output=cast("Any", self._schema),
            budget=self._budget(),
            journal=self._journal,
            approve=approver(options, view),
            trust=_rules(options),
            options=cast(
                "ModelOptions",
                _without_none(
                    temperature=options.temperature, seed=options.seed, strict=options.strict or None
                ),
            ),
            max_tokens=options.max_tokens,
            defer=options.defer,
            descriptions=options.descriptions,
            observers=observers if self._keeping is None else (*observers, self._keeping),
        )

    async def close(self) -> None:
        """Close the model, the servers and the journal."""
        await _close(self._model)
        await self._opened.aclose()
        for each in (self._journal, self._keeping, self._raw):
            close = getattr(each, "close", None)
            if close is not None:
                close()

    def run_options(self, history: Transcript) -> RunOptions[Any]:
        """The messages for a run: the earlier ones, and then the question."""
        return {"history": history, "choice": self.choice, "dry_run": self._options.dry_run}

    @property
    def choice(self) -> ToolChoice:
        """Whether the model must call a tool; checked against the available tools."""
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

    def _budget(self) -> Budget:
        return Budget(**_without_none(turns=self._options.max_turns, seconds=self._options.timeout))

    def _model_of(self, name: str) -> Model:
        shown = self._options.show_prompt
        if is_place(name):
            self._refuse_raw(name)
            if self._options.family:
                raise UsageError(f"--family: {name} is a model of your own; connect it with family=")
            if shown:
                return ShownModel(load_model(name))
            return load_model(name)
        here = is_local(name) and name not in PROVIDERS and name.partition(":")[0] not in SERVERS
        if here:
            self._refuse_raw(name)
            model = connect(name, family=self._options.family)
            if not shown:
                return model
            from rightcall.models.local import prompt_of  # noqa: PLC0415 - templates are an extra

            return ShownModel(model, prompt_of(name))
        tapped = None
        if self._options.raw and self._raw is None:
            self._raw = RawFile(self._options.raw)
        if self._raw is not None or shown:
            tapped = TappedTransport(HttpTransport(), self._raw, show_body if shown else None)
        return connect(name, api_key=key_for(name), transport=tapped, family=self._options.family)

    def _refuse_raw(self, name: str) -> None:
        if self._options.raw:
            raise UsageError(
                f"--raw: {name} is not asked over HTTP, so there are no bytes of a vendor's"
            )


def view_for(options: Namespace, model_name: str) -> OutputView:
    """JSON for programs, a live view for a capable terminal, lines otherwise."""
    loading = waiting_words(model_name)
    if getattr(options, "json", False):
        return JsonLinesView(sys.stdout, sys.stderr)
    if is_lively() and not options.quiet:
        return cli.richview.RichView(sys.stdout, loading=loading, reasoning=options.reasoning)
    return PlainView(
        sys.stdout, sys.stderr, loading=loading, quiet=options.quiet, reasoning=options.reasoning
    )


def _earlier(options: Namespace) -> EarlierConversation:
    if options.conversation is not None:
        return earlier_conversation(options.conversation)
    if options.go_on:
        return earlier_conversation(None)
    return EarlierConversation(run="", messages=())


def _without_none(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def waiting_words(name: str) -> str:
    """What is being waited for: a local model is loaded before it answers."""
    return f"{'loading' if is_local(name) else 'waiting for'} {name} …"


def _rules(options: Namespace) -> Rules | None:
    if options.policy:
        return read_rules(options.policy)
    if options.trust:
        return Rules()
    return None


async def _close(model: Model) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()
