"""The agents of a studio: their settings, and copies of them that continue runs."""

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


class AgentHere(Struct, frozen=True, eq=False):
    """An agent, and where it was found."""

    name: str
    agent: Agent[Any]
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

    def told(self) -> Json:
        """The agent as JSON, for the page that tries it."""
        basis = self.agent._basis  # noqa: SLF001
        said = basis.instructions
        return {
            "name": self.name,
            "place": self.place,
            "model": str(getattr(basis.model, "name", "") or type(basis.model).__name__),
            "instructions": said if isinstance(said, str) else "(made anew for each run)",
            "tools": [tool_json(tool) for tool in self.tools],
            "has_trust": self.rules is not None,
        }

    def keep_in(self, journal: Journal | AsyncJournal) -> Agent[Any]:
        """A copy of the agent that records its runs in that journal, and asks nobody but the studio."""
        here = copy(self.agent)
        here._journal = journal  # noqa: SLF001 - this is where the runs are
        here._setup = replace(here._setup, approve=None)  # noqa: SLF001 - a run that needs a yes pauses
        return here


def tool_json(tool: Tool) -> Json:
    """A tool as JSON, for a form that calls it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "effect": tool.effect,
        "approval": tool.approval,
        "examples": list(tool.examples),
        "origin": tool.origin,
        "reach": tool.facts.reach,
    }


def agents_of(
    given: Mapping[str, Agent[Any]] | Sequence[Agent[Any]] | Agent[Any],
) -> tuple[AgentHere, ...]:
    """The agents by their names. Raises UsageError if two have the same name."""
    if isinstance(given, Mapping):
        found = [AgentHere(_name(agent, place), agent, place) for place, agent in given.items()]
    else:
        listed = [given] if isinstance(given, Agent) else given
        found = [AgentHere(agent.name, agent) for agent in listed]
    names = [each.name for each in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(
            f"two agents are named {', '.join(sorted(twice))}; give each a name= of its own"
        )
    return tuple(found)


def _name(agent: Agent[Any], place: str) -> str:
    """Its own name, or that of the variable that holds it."""
    return place.rpartition(":")[2] if agent.name == "agent" and ":" in place else agent.name
