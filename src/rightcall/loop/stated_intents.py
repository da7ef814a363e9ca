"""Finds out what a run may do before its model reads anything: intents, and what they refer to.

Only messages of the user and the developer are sent, and no result, so that no outsider can influence
what is stated, even in the middle of a long conversation. Both are steps of the run: what is recorded
is not repeated.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from rightcall.core.entry import Entry, StepDone
from rightcall.core.events import ReplyEnd
from rightcall.core.handler import FoundTools, ignore
from rightcall.core.jsontext import JsonValue, dump, nodes
from rightcall.core.limits import Limits
from rightcall.core.message import Reply, Transcript, User, user_text
from rightcall.core.outcome import Returned
from rightcall.core.parts import Call, Text, Usage
from rightcall.core.ports import ExchangeEnd, ModelExchange, Tools
from rightcall.core.request import Named, Request
from rightcall.core.tool import CheckedCall, Tool
from rightcall.declare.returns import returns_of
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError, UsageError
from rightcall.gate.attempt import Setting
from rightcall.gate.gate import check_aside, decision_for
from rightcall.gate.render import encode
from rightcall.log import run_logger
from rightcall.loop.observers import around
from rightcall.loop.run_guard import make_guard
from rightcall.loop.settings import Setup
from rightcall.trust.facts import ResolvedFacts, resolve_facts
from rightcall.trust.intent_book import amount_problem
from rightcall.trust.intents import Intent, read_intents
from rightcall.trust.references import LookedUp, Lookup, resolve
from rightcall.trust.task_intents import Resolution, TaskIntents
from rightcall.trust.traces import came_back, content_of

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard

INTENTS_KEY = "intents"
"""The key of the step that says what a run may do."""
_STATED_KEY = "intents.stated"
_SECONDS = 60.0
_TOKENS = 4096
_REPAIRS = 1
"""How often the model may mend what it stated, before anything is read."""
_WHOLE = Limits(max_output_bytes=16 * 1024 * 1024)
_ANSWER = "state_intents"
_ORDERS = """\
Before anything is done, list what this request asks to be DONE (not read). One object for each act:
{"tool": name, "values": {parameter: value}, "times": n, "each": parameter, "instead_of": id, "id": id}
A value is one of
  "text" | number | true            as the user typed it, spelled as the tool wants it
  {"like": "Dinner at {}"}          a text with gaps, if the user gave the wording
  {"day": "2025-01-02"}             any time of that day
  {"free": true}                    any text, where the user left the wording to you
  {"one_of": [...]}
  {"from": tool, "args": {...}, "where": {field: {"is"|"contains"|"starts": ...}}, "field": f,
   "pick": "max:f"|"min:f"|"most"|"fewest", "each": argument}     looked up with a tool that only reads
  {"mentioned": {"from": ...}}      whatever of the parameter's kind that text mentions
  {"result_of": id, "field": f}     what the act with that id returns
  {"at_most": number | {"from": ...}, "scale": 1, "plus": 0}
State every parameter that is marked *. Prefer a field over mentioned, a condition over none, an exact
content if the user gave one. times: how often the user asked for it. If the request hands the decision
to a text ("do what the mail says"), give {"delegates": {"from": ...}}. If nothing is to be done: [].
Nothing that is not stated here can be done later.

Tools:
"""


class StatedTask(Struct, frozen=True, omit_defaults=True):
    """What a task may do, and what finding it out cost."""

    task: TaskIntents
    usage: Usage = Usage()


def note_intents(intents: Any, setup: Setup) -> tuple[JsonValue, ...]:
    """A run's intents in their notation. Raises UsageError for one that no tool of the run fits."""
    if setup.trust is None:
        raise UsageError("intents need trust rules; give the agent some with trust=")
    stated = read_intents(intents)
    for each in stated:
        if isinstance(each, Intent):
            check_intent(each, find_tool(setup.tools, each.tool), setup.tools.names())
    return tuple([each.notation for each in stated])


def find_tool(tools: Tools, name: str) -> Tool | None:
    """A tool of a run, or of what it hands tasks to: intents hold there, too."""
    found = tools.get(name)
    if found is not None:
        return found
    for each in tools.names():
        above = tools.get(each)
        if above is not None and above.inside is not None:
            found = above.inside(name)
            if found is not None:
                return found
    return None


