"""Every program in examples/ runs, in a process of its own, against a scripted vendor on loopback."""

import asyncio
import base64
import importlib
import json
import os
import struct
import sys
from pathlib import Path

import aiohttp
import pytest
import uvicorn

from docs.readme import first_program
from examples.vendor import Script, Vendor, vendor

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HERE = {"tour.py", "mcp_embedded.py"}
"""Examples that ask no vendor: they have targets and tests of their own."""


async def run(program: str, *arguments: str, at: Vendor, cwd: Path, typed: str = "", **more: str) -> str:
    """What a program prints. It must end well, and say nothing on standard error."""
    environment = {
        **os.environ,
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": at.url,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        **more,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *([program] if program == "-m" else [str(EXAMPLES / program)]),
        *arguments,
        cwd=cwd,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(typed.encode()), 60)
    assert (process.returncode, errors.decode()) == (0, ""), out.decode() + errors.decode()
    return out.decode()


@pytest.mark.parametrize(("answer", "became"), [("y", "refunded"), ("n", "denied")])
async def test_the_first_program_of_the_readme(tmp_path, answer, became):
    program = tmp_path / "shop.py"
    program.write_text(first_program())
    lines = [[("get_order", {"number": 4711})], [("refund", {"order": 4711, "euros": 40})], "Done."]
    async with vendor(lines) as at:
        printed = await run(str(program), at=at, cwd=tmp_path, typed=f"{answer}\n")
    assert printed == "refund {'order': 4711, 'euros': 40}? [y/N] Done.\n"
    told = json.dumps(at.requests[2]["messages"][4])
    assert ("40 euros are on their way." in told) == (became == "refunded")
    assert ("permission was denied" in told) == (became == "denied")


async def test_the_first_program_of_the_readme_offline(tmp_path):
    program = tmp_path / "shop.py"
    program.write_text(first_program().replace("anthropic:claude-opus-4-8", "embedded"))
    async with vendor([]) as at:
        printed = await run(str(program), at=at, cwd=tmp_path, typed="y\n")
    assert printed.endswith("? [y/N] For order 4711, euros 40, refund says 40 euros are on their way.\n")
    assert at.requests == []


async def test_streaming(tmp_path):
    script: Script = [
        [("get_forecast", {"city": "Oslo"}), ("list_clothes", {})],
        [("to_fahrenheit", {"celsius": 3})],
        "Wear the rain coat. It will be 3 degrees, 37.4 Fahrenheit.",
    ]
    async with vendor(script) as at:
        printed = await run("streaming.py", at=at, cwd=tmp_path)
    assert "→ get_forecast" in printed
    assert '← get_forecast: {"city":"Oslo","celsius":3,"sky":"rain"}' in printed
    assert "← to_fahrenheit: 37.4" in printed
    assert printed.endswith("37.4 Fahrenheit.\n(3 turns, 3150 tokens)\n")


async def test_history(tmp_path):
    async with vendor(["Hello Ann!", "You are Ann."]) as at:
        first = await run("history.py", "My name is Ann.", at=at, cwd=tmp_path)
        second = await run("history.py", "What is my name?", at=at, cwd=tmp_path)
    assert first.startswith("Hello Ann!\n(2 messages")
    assert second.startswith("You are Ann.\n(4 messages")
    assert [message["role"] for message in at.requests[1]["messages"]] == ["user", "assistant", "user"]


