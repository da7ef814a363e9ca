"""The agents of a studio: their settings, and copies of them that continue runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.agent import Agent
from rightcall.core.ports import AsyncJournal, Journal
from rightcall.core.tool import Tool
from rightcall.errors import UsageError
from rightcall.gate.gate import Policy
from rightcall.gate.hooks import HookChain
from rightcall.loop.window import Window
from rightcall.serve.studio.to_json import Json
from rightcall.trust.rules import Rules


class StudioAgent(Struct, frozen=True, eq=False):
    """An agent, and where it was found."""

    name: str
    agent: Agent[Any, Any]
    place: str = ""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools."""
        return tuple(self.agent.tools)

    @property
    def rules(self) -> Rules | None:
        """Its rules of trust."""
        return self.agent.trust

    @property
    def policy(self) -> Policy | None:
        """The policy that decides about its calls."""
        return self.agent._setup.policy  # noqa: SLF001 - the studio shows what the agent would do

    @property
    def hooks(self) -> HookChain:
        """The hooks that may change or veto its calls."""
        return self.agent._setup.hooks  # noqa: SLF001

    @property
    def window(self) -> Window | None:
        """How much of a history it sends."""
        return self.agent._setup.window  # noqa: SLF001

    def to_json(self) -> Json:
        """The agent as JSON, for the page that tries it."""
        config = self.agent._config  # noqa: SLF001
        instructions = config.instructions
        if not isinstance(instructions, str):
            instructions = "(made anew for each run)"
        tools = []
        for tool in self.agent.tools:
            tools.append(
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "effect": tool.effect,
                    "approval": tool.approval,
                    "examples": list(tool.examples),
                    "origin": tool.origin,
                    "reach": tool.facts.reach,
                }
            )
        return {
            "name": self.name,
            "place": self.place,
            "model": str(getattr(config.model, "name", "") or type(config.model).__name__),
            "instructions": instructions,
            "tools": tools,
            "has_trust": self.agent.trust is not None,
        }

    def keep_in(self, journal: Journal | AsyncJournal) -> Agent[Any, Any]:
        """A copy of the agent that records its runs in that journal, and asks nobody but the studio."""
        here = copy(self.agent)
        here._journal = journal  # noqa: SLF001 - this is where the runs are
        here._setup = replace(here._setup, approve=None)  # noqa: SLF001 - a run that needs a yes pauses
        return here


def agents_of(
    given: Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]] | Agent[Any, Any],
) -> tuple[StudioAgent, ...]:
    """The agents by their names. Raises UsageError if two have the same name."""
    found = []
    if isinstance(given, Mapping):
        for place, agent in given.items():
            name = agent.name
            if name == "agent" and ":" in place:
                # The name of the variable that holds it.
                name = place.rpartition(":")[2]
            found.append(StudioAgent(name, agent, place))
    else:
        listed = [given] if isinstance(given, Agent) else given
        found = [StudioAgent(agent.name, agent) for agent in listed]
    names = Counter([each.name for each in found])
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(
            f"two agents are named {', '.join(sorted(twice))}; give each a name= of its own"
        )
    return tuple(found)
