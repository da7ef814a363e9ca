"""The page about FastAPI: its program, with injected agents, who leaves, and a hundred at once."""

import asyncio
import runpy
from contextlib import redirect_stdout
from io import StringIO

import pytest

import rightcall as rc
from docs.recipe_pages import MAIN, RECIPES, blocks
from rightcall.testing import ScriptedModel, call, reply

pytest.importorskip("fastapi")
PAGE = RECIPES / "fastapi.md"


@pytest.fixture
def program(tmp_path):
    """What the page's program defines."""
    file = tmp_path / "api.py"
    file.write_text(blocks(PAGE, "python")[0].partition(MAIN)[0])
    return runpy.run_path(str(file))


def test_the_page_prints_what_it_says(program):
    tests = blocks(PAGE, "python")[1]
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(tests, str(PAGE), "exec"), program)
    assert printed.getvalue() == blocks(PAGE, "text")[0]


async def ask(app, path, *, leaves_after=None):
    """Ask a question; with ``leaves_after`` the client is gone after so many pieces of the answer."""
    headers = [(b"x-user", b"ann")]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "method": "GET", "path": path,
        "raw_path": path.encode(), "query_string": b"question=Where", "headers": headers,
        "http_version": "1.1", "scheme": "http", "server": ("test", 80), "client": ("test", 1),
        "root_path": "",
    }  # fmt: skip
    asked = [{"type": "http.request", "body": b"", "more_body": False}]
    gone = asyncio.Event()
    pieces = []

    async def receive():
        if asked:
            return asked.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        if message["type"] == "http.response.body":
            pieces.append(message["body"])
            if len(pieces) == leaves_after:
                gone.set()

    await app(scope, receive, send)
    return b"".join(pieces).decode()


async def test_a_client_that_leaves_cancels_its_run(program):
    cancelled = []

    @rc.tool
    async def wait() -> str:
        """Wait for long."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return ""

    script = [reply(call("final_answer", '{"text": 5}'), call("wait")), "Done."]
    agent = rc.Agent(ScriptedModel(script, fragment=None), [wait], output=program["Answer"])
    app = program["app"]
    app.dependency_overrides[program["get_desk"]] = lambda: agent
    async with asyncio.timeout(10):
        told = await ask(app, "/stream", leaves_after=1)
    assert (told, cancelled) == ('{"text": 5}', [True])


async def test_a_hundred_clients_share_one_agent(program):
    def answer(request):
        asked = len(request.messages) == 1
        return reply(call("find_parcels") if asked else call("final_answer", text="In Bern.", parcel=17))

    agent = rc.Agent(ScriptedModel(answer), [program["find_parcels"]], output=program["Answer"])
    app = program["app"]
    app.dependency_overrides[program["get_desk"]] = lambda: agent
    told = await asyncio.gather(*[ask(app, "/stream") for _ in range(100)])
    assert told == ['{"text":"In Bern.","parcel":17}'] * 100


async def test_what_is_no_answer_is_a_status(program):
    output = rc.Output(program["Answer"], mode="text", retries=0)
    app = program["app"]
    app.dependency_overrides[program["get_desk"]] = lambda: rc.Agent(
        ScriptedModel(["Hm."]), output=output
    )
    assert "the run ended without the output" in await ask(app, "/ask")