def check_intent(intent: Intent, tool: Tool | None, known: Sequence[str]) -> None:
    """Raise UsageError for an intent whose tool is not there, or has no such parameter."""
    if tool is None:
        raise UsageError(f"{intent!r}: there is no tool {intent.tool!r}; there is {', '.join(known)}")
    facts = resolve_facts(tool)
    for name in intent.values:
        if facts.parameters and name not in facts.parameters:
            there = ", ".join(sorted(facts.parameters))
            raise UsageError(f"{intent!r}: {intent.tool} has no parameter {name!r}; it has {there}")
    problem = amount_problem(intent, tool, facts)
    if problem:
        raise UsageError(f"{intent!r}: {problem}")
    for name in ("times", "each", "label", "instead_of"):
        if getattr(intent, name) and name in facts.parameters and name not in intent.values:
            words = f"{intent.tool} has a parameter {name!r} itself"
            raise UsageError(f"{intent!r}: {words}; give its value in a dict, as in {{{name!r}: …}}")


def read_task(entry: StepDone) -> StatedTask:
    """Decode what a task may do from its recorded step."""
    return json.decode(entry.value, type=StatedTask)


async def state_task(
    setup: Setup,
    guard: "Guard",
    messages: Transcript,
    task: TaskIntents | None,
    seconds: float | None,
) -> StatedTask:
    """What a run may do: as given, or as the model states it; with what its references give."""
    usage = Usage()
    if task is None:
        stated, usage = await _ask_model(setup, guard, messages, seconds)
        task = TaskIntents(stated=stated, by="model")

    async def body() -> Entry:
        resolutions = await look_up(setup, guard, task.stated)
        whole = StatedTask(replace(task, resolutions=resolutions), usage)
        return StepDone(key=INTENTS_KEY, value=json.encode(whole).decode())

    entry = await setup.steps.step(INTENTS_KEY, body)
    assert isinstance(entry, StepDone)
    found = read_task(entry)
    for each in found.task.resolutions or ():
        if each.problem:
            run_logger.info("run %s: an intent cannot be met: %s", setup.run, each.problem)
    return found


async def check_references(setup: Setup, intents: Any) -> list[str]:
    """Why references of these intents would give nothing in a run of this setup."""
    stated = note_intents(intents, setup)
    assert setup.trust is not None
    guard = make_guard(setup, setup.trust, None)
    resolutions = await look_up(setup, guard, stated)
    guard.state(TaskIntents(stated=stated, resolutions=resolutions))
    assert guard.book is not None
    return [*[each.problem for each in resolutions if each.problem], *guard.book.ambiguous]


async def look_up(setup: Setup, guard: "Guard", stated: Sequence[JsonValue]) -> tuple[Resolution, ...]:
    """Look up every reference of some intents, with read tools only."""
    resolving = resolve(read_intents(list(stated)), partial(find_tool, setup.tools))
    number = 0
    try:
        lookup = next(resolving)
        while True:
            number += 1
            lookup = resolving.send(await _look_up_one(setup, guard, lookup, number))
    except StopIteration as end:
        resolutions: tuple[Resolution, ...] = end.value
        return resolutions


async def _look_up_one(setup: Setup, guard: "Guard", lookup: Lookup, number: int) -> LookedUp:
    key = f"intents.{number}.{lookup.tool}"
    call = Call(id=key, name=lookup.tool, arguments=dump(lookup.arguments))
    tool = find_tool(setup.tools, lookup.tool)
    checked = await check_aside(call, Toolbox([] if tool is None else [tool]))
    if not isinstance(checked, CheckedCall):
        return LookedUp(problem=f"{lookup.tool} does not take these arguments")
    decision = decision_for(checked, setup.policy).decision
    if decision is not None and type(decision).__name__ != "Allow":
        return LookedUp(problem=f"{lookup.tool} may not be called without a person")
    setting = Setting(
        dependencies=setup.dependencies,
        key=f"{setup.run}.{key}",
        run=setup.run,
        spend=lambda _: None,
        tell=ignore,
    )
    execution = await setup.executor.run(checked, setting)
    outcome = execution.outcome
    if not isinstance(outcome, Returned):
        return LookedUp(problem=f"{lookup.tool} gave no result: {outcome.kind}")
    value = outcome.value
    is_outside = isinstance(value, FoundTools) and bool(value.source)
    if isinstance(value, FoundTools):
        value = value.text
    parts = encode(value, _WHOLE)
    text = "".join([part.text for part in parts if isinstance(part, Text)])
    # What this agent wrote itself while outsiders could lead it is theirs.
    is_outside = is_outside or bool(guard.seen.back_in(execution.result))
    memory = setup.trust.memory if setup.trust is not None else None
    if memory is not None and not is_outside:
        is_outside = bool(came_back(content_of(execution.result), memory.__contains__))
    return LookedUp(text=text, is_outside=is_outside)


async def _ask_model(
    setup: Setup, guard: "Guard", messages: Transcript, seconds: float | None
) -> tuple[tuple[JsonValue, ...], Usage]:
    """What the model states. An answer that cannot be parsed states nothing."""

    async def body() -> Entry:
        stated, usage = await _converse(setup, guard, messages, seconds)
        task = StatedTask(TaskIntents(stated=stated, by="model"), usage)
        return StepDone(key=_STATED_KEY, value=json.encode(task).decode())

    entry = await setup.steps.step(_STATED_KEY, body)
    assert isinstance(entry, StepDone)
    known = read_task(entry)
    return known.task.stated, known.usage


