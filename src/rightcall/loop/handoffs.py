"""Hands a run over to another agent, which goes on in it with its own instructions, tools and model.

A handoff is a tool that the model calls. Once its call has returned, the run continues as the other
agent's: same transcript, budget, record and trust labels. What the other agent begins with is a step of
the record, so that a run that is recovered changes hands at the same place. Rights never widen: the
rules of the agents before still judge every call, beside those of the agent that goes on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.core.decision import Answer, Ask, Decision, Deny, Rewrite
from rightcall.core.entry import Entry, StepDone, UnchangedMessages
from rightcall.core.history import mend
from rightcall.core.message import Reply, Results, Transcript, User
from rightcall.core.options import check_keywords
from rightcall.core.parts import Result
from rightcall.core.request import RequiredOutput
from rightcall.core.tool import CheckedCall, Spec, Tool
from rightcall.declare.output import OutputSettings
from rightcall.errors import DeclarationError, UsageError
from rightcall.gate.gate import Policy
from rightcall.loop.settings import Handoff, HandoffAgent, HistoryFilter, Setup
from rightcall.loop.state import HandoffView, State

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

HANDED_OVER = ".handoff"
"""The end of the key of the step in which a run was handed over."""

_WHEN = "Hand the conversation over to {name}, who goes on with it."
_RETURNED = "{name} goes on."


@check_keywords("rc.handoff")
def handoff(
    agent: HandoffAgent,
    *,
    when: str = "",
    filter: HistoryFilter | None = None,  # noqa: A002 - the word for it
    name: str = "",
) -> Handoff:
    """An agent for ``handoffs=[…]`` of another, with more settings than the agent alone.

    Args:
        agent: The agent that goes on.
        when: What the model is told of it: when to hand over.
        filter: A function of the transcript that returns what the next agent sees of it.
        name: What the tool is called that hands over; ``transfer_to_NAME``, unless given.
    """
    return Handoff(agent=agent, when=when, filter=filter, name=name)


def read_handoffs(given: Iterable[object], output: Any) -> tuple[Handoff, ...]:
    """Returns what was given as ``handoffs=``: agents, or handoffs to them.

    They must answer with the same type, since it is ``result.output`` of the run.
    """
    found: list[Handoff] = []
    for each in given:
        if isinstance(each, Handoff):
            found.append(each)
        elif hasattr(each, "take_over"):
            found.append(Handoff(agent=each))  # type: ignore[arg-type]  # by its one method of that name
        else:
            kind = type(each).__name__
            raise UsageError(f"handoffs=[…] of rc.Agent takes agents and rc.handoff(agent), not {kind}")
    for each in found:
        theirs = each.agent.output
        if _type_of(theirs) != _type_of(output):
            raise UsageError(
                f"handoffs: the agent {each.agent.name} has another output than the one that hands "
                "over; a run answers with one type, so give both the same output="
            )
        try:
            handoff_tool(each)
        except DeclarationError as error:
            raise UsageError(
                f"handoffs: the agent {each.agent.name!r} cannot be handed over to by a call: {error} "
                "An agent's name is name= of rc.Agent, and rc.handoff(agent, name=…) for the tool"
            ) from error
    return tuple(found)


def handoff_tool(given: Handoff) -> Tool:
    """Returns the tool that the model calls to hand over."""
    name = given.agent.name
    words = _RETURNED.format(name=name)
    return Tool(
        given.name or f"transfer_to_{name}",
        given.when or _WHEN.format(name=name),
        handler=lambda: words,
        effect="pure",
        errors="neutral",
    )


def _type_of(output: Any) -> Any:
    return output.type if isinstance(output, OutputSettings) else output


class ReachableTools:
    """The tools of an agent and of all that its runs can be handed over to."""

    def __init__(self, setup: Setup) -> None:
        self._setups = [setup]
        seen = {setup.agent}
        for each in self._setups:
            for given in each.handoffs.values():
                if given.agent.name not in seen:
                    seen.add(given.agent.name)
                    self._setups.append(given.agent.take_over(each))

    def get(self, name: str, /) -> Tool | None:
        """Returns the tool of that name; the first agent's, if several have one."""
        for setup in self._setups:
            if (found := setup.tools.get(name)) is not None:
                return found
        return None

    def names(self) -> Sequence[str]:
        """Returns the names of all."""
        return tuple(dict.fromkeys([name for setup in self._setups for name in setup.tools.names()]))


