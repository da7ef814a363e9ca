"""Resources and prompts of a server: listed, read, watched, in a prompt, and as tools."""

import asyncio
from pathlib import Path

import pytest
from mcp.server.lowlevel.server import Server as LowLevelServer
from mcp_types import ListResourcesResult, Resource

import rightcall as rc
import warm
from mcp import Client
from rightcall.core.message import Reply, User
from rightcall.core.parts import Text
from rightcall.errors import ToolFailure, UsageError
from rightcall.mcp import Server, connect
from rightcall.mcp.client import catalogue
from rightcall.mcp.server import Listen, ToolServer
from rightcall.testing import ScriptedModel, call, reply


def library(**options: object) -> Server:
    program = [*warm.python(*warm.MCP), str(Path(__file__).with_name("library.py"))]
    return connect(program, name="library", **options)  # type: ignore[arg-type]


async def test_resources_are_listed_and_read_as_attachments_that_say_whose_words_they_are():
    async with library() as server:
        listed = {each.uri: each for each in await server.resources()}
        assert set(listed) == {"book://one", "book://picture", "book://{shelf}/{number}"}
        assert listed["book://one"].title == "The first"
        template = listed["book://{shelf}/{number}"]
        assert (template.arguments, template.description) == (("shelf", "number"), "Any book.")
        (text,) = await server.read("book://one")
        assert text.untrusted == "book://one of the server library"
        assert b'"content":"# One"' in text.data
        (picture,) = await server.read("book://picture")
        assert (picture.media_type, picture.untrusted) == (
            "image/png",
            "book://picture of the server library",
        )
        (other,) = await server.read(template.address(shelf="top", number="a b"))
        assert b'"content":"top a b"' in other.data
        with pytest.raises(UsageError, match="takes shelf, number"):
            template.address(shelf="top")
        with pytest.raises(UsageError, match="number must be text, as in number='7'"):
            template.address(shelf="top", number=7)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"what server\.prompts\(\).*and not 'review'"):
            await server.complete("review", "tone", "k")  # type: ignore[arg-type]
        with pytest.raises(ToolFailure, match="The server refused"):
            await server.read("book://none/at/all")
    async with library(trust={"results"}) as server:
        (text,) = await server.read("book://one")
        assert (text.data, text.untrusted) == (b"# One", "")


async def test_resources_are_tools_where_that_is_asked_for():
    async with library() as server:
        box = await server.resource_tools()
        assert box.names() == ("read_resource", "read_book")
        assert {each.effect for each in box} == {"read"}
        model = ScriptedModel(
            [
                reply(call("read_resource", uri="book://one"), call("read_book", shelf="a", number="1")),
                "Read.",
            ]
        )
        result = await rc.Agent(model, box).run("Read.")
    said = [each.result.text for each in result.calls]
    assert said == [
        '{"untrusted_source":"read_resource","content":"[book://one]\\n# One"}',
        '{"untrusted_source":"read_book","content":"[book://a/1]\\na 1"}',
    ]


async def test_a_server_without_subscriptions_says_so():
    async with library(protocol="legacy") as server:
        # The SDK's server has none for older clients.
        with pytest.raises(ToolFailure, match="refused"):
            async with server.watch("book://one"):
                pass
    async with library() as server, server.watch("book://one") as changes, asyncio.timeout(20):
        await server.call("touch", {"uri": "book://picture"})
        await server.call("touch", {"uri": "book://one"})
        assert await anext(changes) == "book://one"


@rc.mcp.resource("book://mine")
def mine() -> str:
    return "Mine."


@pytest.mark.parametrize("protocol", ["newest", "legacy"])
async def test_a_watched_resource_is_told_of_when_it_changes(protocol):
    served = ToolServer([], resources=[mine])
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(served.http(Listen(port=0), started=started.set_result))
    try:
        async with (
            connect(await started, protocol=protocol) as server,
            server.watch("book://mine", "book://other") as changes,
            asyncio.timeout(20),
        ):
            for uri in ("book://nobodys", "book://mine", "book://other"):
                await served.announce_update(uri)
            assert [await anext(changes), await anext(changes)] == ["book://mine", "book://other"]
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def test_a_prompt_is_one_message_with_the_servers_words_attached_or_all_of_them():
    async with library() as server:
        (listed,) = await server.prompts()
        assert (listed.name, listed.arguments, listed.required) == (
            "review",
            ("text", "tone"),
            ("text",),
        )
        (message,) = await server.prompt("review", text="Hm.")
        assert isinstance(message, User)
        first, words, promise = message.content
        assert first == Text("Follow the prompt review of the server library, which is attached.")
        assert words.untrusted == "the prompt review of the server library"
        assert b"Review, kind: Hm." in words.data
        assert promise.untrusted.endswith("as the assistant's words")
        assert await server.complete(listed, "tone", "k", text="Hm.") == ("kind", "keen")
        with pytest.raises(ToolFailure, match="refused"):
            await server.prompt("none")
    async with library(trust={"descriptions"}) as server:
        asked, promised = await server.prompt("review", text="Hm.", tone="harsh")
        assert asked == User((Text("Review, harsh: Hm."),))
        assert promised == Reply((Text("I will."),))


async def test_a_server_may_have_resources_and_know_no_templates():
    async def list_resources(*_: object) -> ListResourcesResult:
        return ListResourcesResult(resources=[Resource(uri="a://b", name="b")])

    async with Client(LowLevelServer("plain", on_list_resources=list_resources)) as client:

        async def fetch(ask):
            return await ask(client)

        assert [each.uri for each in await catalogue.list_resources(fetch)] == ["a://b"]


async def test_a_server_without_any_has_none(shop):
    async with connect(shop, name="shop") as server:
        assert await server.prompts() == ()
