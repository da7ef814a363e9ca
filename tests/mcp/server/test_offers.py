"""Resources and prompts that a server offers: listed, read, completed and announced, by the gate."""

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ElicitResult,
    EmptyResult,
    PromptListChangedNotification,
    PromptReference,
    ResourceListChangedNotification,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
)
from pydantic import BaseModel

import rightcall as rc
from mcp import Client
from rightcall.core.decision import Allow, Deny
from rightcall.core.message import Reply, User
from rightcall.errors import DeclarationError, UsageError
from rightcall.mcp import connect, prompt, resource
from rightcall.mcp.server import Bounds, Listen, ToolServer, tool_server


class Order(BaseModel):
    number: int
    paid: bool = True


@resource("shop://terms", media_type="text/markdown", title="Terms")
def terms() -> str:
    """What holds."""
    return "# Terms"


@resource("shop://logo")
async def logo() -> rc.models.Media:
    return rc.models.Media(b"\x89PNG\r\n\x1a\n", "image/png")


@resource("shop://raw", media_type="application/zip")
def raw() -> bytes:
    return b"PK"


@resource("shop://orders/{number}", media_type="application/json")
def order(number: int) -> Order:
    """One order."""
    if number == 0:
        raise rc.ToolFailure("There is no order 0.")
    return Order(number=number)


@order.complete("number")
async def numbers(value: str) -> list[int]:
    return [number for number in range(1, 200) if str(number).startswith(value)]


@prompt(title="A review")
def review(text: str, tone: Literal["kind", "keen", "harsh"] = "kind", times: int = 1) -> list[Any]:
    """Review a text."""
    return [
        User((rc.models.Media(b"\x89PNG\r\n\x1a\n", "image/png"),)),
        f"{tone} {times}: {text}",
        Reply(()),
    ]


@review.complete("text")
def texts(value: str, given: dict[str, str]) -> list[str]:
    return [f"{value} {given.get('tone')}"]


@prompt(approval=True)
def secret() -> str:
    return "The secret."


RESOURCES = [terms, logo, raw, order]
PROMPTS = [review, secret]


def shop(**settings: Any) -> ToolServer:
    return ToolServer([], **{"resources": RESOURCES, "prompts": PROMPTS, **settings})


async def test_what_is_offered_is_listed():
    async with Client(shop().sdk) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    assert [each.uri for each in resources] == ["shop://terms", "shop://logo", "shop://raw"]
    first = resources[0]
    assert (first.title, first.description, first.mime_type) == ("Terms", "What holds.", "text/markdown")
    assert [each.uri_template for each in templates] == ["shop://orders/{number}"]
    listed = [(each.name, each.required) for each in prompts[0].arguments]
    assert listed == [("text", True), ("tone", False), ("times", False)]


async def test_resources_are_read():
    async with Client(shop().sdk) as client:
        (text,) = (await client.read_resource("shop://terms")).contents
        assert (text.text, text.mime_type, text.uri) == ("# Terms", "text/markdown", "shop://terms")
        (image,) = (await client.read_resource("shop://logo")).contents
        assert (image.mime_type, image.blob) == ("image/png", "iVBORw0KGgo=")
        (zipped,) = (await client.read_resource("shop://raw")).contents
        assert (zipped.mime_type, zipped.blob) == ("application/zip", "UEs=")
        (found,) = (await client.read_resource("shop://orders/7")).contents
        assert (found.text, found.mime_type) == ('{"number":7,"paid":true}', "application/json")


WRONG = {
    "shop://nothing": (INVALID_PARAMS, "nothing at this address"),
    "shop://orders/x": (INVALID_PARAMS, "integer"),
    "shop://orders/0": (-32603, "There is no order 0."),
}


@pytest.mark.parametrize("uri", WRONG)
async def test_what_cannot_be_read_says_why(uri):
    code, words = WRONG[uri]
    async with Client(shop().sdk) as client:
        with pytest.raises(MCPError, match=words) as caught:
            await client.read_resource(uri)
    assert caught.value.error.code == code
    if "nothing" in uri:
        assert caught.value.error.data == {"uri": uri}