async def test_structured(tmp_path):
    order = {
        "items": [
            {"name": "tea", "count": 3, "price": "2.50"},
            {"name": "pot", "count": 1, "price": "24"},
        ],
        "to": {"name": "Ann Lee", "city": "Bern"},
        "by": "2026-12-01",
        "urgency": "normal",
    }
    wrong = {**order, "items": []}
    async with vendor([[("final_answer", wrong)], [("final_answer", order)]]) as at:
        printed = await run("structured.py", at=at, cwd=tmp_path)
    assert printed.endswith("total 31.50, for Ann Lee in Bern by 2026-12-01\n")
    assert len(at.requests) == 2


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_approval_in_two_processes(tmp_path, answer):
    def script(body):
        results = json.dumps(body["messages"][1:])
        if "paid" in results or "too much" in results:
            return "Paid." if "paid" in results else "It was not paid."
        if "Ann Lee" in results:
            return [("pay", {"to": "Ann Lee", "euros": 40})]
        return [("get_invoice", {"number": 17})]

    async with vendor(script) as at:
        asked = await run("approval.py", "ask", "Pay invoice 17", at=at, cwd=tmp_path)
        assert asked == "waiting for you: pay {'to': 'Ann Lee', 'euros': 40}\n"
        assert not (tmp_path / "payments.txt").exists()
        words = () if answer == "yes" else ("too much",)
        for _ in range(2):
            printed = await run("approval.py", answer, *words, at=at, cwd=tmp_path)
            assert printed == ("Paid.\n" if answer == "yes" else "It was not paid.\n")
    paid = tmp_path / "payments.txt"
    assert (paid.read_text() if paid.exists() else "") == ("40 to Ann Lee\n" if answer == "yes" else "")


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_subagent_in_two_processes(tmp_path, answer):
    def script(body):
        said = json.dumps(body["messages"])
        if any(tool["name"] == "writer" for tool in body["tools"]):
            if "It is sent." in said or "I may not." in said:
                return "Ann is thanked." if "It is sent." in said else "Ann is not thanked."
            return [("writer", {"task": "Thank Ann Lee."})]
        if "sent to ann" in said or "too friendly" in said:
            return "It is sent." if "sent to ann" in said else "I may not."
        if "ann.lee@example.com" in said:
            return [("send_mail", {"to": "ann.lee@example.com", "text": "Thank you!"})]
        return [("find_address", {"name": "Ann Lee"})]

    outbox = tmp_path / "outbox.txt"
    async with vendor(script) as at:
        asked = await run("subagent.py", "ask", "Thank Ann Lee", at=at, cwd=tmp_path)
        assert asked.startswith('writer: find_address {"name": "Ann Lee"}\nwriter: send_mail ')
        assert asked.splitlines()[-1].startswith("writer waits for you: send_mail {'to': 'ann.lee@")
        assert not outbox.exists()
        before = len(at.requests)
        words = () if answer == "yes" else ("too friendly",)
        for _ in range(2):
            printed = await run("subagent.py", answer, *words, at=at, cwd=tmp_path)
            assert printed == ("Ann is thanked.\n" if answer == "yes" else "Ann is not thanked.\n")
        # One more reply of each agent: what was said and done before the pause is not asked for again.
        assert len(at.requests) == before + 2
    sent = "ann.lee@example.com: Thank you!\n"
    assert (outbox.read_text() if outbox.exists() else "") == (sent if answer == "yes" else "")


async def test_images(tmp_path):
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7\n")
    question = "Does the photo belong to the report?"
    async with vendor([[("draw_bars", {"heights": [1, 4, 9]})], "It does."]) as at:
        printed = await run("images.py", "photo.png", "report.pdf", question, at=at, cwd=tmp_path)
    asked, answered = at.requests
    sent = [part["type"] for part in asked["messages"][0]["content"]]
    assert sent == ["image", "document", "text"]
    (result,) = answered["messages"][2]["content"]
    text, picture = result["content"]
    assert (text["text"], picture["source"]["media_type"]) == ("3 bars:", "image/png")
    # Width, height, one byte to a pixel: what a viewer would see is what was asked for.
    png = base64.b64decode(picture["source"]["data"])
    assert struct.unpack(">II", png[16:24]) == (3, 9)
    assert printed == f'draw_bars {{"heights": [1, 4, 9]}} -> image/png, {len(png)} bytes\nIt does.\n'


async def test_fallback(tmp_path):
    script: Script = [[("get_capital", {"country": "France"})], "Paris."]
    second = {"OPENAI_API_KEY": "key"}
    async with vendor(script, 529) as busy, vendor(script) as at, vendor(script, 401) as closed:
        second["OPENAI_BASE_URL"] = f"{at.url}/v1"
        printed = await run("fallback.py", at=busy, cwd=tmp_path, **second)
        second["OPENAI_BASE_URL"] = f"{closed.url}/v1"
        nobody = await run("fallback.py", at=busy, cwd=tmp_path, **second)
    assert "anthropic:claude-opus-4-8 is down, so openai:gpt-5 is asked\n" in printed
    assert printed.endswith("Paris. (says openai:gpt-5)\n")
    assert "nobody is there (auth): openai: HTTP 401" in nobody
    assert nobody.splitlines()[-1].startswith("before that, anthropic:claude-opus-4-8 failed: ")


