"""Recipes that need more than one vendor and one process, with what they need around them."""

import asyncio
import functools
import json
import re
import shlex
import socket

import aiohttp

from docs.recipe_pages import RECIPES, blocks, program_of, run, run_here, start, write_files
from examples.vendor import Script, vendor
from rightcall import Agent
from rightcall.record import JsonLinesJournal
from rightcall.testing import ScriptedModel


async def until_listening(port: int) -> None:
    for _ in range(1_000):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    raise AssertionError(f"nobody listens at {port}")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def at_port(folder, program: str, port: int) -> None:
    """The page's program, at a port that is free here."""
    file = folder / program
    text, count = re.subn(r"port=\d+", f"port={port}", file.read_text())
    assert count == 1
    file.write_text(text)


async def test_a_hundred_users_of_the_web_handler(tmp_path):
    def script(body):
        results = json.dumps(body["messages"][1:])
        return "It is in Bern." if "parcel 17" in results else [("find_parcels", {})]

    write_files(RECIPES / "web-streaming.md", tmp_path)
    port = free_port()
    at_port(tmp_path, "web.py", port)
    async with vendor(script) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        server = await start(*program_of("python"), "web.py", cwd=tmp_path, **keys)
        await until_listening(port)

        async def ask(session: aiohttp.ClientSession, user: str) -> str:
            query = {"user": user, "q": "Where is my parcel?"}
            async with session.get(f"http://127.0.0.1:{port}/ask", params=query) as response:
                assert response.content_type == "text/event-stream"
                return await response.text()

        users = [f"user-{number}" for number in range(100)]
        async with aiohttp.ClientSession() as session:
            answers = await asyncio.gather(*(ask(session, user) for user in users))
        server.terminate()
        await server.wait()
    said = re.compile(r"^event: text\ndata: (.*)$", re.MULTILINE)
    words = ["".join(map(json.loads, said.findall(answer))) for answer in answers]
    assert words == ["It is in Bern."] * 100
    assert all(answer.endswith('event: end\ndata: "end"\n\n') for answer in answers)
    told = [json.dumps(body["messages"]) for body in at.requests if len(body["messages"]) == 3]
    # What each was told is their own parcel, and nobody else's.
    assert sorted(re.findall(r"for (user-\d+),", "".join(told))) == sorted(users)


async def test_the_second_vendor_is_asked_when_the_first_is_down(tmp_path):
    script: Script = [[("get_capital", {"country": "France"})], "Paris."]
    write_files(RECIPES / "fallback.md", tmp_path)
    async with vendor(script, 529) as busy, vendor(script) as at, vendor(script, 401) as closed:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": busy.url, "OPENAI_API_KEY": "key"}
        command = ["python", "capital.py"]
        printed = await run_here(*command, cwd=tmp_path, **keys, OPENAI_BASE_URL=f"{at.url}/v1")
        nobody = await run_here(*command, cwd=tmp_path, **keys, OPENAI_BASE_URL=f"{closed.url}/v1")
    assert "anthropic:claude-opus-4-8 failed (anthropic: HTTP 529" in printed
    assert printed.endswith("Paris. (says openai:gpt-5)\n")
    assert "nobody answered (auth): openai: HTTP 401" in nobody
    assert nobody.splitlines()[-1].startswith("before that, anthropic:claude-opus-4-8 failed: ")


async def test_a_user_is_stopped_when_the_day_is_spent(tmp_path):
    write_files(RECIPES / "limit-cost-per-user.md", tmp_path)
    program = tmp_path / "budgets.py"
    # A thousand tokens in and fifty out at the vendor's prices: less than a cent for each reply.
    program.write_text(program.read_text().replace("DAY, RUN = 1.00, 0.20", "DAY, RUN = 0.015, 0.012"))
    async with vendor(["Because of scattering."]) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        printed = [await run_here("python", "budgets.py", cwd=tmp_path, **keys) for _ in range(3)]
    assert printed[0] == "Because of scattering.\n"
    assert printed[-1] == "Your budget for today is used up.\n"
    assert len(at.requests) == sum(each == printed[0] for each in printed)


async def test_a_chat_message_decides_in_another_process(tmp_path):
    def script(body):
        results = json.dumps(body["messages"][1:])
        if "paid 40" in results or "too much" in results:
            return "Paid." if "paid 40" in results else "Not paid."
        return [("pay", {"to": "Ann Lee", "euros": 40})]

    write_files(RECIPES / "approve-by-chat.md", tmp_path)
    port = free_port()
    at_port(tmp_path, "payments.py", port)
    async with vendor(script) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url, "CHAT_TOKEN": "secret"}
        program = ["payments.py", "Pay Ann Lee 40 euros"]
        decided = {"invoice-17": "yes {}", "invoice-18": "YES {}", "invoice-19": "no {} too much"}
        for invoice in decided:
            asked = await run_here("python", program[0], invoice, program[1], cwd=tmp_path, **keys)
            assert f'Say "yes {invoice}"' in asked
        server = await start(*program_of("python"), program[0], "serve", cwd=tmp_path, **keys)
        await until_listening(port)
        async with aiohttp.ClientSession() as session:

            async def told(text: str, token: str = "secret") -> tuple[int, str]:
                address = f"http://127.0.0.1:{port}/chat"
                async with session.post(address, data={"token": token, "text": text}) as answer:
                    return answer.status, (await answer.text())

            assert (await told("yes invoice-17", token="guess"))[0] == 403
            assert json.loads((await told("ok"))[1])["text"] == 'Say "yes RUN" or "no RUN WHY".'
            assert len(at.requests) == 3
            for invoice, words in decided.items():
                expected = "Not paid." if words.startswith("no") else "Paid."
                for _ in range(2):  # the first answer stands
                    said = json.loads((await told(words.format(invoice)))[1])["text"]
                    assert said == expected, words
        assert len(at.requests) == 6
        server.terminate()
        await server.wait()