@pytest.mark.parametrize(
    ("errors", "said"),
    [({}, "book failed for a reason it did not give."), ({"errors": "words"}, "no such book")],
)
async def test_an_exception_is_told_and_logged_by_one_rule(errors, said, caplog):
    def book() -> str:
        """A book."""
        raise ValueError("no such book")

    served = ToolServer(
        [rc.tool(**errors)(book)],
        resources=[resource("a://book", **errors)(book)],
        prompts=[prompt(**errors)(book)],
    )
    async with Client(served.sdk) as client:
        told = [(await client.call_tool("book")).content[0].text]
        for request in (client.read_resource("a://book"), client.get_prompt("book")):
            with pytest.raises(MCPError) as caught:
                await request
            told.append(caught.value.message)
    assert told == [said] * 3
    assert caplog.text.count("ValueError: no such book\nTraceback") == 3


async def test_a_prompt_gives_messages():
    async with Client(shop().sdk) as client:
        found = await client.get_prompt("review", {"text": "Hm.", "times": "3"})
        assert found.description == "Review a text."
        assert [(each.role, each.content.type) for each in found.messages] == [
            ("user", "image"),
            ("user", "text"),
        ]
        assert found.messages[1].content.text == "kind 3: Hm."
        for name, given, words in (
            ("none", {}, "no prompt 'none'"),
            ("review", {}, "text: is required"),
            ("review", {"text": "x", "tone": "rude"}, "tone"),
        ):
            with pytest.raises(MCPError, match=words):
                await client.get_prompt(name, given)


async def test_arguments_are_completed_by_functions_and_by_types():
    async with Client(shop().sdk) as client:
        reference = PromptReference(type="ref/prompt", name="review")
        tone = await client.complete(reference, {"name": "tone", "value": "k"})
        assert tone.completion.values == ["kind", "keen"]
        text = await client.complete(reference, {"name": "text", "value": "Hm"}, {"tone": "harsh"})
        assert text.completion.values == ["Hm harsh"]
        template = ResourceTemplateReference(type="ref/resource", uri="shop://orders/{number}")
        number = (await client.complete(template, {"name": "number", "value": ""})).completion
        assert (len(number.values), number.total, number.has_more) == (100, 199, True)
        unknown = ResourceTemplateReference(type="ref/resource", uri="shop://x/{y}")
        with pytest.raises(MCPError, match="no such template"):
            await client.complete(unknown, {"name": "y", "value": ""})


async def test_lists_come_in_pages():
    bounds = Bounds(page=2)
    tools = [rc.Tool(f"t{number}", "A tool.", {"type": "object"}) for number in range(5)]
    server = ToolServer(tools, resources=RESOURCES, prompts=PROMPTS, bounds=bounds)
    async with Client(server.sdk) as client:
        names: list[str] = []
        page = await client.list_tools()
        while True:
            names += [each.name for each in page.tools]
            if page.next_cursor is None:
                break
            page = await client.list_tools(cursor=page.next_cursor)
        assert names == ["t0", "t1", "t2", "t3", "t4"]
        assert len((await client.list_resources()).resources) == 2
        for cursor in ("99", "x", "-1"):
            with pytest.raises(MCPError, match="no such page"):
                await client.list_tools(cursor=cursor)