async def test_progress(tmp_path):
    async with vendor([[("count_words", {"folder": "notes"})], "4,000 words."]) as at:
        printed = await run("progress.py", at=at, cwd=tmp_path)
    assert "[##..] notes/3.txt" in printed
    assert printed.endswith("[####] done\n4,000 words.\n")


async def test_limits(tmp_path):
    def script(body):
        return [("search_archive", {"words": f"treaty {len(body['messages'])}"})]

    async with vendor(script) as at:
        printed = await run("limits.py", at=at, cwd=tmp_path)
    assert printed.startswith("ended by cost after ")
    assert "turn 1: 1000 in, 50 out, $0.00" in printed


async def test_recorded_once_and_replayed_under_pytest(tmp_path):
    def script(body):
        large = "18" in json.dumps(body["messages"][0])
        if len(body["messages"]) == 1:
            return [("get_order", {"number": 18 if large else 17})]
        if len(body["messages"]) == 3:
            return [("refund", {"number": 18, "euros": 900} if large else {"number": 17, "euros": 40})]
        return "A manager must do that." if large else "Refunded."

    test = str(EXAMPLES / "test_refunds.py")
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), test)
    journal = {"REFUNDS_JOURNAL": str(tmp_path / "refunds.jsonl")}
    async with vendor(script) as at:
        await run("-m", "pytest", *options, at=at, cwd=tmp_path, REFUNDS_RECORD="1", **journal)
        asked = len(at.requests)
        printed = await run("-m", "pytest", *options, at=at, cwd=tmp_path, **journal)
    assert "2 passed" in printed
    assert (asked, len(at.requests)) == (6, 6)


async def test_a_file_of_mcp_servers(tmp_path):
    tools = tmp_path / "shop.py"
    tools.write_text(
        "import rightcall as rc\n\n@rc.tool(effect='read')\ndef price(item: str) -> int:\n"
        '    """What an item costs, in cents."""\n    return {"tea": 250}[item]\n'
    )
    config = tmp_path / "mcp.json"
    serve = [sys.executable, "-m", "rightcall.cli.main", "serve-mcp", str(tools)]
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    servers = {
        "shop": {"command": serve[0], "args": serve[1:], "env": environment},
        "gone": {"command": "/no/such/program"},
    }
    config.write_text(json.dumps({"mcpServers": servers}))
    async with vendor([[("shop_price", {"item": "tea"})], "Tea costs 2.50."]) as at:
        printed = await run("mcp_servers.py", str(config), "What does tea cost?", at=at, cwd=tmp_path)
    assert "tools: shop_price" in printed
    assert "gone is not there: " in printed
    assert printed.endswith('shop_price {"item": "tea"} -> returned\nTea costs 2.50.\n')


async def test_a_hundred_users_at_once(monkeypatch):
    def script(body):
        results = json.dumps(body["messages"][1:])
        user = body["messages"][0]["content"]
        return (
            f"{user}: {results.count('parcel of')}" if "parcel of" in results else [("find_parcels", {})]
        )

    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    async with vendor(script) as at:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", at.url)
        handler = importlib.import_module("web_handler")
        server = uvicorn.Server(uvicorn.Config(handler.app, port=0, log_level="error", lifespan="on"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]

        async def ask(session: aiohttp.ClientSession, user: str) -> str:
            query = {"user": user, "q": f"where is mine, says {user}?"}
            async with session.get(f"http://127.0.0.1:{port}/ask", params=query) as response:
                return await response.text()

        async with aiohttp.ClientSession() as session:
            users = [f"user-{number}" for number in range(100)]
            answers = await asyncio.gather(*(ask(session, user) for user in users))
            async with session.get(f"http://127.0.0.1:{port}/ask") as response:
                refused = response.status
        server.should_exit = True
        await serving
    assert refused == 400
    assert all(user in answer for user, answer in zip(users, answers, strict=True))
    told = [json.dumps(body["messages"]) for body in at.requests if len(body["messages"]) == 3]
    assert len(told) == 100
    # What each was told is their own parcel, and nobody else's.
    assert all(sum(f"parcel of {user}," in each for each in told) == 1 for user in users)


def test_every_example_is_run_here():
    programs = {path.name for path in EXAMPLES.glob("*.py")} - HERE
    run_here = Path(__file__).read_text()
    assert [name for name in sorted(programs) if name.removesuffix(".py") not in run_here] == []