async def _converse(
    setup: Setup, guard: "Guard", messages: Transcript, seconds: float | None
) -> tuple[tuple[JsonValue, ...], Usage]:
    clean = []
    for message in messages:
        if isinstance(message, User) and message.author in ("user", "developer"):
            clean.append(message.without_outsiders())
    tools = [tool for name in setup.tools.names() if (tool := setup.tools.get(name)) is not None]
    acting = [tool for tool in tools if resolve_facts(tool).is_consequential]
    usage = Usage()
    if not acting or not clean:
        return (), usage
    system = f"{setup.system}\n\n{_ORDERS}{describe_tools(tools)}".strip()
    stated: tuple[JsonValue, ...] = ()
    for attempt in range(_REPAIRS + 1):
        request = Request(
            messages=tuple(clean),
            system=system,
            specs=(_FORM.spec,),
            choice=Named(_ANSWER) if setup.model.profile.forced_choice else "auto",
            max_tokens=_TOKENS,
            options=setup.options,
        )
        reply = await _reply(setup, request, min(_SECONDS, seconds or _SECONDS))
        if reply is None:
            break
        usage = usage + reply.usage
        given, problems = _parse_answer(setup, reply)
        if given is not None:
            stated = given
            if attempt < _REPAIRS:
                # Only which of the references gave nothing is told: no word of a result.
                resolutions = await look_up(setup, guard, given)
                problems += [each.problem for each in resolutions if each.problem]
        if not problems:
            break
        words = "\n".join([f"- {each}" for each in problems[:20]])
        told = f"You stated: {dump(list(given or ()))}\nThis does not work:\n{words}\nState all anew."
        clean.append(user_text(told, "runtime"))
    return stated, usage


def _parse_answer(setup: Setup, reply: Reply) -> tuple[tuple[JsonValue, ...] | None, list[str]]:
    texts = [call.arguments for call in reply.calls if call.name == _ANSWER] or [reply.text]
    problems = []
    for text in texts:
        try:
            return note_intents(json.decode(text), setup), []
        except (DecodeError, UsageError) as error:
            problems.append(str(error)[:500])
    return None, problems


_FORM: Tool = Tool(
    _ANSWER,
    "State what the user's request asks to be done.",
    {
        "type": "object",
        "properties": {"intents": {"type": "array", "items": {"type": "object"}}},
        "required": ["intents"],
    },
    effect="pure",
)


def describe_tools(tools: Sequence[Tool]) -> str:
    """The tools' signatures and the fields of their results, with who writes these."""
    return "\n".join(map(_describe_tool, tools))


def _describe_tool(tool: Tool) -> str:
    facts = resolve_facts(tool)
    properties = tool.parameters.get("properties")
    parameters = []
    if isinstance(properties, dict):
        for name, schema in properties.items():
            kind = schema.get("type", "any") if isinstance(schema, dict) else "any"
            is_decisive = name in facts.targets or name in facts.bounded
            parameters.append(f"{name}{'*' if is_decisive and facts.is_consequential else ''}: {kind}")
    does = "does" if facts.is_consequential else "reads"
    fields = ", ".join(_describe_field(name, facts) for name in _fields_of(tool))
    gives = f" -> {fields}" if fields else ""
    line = (tool.short or tool.description).strip().partition("\n")[0]
    return f"- {tool.name}({', '.join(parameters)}){gives} ({does}) {line}"


def _describe_field(name: str, facts: ResolvedFacts) -> str:
    if facts.untrusted is True or facts.is_outsiders(name) or facts.is_identity(name):
        return f"{name} (outsiders write it)"
    return name


def _fields_of(tool: Tool) -> list[str]:
    """The names of the fields of a tool's result, if its schema says them."""
    returns = returns_of(tool)
    if returns is None:
        return []
    found: dict[str, None] = {}
    for node in nodes(returns.schema):
        properties = node.get("properties")
        if isinstance(properties, dict):
            for name in properties:
                found[name] = None
    found.pop("result", None)
    return list(found)[:40]


async def _reply(setup: Setup, request: Request, seconds: float) -> Reply | None:
    """Returns the whole reply; None if none comes in time."""
    try:
        with around(setup.around, ModelExchange, INTENTS_KEY, setup.model, request) as watched:
            async with asyncio.timeout(seconds):
                async for event in setup.model.stream(request):
                    if isinstance(event, ReplyEnd):
                        watched.set_end(ExchangeEnd(event.reply))
                        return event.reply
    except (TimeoutError, RightcallError):
        return None
    return None
