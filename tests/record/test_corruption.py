"""A journal that was damaged in any way: recovery reads it as it is, or says which entry is wrong.

Real journals, with approvals, agents inside agents, searches for tools, hooks, summaries and outputs of
a type, and what chance makes of them. Never an error that is a mistake of the library's.
"""

import asyncio
import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

import rightcall as rc
from rightcall.core.decision import Allow, Deny
from rightcall.core.entry import Entry
from rightcall.core.message import Reply
from rightcall.core.request import Request
from rightcall.errors import JournalError, RightcallError
from rightcall.record.entry_text import decode, encode
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply

CORRUPTIONS = 2400


@rc.tool(effect="read")
def look(place: str = "here") -> str:
    """Look at a place."""
    return f"seen {place}"


@rc.tool(effect="pure")
def add(a: int = 1, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@rc.tool(effect="write", approval=True)
def pay(euros: int = 3) -> str:
    """Pay."""
    return "paid"


@rc.tool(effect="write")
def send(to: str = "ada") -> str:
    """Send a message to somebody."""
    return "sent"


def _after(*replies: Any) -> Callable[[Request], Any]:
    """Answers by how many replies there were, and at the end in words."""

    def said(request: Request) -> Any:
        done = sum(isinstance(message, Reply) for message in request.messages)
        return replies[done] if done < len(replies) else reply("Done.")

    return said


def _model(*replies: Any) -> ScriptedModel:
    return ScriptedModel(_after(*replies))


async def _summary(earlier: str, messages: Any) -> str:
    return f"{earlier} {len(messages)} messages"


def _agents(journal: Any) -> dict[str, rc.Agent[Any, Any]]:
    asks = [reply(call("look"), call("add")), reply(call("pay"), call("look")), reply(call("pay"))]
    helper = rc.Agent(_model(*asks), [look, add, pay], name="helper")
    hooks = rc.Hooks(
        before_model=lambda request: rc.gate.Veto("no more") if len(request.messages) > 9 else None,
        before_tool=lambda checked: rc.gate.Veto("not that") if checked.call.name == "send" else None,
    )
    return {
        "approval": rc.Agent(_model(*asks), [look, add, pay], journal=journal),
        "inside": rc.Agent(
            _model(reply(call("helper", task="Pay.")), reply(call("look"))),
            [helper.as_tool(), look],
            journal=journal,
        ),
        "search": rc.Agent(
            _model(
                reply(call("search_tools", queries=["pay"])), reply(call("look")), reply(call("pay"))
            ),
            [look, add, pay, send],
            defer=True,
            journal=journal,
        ),
        "output": rc.Agent(
            _model(reply(call("look")), reply("not that"), reply('{"answer": [1, 2]}')),
            [look],
            output=list[int],
            journal=journal,
        ),
        "hooks": rc.Agent(
            _model(reply(call("send"), call("look")), reply(call("add"))),
            [look, add, send],
            hooks=[hooks],
            instructions=lambda: "Be brief.",
            window=rc.conversation.Window(tokens=60),
            compact=rc.Compaction(by=_summary, stub=None),
            journal=journal,
        ),
        "refused": rc.Agent(
            _model(reply(call("nothing"), call("add", a="x")), reply(call("send"))),
            [add, send],
            policy=lambda checked: Deny("no") if checked.call.name == "send" else None,
            journal=journal,
        ),
    }


async def _record() -> dict[str, list[dict[str, Any]]]:
    """Real journals, as JSON: whole ones, and some that broke off."""
    journal = MemoryJournal()
    records = {}
    for name, agent in _agents(journal).items():
        result = await agent.run("Do it.", run=name)
        while result.pending:
            decisions = {
                each.call_id: Allow() if number else Deny("no")
                for number, each in enumerate(result.pending)
            }
            result = await agent.resume(result, decisions)
        entries = [json.loads(encode(entry, None, name)) for entry in journal.entries(name)]
        records[name] = entries
        for part in (3, 2):
            records[f"{name} {part}"] = entries[: len(entries) * (part - 1) // part]
    return records


class _TextJournal:
    """A journal in memory that keeps text, and so decodes it as one in a file does."""

    def __init__(self, run: str, texts: list[bytes]) -> None:
        self._run = run
        self._texts = texts

    def append(self, run: str, entry: Entry, /) -> None:
        self._texts.append(encode(entry, None, run))

    def entries(self, run: str, /) -> list[Entry]:
        return [decode(text, f"{run}, entry {at}") for at, text in enumerate(self._texts)]

    def runs(self) -> list[str]:
        return [self._run]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to everything inside a value."""
    found = []
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inside in items:
        found.append((*path, key))
        found += _places(inside, (*path, key))
    return found


def _owner(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


_OTHERS: list[Any] = [
    None,
    True,
    -1,
    0,
    7,
    10**30,
    0.5,
    "",
    "x",
    "t1.model",
    "t9.9.look",
    [],
    {},
    [1],
    {"a": 1},
]


def _corrupt(entries: list[dict[str, Any]], chance: random.Random) -> str:
    """Damage a record in one way; returns which."""
    at = chance.randrange(len(entries))
    kind = chance.choice(("drop", "again", "swap", "cut", "delete", "rename", "retype", "flip", "copy"))
    other = chance.randrange(len(entries))
    match kind:
        case "drop":
            del entries[at]
        case "again":
            entries.insert(other, deepcopy(entries[at]))
        case "swap":
            entries[at], entries[other] = entries[other], entries[at]
        case "cut":
            del entries[at:]
        case _:
            path = chance.choice(_places(entries[at]))
            owner, key = _owner(entries[at], path), path[-1]
            if kind == "delete":
                del owner[key]
            elif kind == "rename" and isinstance(owner, dict):
                owner[f"{key}s"] = owner.pop(key)
            elif kind == "flip":
                owner[key] = _flip(owner[key], chance)
            elif kind == "copy":
                path = chance.choice(_places(entries[other]))
                owner[key] = deepcopy(_owner(entries[other], path)[path[-1]])
            else:
                owner[key] = deepcopy(chance.choice(_OTHERS))
            kind = f"{kind} {path}"
    return f"{kind} at {at}, {other}"


def _flip(value: Any, chance: random.Random) -> Any:
    """A bit of a text or a number is another."""
    if isinstance(value, str) and value:
        at = chance.randrange(len(value))
        return f"{value[:at]}{chr(ord(value[at]) ^ (1 << chance.randrange(6)))}{value[at + 1 :]}"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ (1 << chance.randrange(8))
    return value


async def _recover(name: str, entries: list[dict[str, Any]]) -> RightcallError | None:
    texts = [json.dumps(entry).encode() for entry in entries]
    agent = _agents(_TextJournal(name, texts))[name.partition(" ")[0]]
    try:
        async with asyncio.timeout(20):
            await agent.recover(name)
    except RightcallError as error:
        return error
    return None


@pytest.fixture(scope="module")
def records() -> dict[str, list[dict[str, Any]]]:
    return asyncio.run(_record())


async def test_every_record_can_be_recovered_undamaged(records):
    kinds = {entry["type"] for entries in records.values() for entry in entries}
    assert kinds >= {
        "run_started", "request_sent", "reply_received", "tools_changed", "call_checked",
        "call_decided", "call_started", "call_finished", "step_done", "hook_answered", "run_resumed",
        "run_paused", "run_ended", "nested",
    }  # fmt: skip
    for name, entries in records.items():
        assert await _recover(name, deepcopy(entries)) is None, name


@pytest.mark.parametrize("seed", range(8))
async def test_damage_is_read_as_it_is_or_named(records, seed):
    chance = random.Random(seed)
    named = 0
    for number in range(CORRUPTIONS // 8):
        name = chance.choice(list(records))
        entries = deepcopy(records[name])
        how = _corrupt(entries, chance)
        try:
            error = await _recover(name, entries)
        except Exception as error:
            raise AssertionError(f"{name}, {number}: {how}") from error
        if isinstance(error, JournalError):
            named += 1
            assert re.fullmatch(r".*, entry \d+|the run '.*', .+", error.where), (error, how)
        else:
            # What is as it should be for a journal, and not for this run.
            assert error is None or re.search(_NOT_DAMAGE, str(error)), (error, how)
    assert named > CORRUPTIONS // 8 // 4


_NOT_DAMAGE = "holds no run|was begun with the tools|output is not of this form"
