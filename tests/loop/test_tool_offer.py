"""What a model is told of its tools: some are hidden until they are found, and finding costs little."""

import logging
import operator
import re
from types import SimpleNamespace

import pytest

import rightcall as rc
from rightcall.core.entry import CallStarted
from rightcall.core.message import Results, user_text
from rightcall.core.parts import Result
from rightcall.declare.toolbox import Defer
from rightcall.errors import DeclarationError, UsageError
from rightcall.loop.tool_offer import ToolDisclosure, ToolDiscovery
from rightcall.record.memory import MemoryJournal
from rightcall.testing import ScriptedModel, call, reply


def named(name: str, **options) -> rc.Tool:
    def do() -> str:
        return f"{name} did it"

    return rc.tool(do, name=name, description=f"The {name} tool.", **options)


CLOCK = named("clock")
MAIL = named("send_mail")
SMS = named("send_sms")
BOX = rc.Toolbox(CLOCK, MAIL, SMS)
STRICT = Defer(which=["send_mail", "send_sms"], by_name=False)


def found(*names: str) -> Results:
    shown = Result(call_id="c", name="search_tools", outcome="returned", content=(), offers=names)
    return Results((shown,))


async def test_a_tool_that_has_to_be_found_first_is_nowhere_until_then():
    script = [
        reply(call("send_mial")),
        reply(call("search_tools", queries=["send mail"])),
        reply(call("send_mial")),
        "Done.",
    ]
    result = await rc.Agent(ScriptedModel(script), BOX, defer=STRICT).run("Go.")
    before, _, after = [each.result.text for each in result.calls]
    # Neither as what was meant, nor in the list of what there is.
    assert "send_mail" not in before
    assert "clock" in before
    assert "send_mail" in after


async def test_a_call_of_a_hidden_tool_is_no_write_that_may_have_happened():
    journal = MemoryJournal()
    model = ScriptedModel([reply(call("send_mail")), "Done."])
    result = await rc.Agent(model, BOX, defer=STRICT, journal=journal).run("Go.", run="r")
    assert result.calls[0].outcome == "failed"
    assert not [entry for entry in journal.entries("r") if isinstance(entry, CallStarted)]


@pytest.mark.parametrize("descriptions", ["full", "short", "lines"])
async def test_an_agent_without_tools_offers_none_however_they_are_described(descriptions):
    model = ScriptedModel(["Done."])
    await rc.Agent(model, [], descriptions=descriptions).run("Go.")
    assert model.requests[0].specs == ()


def test_a_name_that_is_to_be_deferred_must_be_there_unless_tools_come_and_go():
    disclosure = ToolDisclosure(defer=["clock", "gone"])
    with pytest.raises(DeclarationError, match="gone"):
        disclosure.toolbox(BOX)
    live = disclosure.toolbox(BOX, is_live=True)
    assert [each.name for each in live if each.deferred] == ["clock"]
    one = ToolDisclosure(defer="gone").toolbox(BOX, is_live=True)
    assert not any(each.deferred for each in one)


def test_nothing_is_deferred_unless_that_was_said():
    assert ToolDisclosure().toolbox(BOX) is BOX
    offered = ToolDisclosure().offer(BOX)
    assert [spec.name for spec in offered.specs] == ["clock", "send_mail", "send_sms"]
    assert offered.tools is BOX


def asked_by(dialect: str) -> SimpleNamespace:
    return SimpleNamespace(dialect=SimpleNamespace(name=dialect))


def test_the_vendor_searches_only_where_it_can():
    by_vendor = ToolDisclosure(defer=Defer(vendor=True))
    assert by_vendor.searched_by(None) == "search_tools"
    assert by_vendor.searched_by(asked_by("anthropic")) == "search_tools"
    assert by_vendor.searched_by(asked_by("openai_responses")) == "tool_search"
    with pytest.raises(UsageError, match=r"This one is asked by gemini: leave vendor= out"):
        by_vendor.searched_by(asked_by("gemini"))
    with pytest.raises(UsageError, match="This one is asked by ScriptedModel"):
        by_vendor.searched_by(ScriptedModel([]))
    assert ToolDisclosure(defer=True).searched_by(asked_by("gemini")) == "search_tools"


class Read:
    """A message that was read before, and must not be read again."""

    @property
    def __class__(self) -> type:
        raise AssertionError("a message was read twice")


def test_what_was_read_once_is_not_read_again_as_a_conversation_grows():
    discovery = ToolDiscovery(ToolDisclosure(defer=STRICT).offer(STRICT_BOX))
    first = discovery.look((found("send_mail"),), None)
    assert [spec.name for spec in first.specs] == ["clock", "send_mail"]
    assert discovery.look((Read(), user_text("And?")), None) is None
    again = discovery.look((Read(), Read(), found("send_sms")), None)
    assert [spec.name for spec in again.specs] == ["clock", "send_mail", "send_sms"]
    assert discovery.look((Read(), Read(), Read(), found("send_mail")), None) is None


STRICT_BOX = BOX.deferred(["send_mail", "send_sms"])


def test_what_is_hidden_still_is_once_another_was_found():
    discovery = ToolDiscovery(ToolDisclosure(defer=STRICT).offer(STRICT_BOX))
    offered = discovery.look((found("send_mail"),), None)
    assert list(offered.tools.names()) == ["clock", "send_mail"]
    assert offered.tools.get("send_mail").handler == MAIL.handler
    assert offered.tools.get("send_sms").handler != SMS.handler
    assert offered.tools.get("nothing") is None
    everything = discovery.look((user_text(""), found("send_sms")), None)
    assert everything.tools is STRICT_BOX


async def test_the_advice_about_too_many_tools_names_what_there_is(caplog):
    agent = rc.Agent(ScriptedModel(["Done."]), [named(f"tool_{number}") for number in range(60)])
    with caplog.at_level(logging.WARNING):
        await agent.run("Go.")
    (said,) = [record.getMessage() for record in caplog.records if "footprint" in record.getMessage()]
    places = re.findall(r"rc\.([a-z_.]+)\(", said)
    assert places
    for place in places:
        assert callable(operator.attrgetter(place)(rc))