class RecordedAgent:
    """Stands in for an agent that a recorded run was handed over to."""

    output = None

    def __init__(self, handed: "HandedOver") -> None:
        self._handed = handed
        self.name = handed.agent

    def take_over(self, before: Setup) -> Setup:
        """Returns the recorded run's setup, with what that agent began with."""
        wanted = self._handed.wanted
        answer = None if wanted is None else Tool(wanted.tool, "", wanted.schema)
        return replace(before, agent=self.name, specs=self._handed.specs, answer=answer)

    async def begin_turn(self, _: Setup) -> tuple[str, RequiredOutput | None]:
        """Returns what was recorded."""
        return self._handed.system, self._handed.wanted


class HandedOver(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent begins with that a run was handed over to."""

    agent: str
    tool: str
    """The tool that handed over."""
    before: str = ""
    """The name of the agent that handed over."""
    guards: int = 0
    """How many agents' trust rules judge the calls from here on."""
    system: str = ""
    specs: tuple[Spec, ...] = ()
    wanted: RequiredOutput | None = None
    messages: tuple[UnchangedMessages | User | Reply | Results, ...] | None = None
    """What a filter left of the transcript; None for all."""


def find_handoff(handoffs: Mapping[str, Handoff], results: Iterable[Result]) -> Handoff | None:
    """Returns the handoff that the calls of a reply ask for; the first of several."""
    for result in results:
        if result.outcome == "returned" and result.name in handoffs:
            return handoffs[result.name]
    return None


async def hand_over(
    key: str, given: Handoff, before: str, setup: Setup, messages: Transcript
) -> StepDone:
    """Returns the step of the record that says what the next agent, after ``before``, begins with."""
    system, wanted = await given.agent.begin_turn(setup)
    left = None
    if given.filter is not None:
        left = mend(_read_filtered(given.filter(messages), given)).messages
    handed = HandedOver(
        agent=setup.agent,
        tool=handoff_tool(given).name,
        before=before,
        guards=_count_guards(setup),
        system=system,
        specs=setup.specs,
        wanted=wanted,
        messages=None if left is None else tuple(message_difference(messages, left)),
    )
    return StepDone(key=key, value=json.encode(handed).decode())


def _read_filtered(said: Any, given: Handoff) -> Transcript:
    """Returns what a filter returned, which must be messages."""
    is_sequence = isinstance(said, Sequence) and not isinstance(said, str | bytes)
    if is_sequence and all(isinstance(each, User | Reply | Results) for each in said):
        return tuple(said)
    name = getattr(given.filter, "__qualname__", repr(given.filter))
    raise UsageError(
        f"the filter {name} of the handoff to {given.agent.name} returned {type(said).__name__}: it "
        "returns a sequence of messages, some of those that it is given"
    )


def is_handed_over(entries: Iterable[Entry]) -> bool:
    """Whether the record says that a run was handed over."""
    return any(isinstance(each, StepDone) and each.key.endswith(HANDED_OVER) for each in entries)


def read_handed_over(entry: StepDone) -> HandedOver:
    """Decode what the next agent begins with from its recorded step."""
    return json.decode(entry.value, type=HandedOver)


def with_handoff(state: State, handed: HandedOver) -> State:
    """Returns the state of a run in which another agent goes on."""
    view = None
    if handed.messages is not None:
        view = HandoffView(until=len(state.messages), messages=handed.messages)
    progress = replace(state.progress, bad_answers=0, failures={})
    return replace(
        state,
        path=(*state.path, handed.agent),
        began_by=state.began_by or handed.before,
        guards=handed.guards,
        system=handed.system,
        wanted=handed.wanted,
        choice="auto",
        view=view,
        progress=progress,
    )


def check_first_agent(run: str, began_by: str, name: str) -> None:
    """Raise UsageError if an agent goes on with a handed-over run that another one began.

    The rules of the agents before are found on the way from the first; from another, they would be lost.
    """
    # Results that were stored by earlier versions do not say who began.
    if began_by and began_by != name:
        raise UsageError(
            f"the run {run!r} was begun by {began_by}; resume it with that agent, and not with {name}"
        )


def check_guards(run: str, guards: int, setup: Setup) -> None:
    """Raise UsageError if fewer trust rules would judge a run than did when it was handed over."""
    if _count_guards(setup) < guards:
        raise UsageError(
            f"the run {run!r} was handed over under trust rules that its agents do not have now: "
            "give them the trust= that they had when it began"
        )


def _count_guards(setup: Setup) -> int:
    return len(setup.earlier_rules) + (setup.trust is not None)


def join_guards(policy: Policy | None, guards: Sequence["Guard"]) -> Policy:
    """Returns a policy that is no laxer than the guards of the agents before: rights never widen."""

    def judge(checked: CheckedCall) -> Decision | None:
        decision = None if policy is None else policy(checked)
        for guard in guards:
            if isinstance(decision, Deny | Answer | Rewrite):
                return decision
            finding = guard.judge(checked).decision
            if isinstance(finding, Deny | Ask):
                decision = finding
        return decision

    return judge


def message_difference(
    before: Transcript, after: Transcript
) -> Iterator[UnchangedMessages | User | Reply | Results]:
    """Yields the messages after, with those that were there before as references by index."""
    places = dict(zip(map(id, before), count()))
    run: UnchangedMessages | None = None
    for message in after:
        at = places.get(id(message))
        if run is not None and at == run.last:
            run = UnchangedMessages(run.first, at + 1)
            continue
        if run is not None:
            yield run
            run = None
        if at is None:
            yield message
        else:
            run = UnchangedMessages(at, at + 1)
    if run is not None:
        yield run


def reachable_agents(first: Any, handoffs_of: Callable[[Any], Iterable[Handoff]]) -> Iterator[Any]:
    """Yields an agent, and all that its runs can be handed over to."""
    seen = [first]
    for agent in seen:
        yield agent
        for each in handoffs_of(agent):
            if each.agent not in seen:
                seen.append(each.agent)


def check_agent_names(
    first: Any, added: Iterable[Handoff], handoffs_of: Callable[[Any], Iterable[Handoff]]
) -> None:
    """Raise UsageError if two agents that a run can be handed over to have one name, or are the same."""
    named: dict[str, Any] = {}
    for given in (first, *[each.agent for each in added]):
        for agent in reachable_agents(given, handoffs_of):
            if named.setdefault(agent.name, agent) is not agent:
                raise UsageError(
                    f"handoffs: two agents are named {agent.name!r}, and a run that waits goes on with "
                    "an agent by its name: give each its own, rc.Agent(…, name=…)"
                )
    if any(each.agent is first for each in added):
        raise UsageError(f"handoffs: the agent {first.name!r} cannot hand over to itself")


def find_agent(first: Any, name: str, handoffs_of: Callable[[Any], Iterable[Handoff]]) -> Any:
    """Returns the agent of that name among those that an agent's runs can be handed over to."""
    for agent in reachable_agents(first, handoffs_of):
        if agent.name == name:
            return agent
    raise UsageError(
        f"the run was handed over to the agent {name!r}, and no handoffs of {first.name} lead there"
    )
