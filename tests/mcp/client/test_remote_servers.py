"""A server that behaves, as a child process: its tools, what they return, and what it may ask."""

import asyncio
import os
from pathlib import Path

import pytest

import rightcall as rc
from rightcall import events
from rightcall.core.ports import LiveTools
from rightcall.errors import DeclarationError, ToolFailure, UsageError
from rightcall.mcp import Note, Sampling, Stdio, connect
from rightcall.testing import ScriptedModel, call, reply

NAMES = [
    *("price", "empty", "broken", "picture", "jingle", "papers", "lie", "order", "measure", "pay"),
    *("rhyme", "folders", "environment", "hire", "admin_stats_daily"),
]


@pytest.fixture(scope="module", params=["legacy", "auto"])
def server(request, shop):
    """One that every test of a protocol shares; it lives in a thread of its own."""
    with connect(shop, name="shop", protocol=request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(shop):
    with connect(shop, name="shop") as opened:
        yield opened


class Desk:
    """Answers what a server asks for, as each test wants it."""

    def __init__(self) -> None:
        self.asked = []
        self.decide = lambda proposal: False
        self.say = lambda request: reply("")

    def answer(self, request):
        return self.say(request)

    async def approve(self, proposal):
        self.asked.append(proposal)
        return self.decide(proposal)


@pytest.fixture(scope="module")
def asking(shop, tmp_path_factory):
    """A server that may ask for everything, and the desk that it asks."""
    desk = Desk()
    sampling = Sampling(model=ScriptedModel(desk.answer), max_tokens=64)
    root = tmp_path_factory.mktemp("root")
    options = {"approve": desk.approve, "sampling": sampling, "roots": [root]}
    with connect(shop, name="shop", protocol="legacy", **options) as opened:
        yield opened, desk, root


@pytest.fixture(scope="module")
def trusted(shop):
    with connect(shop, name="shop", trust=True) as opened:
        yield opened


async def until(condition):
    """Wait for something that a server tells of in its own time."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_server_is_a_set_of_live_tools(server):
    assert isinstance(server, LiveTools)
    assert list(server.names()) == NAMES
    assert server.version == 1
    assert server.refused == {"poison": "description: imitates the marks of a conversation"}
    assert server.instructions == "Be polite."
    assert Note("renamed", "admin.stats/daily is called admin_stats_daily here") in server.notes


async def test_an_agent_calls_its_tools_and_reads_labelled_results(plain):
    script = [
        reply(
            call("price", item="tea"), call("broken"), call("admin_stats_daily"), call("price", item=1)
        ),
        reply("250"),
    ]
    result = await rc.Agent(ScriptedModel(script), [plain]).run("How much is tea?")
    unfit = "price was not run; its arguments do not fit:"
    assert [(each.outcome, each.result.text) for each in result.calls] == [
        ("returned", '{"untrusted_source":"price","content":"{\\"item\\":\\"tea\\",\\"cents\\":250}"}'),
        ("failed", '{"untrusted_source":"broken","content":"Error executing tool broken"}'),
        ("returned", '{"untrusted_source":"admin_stats_daily","content":"42"}'),
        ("invalid", f"{unfit}\n- $.item: must be a string, not an integer (1)"),
    ]


RETURNED = {
    "price": ({"item": "tea"}, {"item": "tea", "cents": 250}),
    "empty": ({"context": "a", "self": "b"}, "emptied a b"),
    "picture": ({}, ["The shop:", rc.models.Media(b"\x89PNG\r\n\x1a\n", "image/png")]),
    "jingle": ({}, rc.models.Media(b"RIFF0000WAVE", "audio/wav")),
    "papers": (
        {},
        [
            "[shop://terms.txt]\nNo returns.",
            rc.models.Media(b"%PDF-", "application/pdf", "bill.pdf"),
            "[link to https://shop.example/all (all: Every paper)]",
        ],
    ),
    "order": ({}, "ordered"),
}


@pytest.mark.parametrize("name", RETURNED)
async def test_what_a_tool_returns_becomes_parts(server, name):
    arguments, expected = RETURNED[name]
    assert await server.call(name, arguments) == expected


async def test_progress_becomes_events(server):
    model = ScriptedModel([reply(call("order")), reply("done")])
    seen = [event async for event in rc.Agent(model, [server]).stream("Order.")]
    told = [event for event in seen if isinstance(event, events.CallProgress)]
    assert [(each.done, each.total, each.text) for each in told] == [
        (0.0, 3.0, "step 0"),
        (1.0, 3.0, "step 1"),
        (2.0, 3.0, "step 2"),
    ]


async def test_a_call_that_is_ended_before_its_first_step_is_over_at_once(shop):
    async with connect(shop, name="shop") as server:
        calling = asyncio.ensure_future(server.call("price", {"name": "tea"}))
        await asyncio.sleep(0)
        (task,) = [each for each, ended in server._connection._tasks.items() if ended is not None]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(calling, 10)


async def test_a_servers_log_goes_to_the_record(rogue):
    kept = []
    async with rogue("floods_notes", record=kept.append) as server:
        await server.call("act")
    assert kept[:2] == [Note("log", "info: 0"), Note("log", "info: 1")]
    assert len(server.notes) == 1000


async def test_a_servers_log_is_kept(server):
    await server.call("order")
    assert Note("log", "info: ordered") in server.notes


async def test_nothing_of_the_environment_reaches_a_server_but_what_is_allowed(shop, monkeypatch):
    monkeypatch.setenv("SECRET", "hunter2")
    monkeypatch.setenv("ALLOWED", "yes")
    command, *arguments = shop
    plain = Stdio(command=command, arguments=(*arguments, "$HOME; rm -rf /"), environment={"SET": "1"})
    more = Stdio(
        command=command, arguments=tuple(arguments), inherit=("ALLOWED",), directory=str(Path.home())
    )
    async with connect(plain) as server:
        seen = await server.call("environment")
        assert seen["SET"] == "1"
        assert seen["PATH"] == os.environ["PATH"]
        assert seen["directory"] == str(Path.cwd())
        assert seen["arguments"] == "$HOME; rm -rf /"
        assert not {"SECRET", "ALLOWED"} & seen.keys()
    async with connect(more) as server:
        seen = await server.call("environment")
        assert seen["ALLOWED"] == "yes"
        assert seen["directory"] == str(Path.home())
        assert not {"SECRET", "PATH"} & seen.keys()


def test_annotations_count_only_when_they_are_trusted(plain, trusted):
    boxes = plain.toolbox(), trusted.toolbox()
    tools = [box[name] for box in boxes for name in ("price", "empty", "order")]
    assert [(each.effect, each.facts) for each in tools] == [
        ("write", rc.Facts(untrusted=True)),
        ("write", rc.Facts(untrusted=True)),
        ("write", rc.Facts(untrusted=True)),
        ("read", rc.Facts(untrusted=False, reach="user")),
        ("idempotent", rc.Facts(untrusted=False, dangers=("deletes",))),
        ("write", rc.Facts(untrusted=False)),
    ]


def test_descriptions_are_shown_as_the_servers_own_words_unless_trusted(plain, trusted):
    expected = "A tool of the MCP server shop, in that server's own, untrusted words: "
    assert plain.toolbox()["price"].description == expected + '"What an item costs."'
    assert trusted.toolbox()["price"].description == "What an item costs."
    # What is believed is not read for orders, either.
    assert "poison" in trusted.names()


async def test_a_suspicious_tool_is_kept_on_request_and_still_reported(shop):
    async with connect(shop, name="shop", suspicious="keep") as server:
        assert "poison" in server.names()
        dangers = [(each.where, each.what) for each in server.findings if each.weight == "danger"]
    assert dangers == [
        ("description", "imitates the marks of a conversation"),
        ("description", "names files that hold secrets"),
    ]


DECISIONS = {
    "rewritten": (
        rc.Rewrite({"size": "L"}),
        '{"action":"accept","data":{"size":"L","colour":"blue"}}',
        "decline",
    ),
    "answered": (rc.Answer("XL"), '{"action":"accept","data":{"size":"XL","colour":"blue"}}', "decline"),
    "allowed without an answer": (rc.Allow(), '{"action":"cancel"}', "accept"),
    "denied": (False, '{"action":"decline"}', "decline"),
    "allowed in a word": (True, '{"action":"cancel"}', "accept"),
}


@pytest.mark.parametrize("case", DECISIONS)
async def test_a_question_to_the_user_goes_the_way_of_an_approval(asking, case):
    server, desk, _ = asking
    decision, form, page = DECISIONS[case]
    desk.decide = lambda _: decision
    assert (await server.call("measure"), await server.call("pay")) == (form, page)
    first, second = desk.asked[-2:]
    assert (first.name, first.reason) == ("elicit", "the server shop asks: Which size?")
    assert first.arguments["defaults"] == {"colour": "blue"}
    assert (second.name, second.arguments) == ("elicit_url", {"url": "https://shop.example/pay"})


@pytest.mark.parametrize("answer", ["yes", None, 1])
async def test_an_answer_that_is_no_decision_ends_the_run(asking, answer):
    server, desk, _ = asking
    desk.decide = lambda _: answer
    words = f"approve= of the server shop: a decision is True, False.* type {type(answer).__name__}"
    with pytest.raises(UsageError, match=words):
        await server.call("measure")
    agent = rc.Agent(ScriptedModel([reply(call("measure")), "done"]), [server])
    with pytest.raises(UsageError, match=words):
        await agent.run("Measure.")
    desk.decide = lambda _: False
    assert await server.call("measure") == '{"action":"decline"}'


async def test_what_goes_wrong_here_is_not_told_to_the_server(asking):
    def fail(_):
        raise RuntimeError("password=hunter2")

    server, desk, _ = asking
    desk.decide = desk.say = fail
    assert await server.call("measure") == '{"action":"decline"}'
    with pytest.raises(ToolFailure, match=r"^The server refused: the model could not be asked$"):
        await server.call("rhyme")
    assert sum("hunter2" in note.text for note in server.notes) == 2


async def test_sampling_goes_to_the_model_that_was_named(asking):
    server, desk, _ = asking
    asked = []
    desk.say = lambda request: asked.append(request) or reply("Hop, shop.")
    assert await server.call("rhyme") == "Hop, shop."
    (request,) = asked
    assert (request.system, request.max_tokens, request.messages[0].text) == (
        "Rhyme.",
        64,
        "Rhyme on shop.",
    )


async def test_roots_are_the_directories_that_were_granted(asking):
    server, _, root = asking
    assert await server.call("folders") == root.as_uri()


@pytest.mark.parametrize("tool", ["measure", "rhyme", "folders"])
async def test_a_server_may_ask_for_nothing_that_was_not_given(server, tool):
    with pytest.raises(ToolFailure, match=r"not supported|Do without it"):
        await server.call(tool)


async def test_views_filter_prefix_and_ask_and_follow_what_changes(shop):
    async with connect(shop, name="shop") as server:
        view = server.filter(lambda tool: tool.name in {"price", "greet", "hire"})
        view = view.prefix("shop_").require_approval(["shop_price"])
        fixed = view.toolbox()
        before = view.version, [(tool.name, tool.approval) for tool in view]
        await server.call("hire")
        await until(lambda: server.version > 1)
        after = view.version, [(tool.name, tool.approval) for tool in view]
        assert len(view) == 3
    assert before == (1, [("shop_price", True), ("shop_hire", False)])
    assert after == (2, [("shop_price", True), ("shop_hire", False), ("shop_greet", False)])
    assert fixed.names() == ("shop_price", "shop_hire")


async def test_a_tool_added_by_a_call_is_offered_on_the_next_turn(rogue):
    model = ScriptedModel([reply(call("act")), reply("done")])
    async with rogue("adds") as server:
        await rc.Agent(model, [server]).run("go")
    offered = [[spec.name for spec in request.specs] for request in model.requests]
    assert offered == [["act", "ping"], ["act", "ping", "pong"]]


def test_names_that_are_not_there_are_a_mistake_when_a_view_is_made(plain):
    with pytest.raises(DeclarationError, match="no such tool"):
        plain.filter(["prize"])
    with pytest.raises(DeclarationError, match="no such tool"):
        plain.rename({"prize": "price"})
    assert plain.rename({"price": "cost"}).names()[0] == "cost"


def test_code_that_cannot_await_uses_with(plain):
    model = ScriptedModel([reply(call("price", item="tea")), reply("done")])
    result = rc.Agent(model, [plain]).run_sync("How much?")
    assert [each.outcome for each in result.calls] == ["returned"]


def test_a_connection_is_used_from_another_event_loop(shop):
    async def main():
        async with connect(shop, name="shop") as server:
            agent = rc.Agent(ScriptedModel([reply(call("order")), reply("done")]), [server])
            return await asyncio.to_thread(agent.run_sync, "Order.")

    assert [each.outcome for each in asyncio.run(main()).calls] == ["returned"]


def test_a_server_that_is_not_open_has_no_tools_to_show(shop):
    with pytest.raises(UsageError, match="is not open"):
        connect(shop).names()


WRONG = {
    "no address": (
        "uvx server",
        {},
        r"is no address; a program is a list: connect\(\['uvx', 'server'\]\)",
    ),
    "nothing": ([], {}, "needs a program"),
    "another scheme": ("ftp://shop.example", {}, "begins with https:// or http://"),
    "a relative path": (["./server"], {}, "must be an absolute path"),
    "no such program": (["no-such-program-here"], {}, "there is no program"),
    "no such trust": (["x"], {"trust": ["everything"]}, "trust: there is annotations"),
    "no such root": (["x"], {"roots": ["/no/such/place"]}, "is not a directory"),
    "a NUL": (["a\0b"], {}, "NUL"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_what_cannot_be_connected_to_is_said_before_anything_runs(case):
    target, options, words = WRONG[case]
    with pytest.raises(UsageError, match=words):
        await connect(target, **options).open()


async def test_facts_are_laid_over_a_servers_tools_by_its_own_names(shop, tmp_path):
    async with connect(shop, name="shop") as server:
        (price,) = [tool for tool in server if tool.name == "price"]
        found = rc.trust.as_toml(rc.trust.suggest([price]), [price])
    file = tmp_path / "facts.toml"
    file.write_text(
        f'{found}\neffect = "read"\ntargets = []\nprivate = false\n[tools.order]\ntargets = ["x"]\n'
        "[tools.shop_price]\nprivate = false\n"
    )
    async with connect(shop, name="shop", facts=file) as server:
        (price,) = [tool for tool in server if tool.name == "price"]
        assert (price.effect, price.facts.targets, price.facts.private) == ("read", (), False)
        assert price.facts.untrusted is True
        assert "the facts of order do not fit it" in server.refused["order"]
        notes = [each.text for each in server.notes]
        assert "facts of shop_price: the server has no such tool" in notes
    with pytest.raises(UsageError, match="facts are one server's"):
        rc.mcp.connect_all({"shop": shop}, facts=file)
