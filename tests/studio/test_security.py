"""Who may come in, and what becomes of text that would rather be something else.

Each test says what was tried; what it shows is that the try comes to nothing.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from io import BytesIO

import pytest

import rightcall as rc
from rightcall.core.entry import RunFailed, RunStarted
from rightcall.core.message import Reasoning
from rightcall.errors import UsageError
from rightcall.serve.studio import routes
from rightcall.serve.studio.application import CSP, _files, serve
from rightcall.serve.studio.live import MOST_WATCHING
from rightcall.testing import call, reply
from studio import stories
from studio.kit import serving

TOKEN = "t0ken-" * 6


@pytest.fixture
def journal(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        yield journal


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "evil.example@127.0.0.1",
        "[::2]",
        "",
    ],
)
async def test_a_name_that_was_turned_to_point_here_is_refused(journal, host):
    async with serving(journal) as studio:
        for path in ("/", "/api/session", "/api/runs/events", "/static/icon.svg"):
            async with studio.http.get(studio.address + path, headers={"host": host}) as response:
                assert response.status in (400, 403), path
                assert "csrf" not in await response.text()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
async def test_this_machines_own_names_are_taken(journal, host):
    async with serving(journal) as studio:
        port = studio.address.rpartition(":")[2]
        headers = {"host": f"{host}:{port}"}
        async with studio.http.get(f"{studio.address}/api/session", headers=headers) as response:
            assert response.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_another_page_can_neither_read_nor_change_anything(journal, headers):
    async with serving(journal, write=True) as studio:
        async with studio.http.get(f"{studio.address}/api/runs", headers=headers) as response:
            assert response.status == 403
            assert "access-control-allow-origin" not in response.headers
        csrf = (await studio.get("/api/session"))["csrf"]
        sent = {"x-studio-token": csrf, **headers}
        address = f"{studio.address}/api/chat"
        async with studio.http.post(address, json={"prompt": "x"}, headers=sent) as response:
            assert response.status == 403


async def test_a_preflight_is_not_answered_with_leave(journal):
    async with serving(journal, write=True) as studio:
        headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        async with studio.http.options(f"{studio.address}/api/chat", headers=headers) as response:
            assert response.status == 403
            assert not [name for name in response.headers if name.lower().startswith("access-control")]


async def test_a_change_needs_json_and_the_token_that_only_our_page_knows(journal):
    async with serving(journal, write=True) as studio:
        address, csrf = f"{studio.address}/api/chat", (await studio.get("/api/session"))["csrf"]
        body = b'{"prompt": "x"}'
        for headers in (
            {"content-type": "text/plain", "x-studio-token": csrf},
            {"content-type": "application/x-www-form-urlencoded", "x-studio-token": csrf},
            {"content-type": "application/json"},
            {"content-type": "application/json", "x-studio-token": "guess"},
        ):
            async with studio.http.post(address, data=body, headers=headers) as response:
                assert response.status in (400, 403), headers
        async with studio.http.put(address, json={}) as response:
            assert response.status == 405


async def test_what_is_not_json_or_too_long_is_refused(journal):
    async with serving(journal, write=True) as studio:
        csrf = (await studio.get("/api/session"))["csrf"]
        headers = {"content-type": "application/json", "x-studio-token": csrf}
        for body, status in (
            (b"", 400), (b"[1]", 400), (b"{", 400), (b"[" * 100_000, 400), (b'{"run": 3}', 400),
            (b'"' + b"x" * 3_000_000 + b'"', 413),
        ):  # fmt: skip
            address = f"{studio.address}/api/run/decide"
            async with studio.http.post(address, data=BytesIO(body), headers=headers) as response:
                assert response.status == status, body[:20]


async def test_beyond_this_machine_nobody_comes_in_without_the_token(journal):
    async with serving(journal, token=TOKEN, hosts=("studio.example",), port=80) as studio:
        for path in ("/", "/api/session", "/api/run?run=x", "/static/icon.svg", "/?token=guess"):
            async with studio.http.get(studio.address + path) as response:
                assert response.status == 401, path
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with studio.http.get(f"{studio.address}/api/session", headers=headers) as response:
            assert response.status == 200
        # The first visit takes the token out of the address, and leaves a cookie that no script reads.
        first = f"{studio.address}/runs?token={TOKEN}&q=tea"
        async with studio.http.get(first, allow_redirects=False) as response:
            assert (response.status, response.headers["location"]) == (303, "/runs?q=tea")
            cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        back = {"cookie": cookie.partition(";")[0]}
        async with studio.http.get(f"{studio.address}/api/session", headers=back) as response:
            assert response.status == 200
        # Two slashes would be another host.
        async with studio.http.get(
            f"{studio.address}//evil.example/?token={TOKEN}", allow_redirects=False
        ) as response:
            assert response.headers["location"] == "/evil.example/"


def test_another_host_needs_a_name_to_be_reached_under(tmp_path):
    with pytest.raises(UsageError, match="under which name"):
        serve(tmp_path / "runs.sqlite", host="0.0.0.0")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../application.py",
        "/static/%2e%2e/application.py",
        "/static/..%2fapplication.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app/../../security.py",
        "/static/..\\security.py",
        "/static/",
        "/static/index.html%00.js",
    ],
)
async def test_no_path_leads_out_of_the_folder_of_pages(journal, path):
    async with serving(journal) as studio:
        host, _, port = studio.address.removeprefix("http://").partition(":")
        # By hand: a client would tidy the path up.
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        told = await reader.read()
        writer.close()
    assert told.split(b" ", 2)[1] in (b"404", b"400")
    assert b"import" not in told
    assert b"root:" not in told


async def test_every_answer_forbids_what_a_page_does_not_need(journal):
    await stories.looked(journal)
    async with serving(journal) as studio:
        for path in (
            "/",
            "/api/session",
            "/api/nothing",
            "/api/run?run=looked",
            "/static/icon.svg",
            "/x/y",
        ):
            async with studio.http.get(studio.address + path) as response:
                headers = response.headers
                assert headers["content-security-policy"] == CSP
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["referrer-policy"] == "no-referrer"
                assert headers["x-frame-options"] == "DENY"
                assert "server" not in headers or "uvicorn" in headers["server"]
                assert not path.startswith("/api/") or headers["cache-control"] == "no-store"
    assert "unsafe" not in CSP
    assert _files()


HOSTILE = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "svg": "<svg onload=alert(1)><foreignObject>",
    "ansi": "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m",
    "bidi": "pay \u202eeve\u202c \u2066bob\u2069",
    "closing": '"]}</script>\r\nevent: runs\r\ndata: {}\r\n\r\n',
    "null": "a\x00b\ud800c",
}
UNSEEN = "\x1b\x07\x9b\x00\u202e\u202c\u2066\u2069\r"


def hostile(text):
    """A tool whose name cannot be hostile, and whose words are."""

    @rc.tool(effect="read", name="look", description=text.replace("\x00", "").replace("\ud800", ""))
    def look(what: str) -> str:
        raise rc.ToolFailure(text)

    return look


@pytest.mark.parametrize("kind", HOSTILE)
async def test_hostile_text_anywhere_stays_text(journal, kind):
    """In a question, a run's name, a reply, a thought, a call, its result, an error, a tool's words."""
    text = HOSTILE[kind]
    run = f"run {text}".replace("\ud800", "")
    name = f"lo{text}"
    arguments = json.dumps({"what": text})
    calls = (call("look", arguments), call(name, arguments))
    replies = [
        reply(Reasoning(text), text, *calls, usage=stories.USAGE),
        reply(text, usage=stories.USAGE),
    ]
    agent = rc.Agent(
        rc.testing.ScriptedModel(replies), [hostile(text)], text, journal=journal, name=f"agent {text}"
    )
    await agent.run(text, run=run)
    failed = f"failed {text}".replace("\ud800", "")
    journal.append(failed, RunStarted(messages=(), budget=rc.Budget(), agent=text))
    journal.append(failed, RunFailed(code=text, message=text))
    async with serving(journal) as studio:
        for path, params in {
            "/api/runs": {}, "/api/run": {}, "/api/run/timeline": {}, "/api/run/entries": {},
            "/api/run/sent": {"key": "t2.model", "form": "openai_chat"}, "/api/tools": {},
            "/api/tool": {"name": "look"}, "/api/runs/facets": {}, "/api/pending": {},
            "/api/compare": {"a": run, "b": failed},
        }.items():  # fmt: skip
            async with studio.http.get(studio.address + path, params={"run": run, **params}) as response:
                assert response.status == 200, path
                assert response.content_type == "application/json"
                data = json.loads(await response.read())
            for shown in seen_in(data):
                assert not set(shown) & set(UNSEEN), (path, shown)
        async with studio.events("/api/run/events", run=run) as events:
            async for event, data in events:
                assert event in ("items", "ended")
                assert not any(set(shown) & set(UNSEEN) for shown in seen_in(data))
                if event == "ended":
                    break
        # Downloads hold what was recorded, as files that no browser opens.
        for form in ("json", "markdown", "jsonl", "test"):
            params = {"run": run, "format": form}
            async with studio.http.get(f"{studio.address}/api/run/export", params=params) as response:
                disposition = response.headers["content-disposition"]
                assert disposition.startswith("attachment; filename=")
                assert not set(disposition) & set("<>\r\n")
                if form == "test":
                    names: dict = {}
                    exec(compile(await response.text(), "exported", "exec"), names)
                    await names["test_the_run_goes_as_it_was_recorded"]()


def seen_in(value, name=""):
    """Every text of an answer that a person may be shown: all but what is sent back as it is."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in ("run", "parent", "call_id"):
                yield from seen_in(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from seen_in(each, name)
    elif isinstance(value, str):
        yield value


async def test_an_error_says_nothing_of_what_is_inside(journal, monkeypatch, caplog):
    async with serving(journal) as studio:

        def broken(*_):
            raise RuntimeError("/secret/path and a password")

        monkeypatch.setattr(routes, "facets", broken)
        status, told = await studio.ask("/api/runs/facets")
    assert (status, told["error"]["code"]) == (500, "failed")
    assert "secret" not in json.dumps(told)
    assert "secret" in caplog.text


async def test_what_makes_no_sense_is_refused_in_words(journal):
    await stories.looked(journal)
    async with serving(journal) as studio:
        for path, status in {
            "/api/run": 400, "/api/run?run=": 404, "/api/run?run=nobody": 404, "/api/nothing": 404,
            "/api/runs?count=many": 400, "/api/runs?min_cost=nan": 400, "/api/runs?before=-1": 400,
            "/api/run?run=looked&from=1e9": 400, "/api/run/export?run=looked&format=exe": 400,
            "/api/run/sent?run=looked&key=t1.0.look": 404, f"/api/runs?q={'x' * 5000}": 400,
            "/api/run?run=looked&from=999": 200, "/api/runs?q=%22%22": 200,
            "/api/runs?q=AND%20OR%20*": 200, "/api/runs?q=body:x%20NEAR(": 200,
        }.items():  # fmt: skip
            found, told = await studio.ask(path)
            assert found == status, (path, told)
            assert status == 200 or told["error"]["message"]


async def test_streams_that_nobody_reads_are_bounded(tmp_path):
    with rc.record.SqliteJournal(tmp_path / "runs.sqlite") as journal:
        await stories.paused(journal)
        async with serving(journal) as studio, AsyncExitStack() as open_streams:
            for _ in range(MOST_WATCHING):
                stream = await open_streams.enter_async_context(studio.events("/api/runs/events"))
                await anext(stream)
            status, told = await studio.ask("/api/runs/events")
            assert (status, told["error"]["code"]) == (503, "too_many")
            assert (await studio.ask("/api/run/events", run="paused"))[0] == 503
            await studio.get("/api/runs")
