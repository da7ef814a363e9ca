"""What an operator adds to a model: rules of trust, or tools that are run here."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from rightcall.core.ports import AroundObserver, Journal, Model, Observer
from rightcall.declare.toolbox import ToolSource
from rightcall.errors import UsageError
from rightcall.serve.gateway.agent_model import AgentModel
from rightcall.serve.gateway.guarded_model import GuardedModel
from rightcall.serve.gateway.settings import Served, Settings
from rightcall.trust.file import read_rules
from rightcall.trust.rules import Rules

LoadTools: TypeAlias = Callable[[Served], Awaitable[ToolSource]]
"""Loads the tools that a served model runs here."""


async def no_tools(served: Served) -> ToolSource:
    """For gateways that run no tools."""
    raise UsageError(f"nobody can load the tools {', '.join(served.tools)}")


class Wrapping:
    """Adds to each model what its settings say."""

    def __init__(
        self,
        settings: Settings,
        load_tools: LoadTools = no_tools,
        journal: Journal | None = None,
        observers: Sequence[Observer | AroundObserver] = (),
    ) -> None:
        self._load_tools = load_tools
        self._journal = journal
        self._observers = observers
        files = {served.rules for served in settings.models.values() if served.rules}
        self._rules: dict[str, Rules] = {file: read_rules(file) for file in files}
        self._agents: dict[tuple[int, int], AgentModel] = {}

    def wrapped(self, served: Served, model: Model) -> Model:
        """The model as clients see it; unchanged if its settings add nothing."""
        rules = self._rules.get(served.rules)
        if served.is_agent:
            return self._agent(served, model, rules)
        return model if rules is None else GuardedModel(model, rules)

    def _agent(self, served: Served, model: Model, rules: Rules | None) -> AgentModel:
        key = (id(served), id(model))
        if key not in self._agents:
            self._agents[key] = AgentModel(
                model,
                lambda: self._load_tools(served),
                served.instructions,
                journal=self._journal,
                rules=rules,
                observers=self._observers,
            )
        return self._agents[key]
