"""Asks the model which tools the user's request needs, before it reads any untrusted text.

Only messages of the user and the developer are sent, so that no untrusted text can influence the answer,
even in the middle of a long conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct, field, json
from msgspec.structs import replace

from rightcall.core.decision import Grant
from rightcall.core.entry import Entry, StepDone
from rightcall.core.events import ReplyEnd
from rightcall.core.message import Message, Reply, Results, Transcript, User
from rightcall.core.parts import Call, Usage
from rightcall.core.ports import ExchangeEnd, ModelExchange
from rightcall.core.request import Named, Request
from rightcall.core.tool import Tool
from rightcall.errors import RightcallError
from rightcall.loop.observers import around
from rightcall.loop.settings import Setup
from rightcall.loop.state import State
from rightcall.record.journal_file import off_loop
from rightcall.trust.rules import Rules

if TYPE_CHECKING:
    from rightcall.trust.guard import Guard


_SECONDS = 60.0
_TOKENS = 1024
_QUESTION = (
    "Before anything is done: say which of these tools the user's request needs, and no others; and "
    "whom and what it is to act on. You cannot add to either list later.\n{tools}"
)
_ANSWER = "state_needs"
_NAMED = (
    "Every person, address, account, file, link, record and place that the request is to reach or to "
    "act on, each written exactly as the user wrote it. Leave out whatever the user only mentions, or "
    "does not want anything done to."
)
_MOST_NAMED = 200


class _Stated(Struct, frozen=True):
    """The model's answer. What it leaves out, it does not state."""

    tools: list[str]
    named: list[str] = field(default_factory=list)


class Granted(Struct, frozen=True, omit_defaults=True):
    """What the model says that the request needs, and what asking cost."""

    grant: Grant
    usage: Usage = Usage()


async def ask_for_grant(setup: Setup, messages: Transcript, seconds: float | None) -> Entry:
    """Ask the model, and return its answer as a step. An answer that cannot be parsed grants nothing."""
    tools = [tool for name in setup.tools.names() if (tool := setup.tools.get(name)) and _matters(tool)]
    granted = Granted(Grant())
    clean = []
    for message in messages:
        if isinstance(message, User) and message.author in ("user", "developer"):
            clean.append(message.without_outsiders())
    if tools and clean:
        lines = "\n".join(f"- {tool.name}: {tool.short or tool.description}" for tool in tools)
        names = tuple(tool.name for tool in tools)
        request = Request(
            messages=tuple(clean),
            system=f"{setup.system}\n\n{_QUESTION.format(tools=lines)}".strip(),
            specs=(_form(names).spec,),
            choice=Named(_ANSWER) if setup.model.profile.forced_choice else "auto",
            max_tokens=_TOKENS,
            options=setup.options,
        )
        reply = await _reply(setup, request, min(_SECONDS, seconds or _SECONDS))
        if reply is not None:
            granted = Granted(_parse_grant(reply.calls, names), reply.usage)
    return StepDone(key="grant", value=json.encode(granted).decode())


def read_grant(entry: StepDone) -> Granted:
    """Decode the grant from its recorded step."""
    return json.decode(entry.value, type=Granted)


def with_grant(state: State, granted: Granted) -> State:
    """Returns the state with the grant, which restricts the run from here on."""
    progress = replace(state.progress, usage=state.progress.usage + granted.usage)
    return replace(state, grant=granted.grant, progress=progress)


def _matters(tool: Tool) -> bool:
    from rightcall.trust.facts import resolve_facts  # noqa: PLC0415 - light until used

    facts = resolve_facts(tool)
    return facts.is_consequential or facts.reads_private


def _form(names: tuple[str, ...]) -> Tool:
    """Returns the tool that the model answers with."""
    return Tool(
        _ANSWER,
        "Say what the user's request needs.",
        {
            "type": "object",
            "properties": {
                "tools": {"type": "array", "items": {"type": "string", "enum": list(names)}},
                "named": {"type": "array", "items": {"type": "string"}, "description": _NAMED},
            },
            "required": ["tools", "named"],
        },
        effect="pure",
    )


def _parse_grant(calls: tuple[Call, ...], known: tuple[str, ...]) -> Grant:
    for call in calls:
        try:
            stated = json.decode(call.arguments, type=_Stated)
        except DecodeError:
            continue
        if call.name == _ANSWER:
            tools = tuple(name for name in known if name in stated.tools)
            return Grant(tools=tools, named=tuple(stated.named[:_MOST_NAMED]))
    return Grant()


async def _reply(setup: Setup, request: Request, seconds: float) -> Reply | None:
    """Returns the whole reply; None if none comes in time."""
    try:
        with around(setup.around, ModelExchange, "grant", setup.model, request) as watched:
            async with asyncio.timeout(seconds):
                async for event in setup.model.stream(request):
                    if isinstance(event, ReplyEnd):
                        watched.set_end(ExchangeEnd(event.reply))
                        return event.reply
    except (TimeoutError, RightcallError):
        return None
    return None


# Shows a run's messages to its guard, in a thread if that takes long. Only one thread at a time
# uses a guard. The caller waits until the guard has processed a message, and must make sure that
# nothing else uses the guard meanwhile.


_TURN = 0.01
"""Seconds for which messages are processed before the event loop gets a turn."""
_LONG = 4096
"""Characters that take some milliseconds to process, if they are mostly names and numbers."""


def make_guard(setup: Setup, rules: Rules, grant: Grant | None) -> "Guard":
    """Returns the guard of a run that has trust rules."""
    if setup.plan is not None:
        return setup.plan.guard(setup, rules, grant)
    from rightcall.trust.guard import Guard  # noqa: PLC0415 - it takes long to load

    return Guard(rules, setup.tools, system=setup.system, grant=grant, above=setup.above)


async def show_messages(
    guard: "Guard", messages: Sequence[Message], *, history: int, alone: Callable[[], Awaitable[None]]
) -> None:
    """Show a guard some messages, of which the first ``history`` are from another run.

    ``alone`` is awaited before a message goes to a thread; after it nothing else may use the guard.
    """
    turned = monotonic()
    for at, message in enumerate(messages):
        seeing = partial(_see, guard, message, is_history=at < history)
        if is_long(message):
            await alone()
            await off_loop(seeing, "trust")
        else:
            seeing()
        if monotonic() - turned > _TURN:
            await asyncio.sleep(0)
            turned = monotonic()


def is_long(message: Message) -> bool:
    """Whether a guard may take long to process a message."""
    match message:
        case Results(results):
            return sum([len(each.text) for each in results]) > _LONG
        case User():
            return len(message.text) > _LONG
        case _:
            return False


def _see(guard: "Guard", message: Message, *, is_history: bool) -> None:
    guard.see(guard.recall(message) if is_history else message)