async def test_a_file_that_fails_stops_nothing_and_is_tried_again(tmp_path):
    def script(body):
        item = {"name": "tea", "count": 1, "price": "2.50"}
        return [("final_answer", {"customer": "Ann", "items": [item]})]

    write_files(RECIPES / "extract-from-files.md", tmp_path)
    (tmp_path / "mails").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"mails/{name}.txt").write_text("tea, please")
    command = ["python", "extract.py", "mails", "orders.jsonl"]
    printed = []
    for status in (401, 200, 200):
        async with vendor(script, status) as at:
            keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
            printed.append(await run_here(*command, cwd=tmp_path, **keys))
    assert printed == [f"{asked} asked, {2 - asked} done before\n" for asked in (2, 2, 0)]
    rows = [json.loads(line) for line in (tmp_path / "orders.jsonl").read_text().splitlines()]
    assert ["error" in row for row in rows] == [True, True, False, False]


async def test_pictures_and_files_are_sent_as_what_they_are(tmp_path):
    write_files(RECIPES / "images-and-pdfs.md", tmp_path)
    (tmp_path / "pages").mkdir()
    for name in ("receipt.png", "pages/3.png"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7\n")
    async with vendor([[("get_page", {"number": 3})], "Yes."]) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        words = ["look.py", "receipt.png", "report.pdf", "Is the receipt in the report?"]
        await run_here("python", *words, cwd=tmp_path, **keys)
    asked, answered = at.requests
    sent = [part["type"] for part in asked["messages"][0]["content"]]
    assert sent == ["image", "document", "text"]
    (result,) = answered["messages"][2]["content"]
    assert [part["type"] for part in result["content"]] == ["text", "image"]


async def test_recorded_once_and_replayed_under_pytest(tmp_path):
    script: Script = [
        [("get_order", {"number": 17})],
        [("refund", {"number": 17, "euros": 40})],
        "Refunded.",
    ]
    write_files(RECIPES / "test-an-agent.md", tmp_path)
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "-W",
        "ignore",
        "test_refunds.py",
    )
    async with vendor(script) as at:
        keys = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": at.url}
        tests = functools.partial(run, *program_of("pytest"), *options, cwd=tmp_path)
        before = await tests(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        await tests(**keys, RECORD="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        asked = len(at.requests)
        after = await tests(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "2 passed, 1 skipped" in before
    assert "3 passed" in after
    assert (asked, len(at.requests)) == (3, 3)


async def test_descriptions_are_compared_with_the_embedded_model(tmp_path):
    page = RECIPES / "evaluate-descriptions.md"
    write_files(page, tmp_path)
    (name, *arguments) = shlex.split(blocks(page, "sh")[0])
    printed = await run(*program_of(name), *arguments, cwd=tmp_path)
    (shown,) = blocks(page, "text")
    assert printed.endswith(shown)


async def test_a_moved_journal_lists_and_replays_its_runs(tmp_path):
    model = ScriptedModel(["Hello Ann!"])
    with JsonLinesJournal(tmp_path / "runs.jsonl") as journal:
        await Agent(model, journal=journal).run("I am Ann.", run="greeting")
    page = RECIPES / "migrate-a-journal.md"
    write_files(page, tmp_path)
    await run_here("python", "migrate.py", "runs.jsonl", "runs.db", cwd=tmp_path)
    journal_command = ["rightcall", "journal"]
    assert "greeting" in await run_here(*journal_command, "list", "runs.db", cwd=tmp_path)
    replaying = await start(
        *program_of("rightcall"), "journal", "replay", "runs.db", "greeting", cwd=tmp_path
    )
    answer, told = await replaying.communicate()
    assert (answer, told) == (b"Hello Ann!\n", b"2 messages, as recorded: end\n")
    export = [*journal_command, "export", "runs.db", "--all", "--format", "jsonl"]
    back = await run_here(*export, cwd=tmp_path)
    (tmp_path / "back.jsonl").write_text(back)
    with (
        JsonLinesJournal(tmp_path / "runs.jsonl") as old,
        JsonLinesJournal(tmp_path / "back.jsonl") as new,
    ):
        assert list(new.entries("greeting")) == list(old.entries("greeting"))


async def test_a_client_of_the_gateway_gets_an_answer(tmp_path):
    write_files(RECIPES / "coding-agent.md", tmp_path)
    port = free_port()
    config = tmp_path / "gateway.toml"
    local = re.sub(r'"openai:[\w-]+\d"', '"vendor.py:model"', config.read_text())
    config.write_text(local.replace(":9000", f":{port}"))
    said = "from rightcall.testing import ScriptedModel\n\nmodel = ScriptedModel(['Paris.'])\n"
    (tmp_path / "vendor.py").write_text(said)
    serve = [*program_of("rightcall"), "serve"]
    add = ["keys", "add", "laptop", "--config", "gateway.toml", "--dollars-per-day", "5"]
    adding = await start(*serve, *add, cwd=tmp_path)
    key = (await adding.communicate())[0].decode().strip()
    server = await start(*serve, "--config", "gateway.toml", cwd=tmp_path, OPENAI_API_KEY="key")
    await until_listening(port)
    client = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "GATEWAY_KEY": key}
    assert await run_here("python", "check.py", cwd=tmp_path, **client) == "Paris.\n"
    server.terminate()
    await server.wait()
    spend = ["rightcall", "serve", "spend", "--config", "gateway.toml"]
    assert "laptop" in await run_here(*spend, cwd=tmp_path)