async def test_policies_and_people_decide_here_too():
    asked: list[str] = []

    def policy(checked: Any) -> Any:
        asked.append(checked.tool.name)
        return Deny("not today") if checked.tool.name == "terms" else Allow()

    async def agree(_: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"allow": True})

    journal = rc.record.MemoryJournal()
    server = shop(policy=policy, journal=journal)
    async with Client(server.sdk, elicitation_callback=agree) as client:
        with pytest.raises(MCPError, match="not today"):
            await client.read_resource("shop://terms")
        found = await client.get_prompt("secret")
        assert found.messages[0].content.text == "The secret."
    assert asked[0] == "terms"
    assert len(journal.runs()) == 2
    async with Client(shop().sdk) as client:
        with pytest.raises(MCPError, match="no way to ask"):
            await client.get_prompt("secret")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_hear_of_changes(mode):
    server = shop()
    heard: list[str] = []
    bell = asyncio.Event()

    def note(words: str) -> None:
        heard.append(words)
        bell.set()

    async def hear(message: Any) -> None:
        match message:
            case ResourceUpdatedNotification():
                note(message.params.uri)
            case ResourceListChangedNotification():
                note("resources")
            case PromptListChangedNotification():
                note("prompts")
            case _:
                pass

    async def change() -> None:
        @resource("shop://new")
        def new() -> str:
            return "New."

        server.offers.resources.append(new)
        await server.announce("resources")
        await server.announce("prompts")
        await server.announce_update("shop://logo")
        await server.announce_update("shop://terms")

    async def wait_for_three() -> None:
        while len(heard) < 3:
            bell.clear()
            await bell.wait()

    events: list[str] = []
    async with Client(server.sdk, mode=mode, message_handler=hear) as client, asyncio.timeout(10):
        if mode == "legacy":
            capabilities = client.server_capabilities
            assert capabilities.resources.list_changed
            assert capabilities.resources.subscribe
            await client.list_resources()
            await client.session.send_request(*subscription("shop://terms"))
            await change()
            await wait_for_three()
        else:
            listening = client.listen(
                resources_list_changed=True,
                prompts_list_changed=True,
                resource_subscriptions=["shop://terms"],
            )
            async with listening as subscribed:
                await change()
                async for event in subscribed:
                    events.append(getattr(event, "uri", type(event).__name__))
                    if len(events) == 3:
                        break
        assert "shop://new" in [each.uri for each in (await client.list_resources()).resources]
    told = events or heard
    assert "shop://terms" in told
    assert "shop://logo" not in told


def subscription(uri: str) -> tuple[Any, Any]:
    return SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult


def test_what_is_no_tool_and_has_no_address_is_told_so():
    with pytest.raises(UsageError, match=r"review is a prompt and no tool.*prompts=\["):
        rc.Toolbox([review])
    with pytest.raises(UsageError, match="terms is a resource and no tool"):
        ToolServer([terms])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="a resource has an address"):
        resource(lambda: "x")  # type: ignore[arg-type]


def test_a_declaration_that_cannot_hold_is_refused():
    with pytest.raises(DeclarationError, match="its arguments are not those of its address"):

        @resource("shop://x/{a}")
        def wrong(b: str) -> str:
            return b

    with pytest.raises(DeclarationError, match="no argument 'x' to complete"):
        review.complete("x")
    with pytest.raises(DeclarationError):
        resource("shop://{a}{b}")
    assert terms() == "# Terms"


class Growing:
    """Tools that change by themselves, as those of a server behind this one."""

    version = 0

    def __iter__(self) -> Iterator[rc.Tool]:
        for number in range(self.version + 1):
            yield rc.Tool(f"t{number}", "A tool.", {"type": "object"})


@pytest.mark.parametrize("protocol", ["newest", "legacy"])
async def test_a_client_hears_of_tools_that_change_by_themselves(protocol, monkeypatch):
    monkeypatch.setattr(tool_server, "_LOOK_AGAIN", 0.01)
    tools = Growing()
    server = ToolServer(tools)
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(server.http(Listen(port=0), started=started.set_result))
    try:
        async with connect(await started, protocol=protocol) as client, asyncio.timeout(20):
            assert client.names() == ("t0",)
            # It subscribes beside its first work, and may miss the first change.
            while len(client.names()) < 2:
                tools.version += 1
                await asyncio.sleep(0.1)
            assert client.names()[:2] == ("t0", "t1")
    finally:
        serving.cancel()
        await asyncio.wait({serving})
