"""A server that leaves calls in its text, and no family was set: the user is told, once."""

import logging

import pytest
from msgspec.structs import replace

import rightcall as rc
from models.test_reading import ADD, ASKED, CALL, connected, read, reply
from request.server import serving
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Call, Text
from rightcall.core.request import Request
from rightcall.local.families.call_text import write
from rightcall.local.families.family import Family
from rightcall.local.families.family_list import FAMILIES
from rightcall.models.connect import UnreadCalls


def warned(caplog, text: str, request: Request = ASKED, *more: Call) -> list[str]:
    """What is said about a reply of this text, which comes twice."""
    caplog.clear()
    watch = UnreadCalls("here|m")
    for _ in range(2):
        watch(request, Reply((Text(text), *more)))
    return [record.getMessage() for record in caplog.records]


async def test_a_connection_says_once_what_reads_the_calls_in_its_text(caplog):
    async with serving(reply(*CALL), reply(*CALL)) as server, rc.connect(f"{server.url}/v1|m") as model:
        for _ in range(2):
            _, found = await read(model)
            assert found.content == (Text(CALL),)
    assert [(each.name, each.levelname) for each in caplog.records] == [("rightcall.request", "WARNING")]
    assert 'family="auto") (or family="hermes") reads them' in caplog.records[0].getMessage()


WITHOUT_MARKERS = {"llama3", "functionary_v32", "command_r", "gigachat3"}
"""These write calls as plain JSON or after plain words, which may be an answer."""
MARKED = {name: family for name, family in FAMILIES.items() if name not in WITHOUT_MARKERS}


@pytest.mark.parametrize("family", MARKED.values(), ids=MARKED)
def test_the_marked_calls_of_every_family_are_noticed(caplog, family: Family):
    text = write(family, [Call(id="", name="add", arguments='{"a": 1}')], (ADD,))
    (told,) = warned(caplog, f"Let me see. {text}" if family.channels is None else text)
    assert 'family="auto"' in told


NOTHING = {
    "an answer": ("It is 3.", ASKED, ()),
    "markup about something else": ("<p>A <function> or [tool] it is.</p>", ASKED, ()),
    "markers that are spoken about": ("It writes <tool_call> before the JSON.", ASKED, ()),
    "a call of another tool": (CALL.replace("add", "mul"), ASKED, ()),
    "no tools": (CALL, Request(messages=(user_text("?"),)), ()),
    "tools that are not to be used": (CALL, replace(ASKED, choice="none"), ()),
    "a call that was parsed": (CALL, ASKED, (Call(id="1", name="add", arguments="{}"),)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "request_", "calls"), NOTHING.values(), ids=NOTHING)
def test_nothing_is_said_about(caplog, text, request_, calls):
    assert warned(caplog, text, request_, *calls) == []


async def test_with_a_family_there_is_nothing_to_say(caplog):
    caplog.set_level(logging.WARNING)
    async with serving(reply(CALL)) as server, connected(server) as model:
        _, found = await read(model)
    assert (found.calls[0].name, caplog.records) == ("add", [])
