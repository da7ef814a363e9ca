"""Logins at the SDK's own OAuth servers: by a browser, by pasting, by a kept login, by a program."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from oauth_issuer import Issuer, guarded, visit
from rightcall.errors import ToolFailure, TransportError, UsageError
from rightcall.mcp import ClientCredentials, Http, Login, connect, connect_all
from rightcall.mcp.client.login_store import LoginStore
from rightcall.mcp.client.oauth import CallbackServer, log_in, log_out


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


def way(folder: Path, **options: object) -> Login:
    return Login(folder=folder, timeout=5, **{"browser": visit, **options})  # type: ignore[arg-type]


def kept(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def change(folder: Path, **changes: object) -> None:
    (file,) = folder.glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
@pytest.mark.parametrize("separate", [False, True])
async def test_a_person_logs_in_once(issuer, tmp_path, separate, protocol):
    async with guarded(issuer, separate=separate) as url:
        for _ in range(2):
            async with connect(url, auth=way(tmp_path), protocol=protocol) as server:
                assert await server.call("slow", {"seconds": 0}) == "done"
    assert issuer.logins == 1
    assert len(issuer.clients) == 1


async def test_calls_do_not_wait_for_each_other(issuer, tmp_path):
    async with guarded(issuer) as url, connect(url, auth=way(tmp_path)) as server:
        async with asyncio.timeout(20):
            met = await asyncio.gather(*[server.call("meet") for _ in range(4)])
        assert met == ["met"] * 4


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("how", ["expired", "forgotten"])
async def test_a_kept_login_is_refreshed_without_a_browser(issuer, tmp_path, separate, how):
    async with guarded(issuer, separate=separate) as url:
        await log_in(url, way(tmp_path))
        if how == "expired":
            change(tmp_path, expires_at=time.time() - 1)
        else:
            issuer.tokens.clear()
        login = way(tmp_path, interactive=False)
        issuer.seen.clear()
        async with connect(url, auth=login) as server:
            assert await server.call("slow", {"seconds": 0}) == "done"
        where = "issuer" if separate else "server"
        assert (where, "POST", "/token") in issuer.seen
        async with connect(url, auth=login) as server:
            assert await server.call("slow", {"seconds": 0}) == "done"
    assert (issuer.logins, issuer.refreshed) == (1, 1)


async def test_programs_that_refresh_at_once_use_the_refresh_token_once(issuer, tmp_path):
    async with guarded(issuer) as url:
        await log_in(url, way(tmp_path))
        change(tmp_path, expires_at=time.time() - 1)
        login = way(tmp_path, interactive=False)

        async def use() -> None:
            async with connect(url, auth=login):
                pass

        await asyncio.gather(*[use() for _ in range(4)])
    assert issuer.refreshed == 1


async def test_a_login_that_has_ended_says_what_to_do_and_is_not_begun_anew_unasked(issuer, tmp_path):
    async with guarded(issuer) as url:
        login = way(tmp_path, interactive=False)
        with pytest.raises(TransportError, match=f"log in first: rightcall mcp login {url}"):
            await connect(url, auth=login, name="s").open()
        await log_in(url, way(tmp_path))
        async with connect(url, auth=login, name="s") as server:
            issuer.tokens.clear()
            issuer.refreshing.clear()
            with pytest.raises(ToolFailure, match="The server s cannot be logged in at: log in first"):
                await server.call("slow", {"seconds": 0})
    assert kept(tmp_path).get("tokens") is None
    assert issuer.logins == 1


async def test_a_server_that_cannot_refresh_now_does_not_lose_the_login(issuer, tmp_path, monkeypatch):
    async with guarded(issuer) as url:
        await log_in(url, way(tmp_path))
        change(tmp_path, expires_at=time.time() - 1)
        issuer.tokens.clear()

        async def fail(*_: object) -> None:
            raise RuntimeError("out of order")

        monkeypatch.setattr(issuer, "load_refresh_token", fail)
        with pytest.raises(TransportError, match="the authorization server answers HTTP 500"):
            await connect(url, auth=way(tmp_path)).open()
    assert kept(tmp_path)["tokens"]
    assert issuer.logins == 1


async def test_a_token_that_is_not_enough_is_exchanged_for_one_that_may_do_more(issuer, tmp_path):
    async with guarded(issuer) as url, connect(url, auth=way(tmp_path)) as server:
        issuer.wants = "more"
        assert await server.call("slow", {"seconds": 0}) == "done"
        issuer.wants = "what nobody grants"
        with pytest.raises(ToolFailure, match="cannot be logged in at: Registration failed"):
            await server.call("slow", {"seconds": 0})
    # The first registration was for fewer scopes than the second token has.
    assert (issuer.logins, len(issuer.clients)) == (2, 2)
    assert set(str(kept(tmp_path)["tokens"]["scope"]).split()) == {"use", "more"}


async def test_the_time_that_a_person_takes_does_not_count(issuer, tmp_path):
    def hesitate(url: str) -> bool:
        time.sleep(1.6)
        return visit(url)

    async with guarded(issuer) as url:
        login = way(tmp_path, browser=hesitate)
        async with connect(url, auth=login, connect_timeout=1.5) as server:
            assert server.names() == ("slow", "meet")


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def location(url: str) -> str:
    """Where a page sends the browser."""
    with pytest.raises(HTTPError) as found:
        build_opener(_Stay).open(url)
    found.value.close()
    return str(found.value.headers["location"])


async def test_the_address_can_be_pasted_where_no_browser_returns(issuer, tmp_path):
    pasted = iter(["nonsense", "http://localhost:1/callback?code=mine&state=forged"])
    shown: list[str] = []

    async def paste(url: str) -> str:
        shown.append(url)
        return next(pasted, "") or await asyncio.to_thread(location, shown[0])

    async with guarded(issuer) as url:
        await log_in(url, way(tmp_path, paste=paste, browser=None))
    assert issuer.logins == 1
    assert [bool(each) for each in shown] == [True, False, False]


async def test_a_refused_login_and_one_that_nobody_ends(issuer, tmp_path):
    async with guarded(issuer) as url:
        issuer.refuses = True
        with pytest.raises(TransportError, match="the authorization server refused: access_denied"):
            await log_in(url, way(tmp_path))
        with pytest.raises(TransportError, match=r"nobody logged in within 0.1 s"):
            await log_in(url, Login(folder=tmp_path, browser=lambda _: True, timeout=0.1))
        with pytest.raises(TransportError, match=r"no browser can be opened here.*--paste"):
            await log_in(url, way(tmp_path, browser=lambda _: False))


async def test_a_port_that_was_taken_meanwhile_means_a_new_registration(issuer, tmp_path):
    async with guarded(issuer) as url:
        await log_in(url, way(tmp_path))
        change(tmp_path, tokens={})
        await log_in(url, way(tmp_path))
        assert len(issuer.clients) == 1
        change(tmp_path, tokens={})
        client = kept(tmp_path)["client"]
        port = urlsplit(client["redirect_uris"][0]).port
        async with CallbackServer.listen(port, must=True):
            await log_in(url, way(tmp_path))
            change(tmp_path, tokens={})
            with pytest.raises(TransportError, match=f"port {port} cannot be used"):
                await log_in(url, way(tmp_path, port=port))
    assert len(issuer.clients) == 2


async def test_a_login_is_revoked_and_forgotten(issuer, tmp_path):
    async with guarded(issuer, separate=True) as url:
        await log_in(url, way(tmp_path))
        assert await log_out(url, tmp_path)
        assert issuer.refreshing == {}
        assert not await log_out(url, tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_only_the_expected_answer_is_taken_by_the_address_here():
    async with CallbackServer.listen(0, must=False) as callback:
        callback.expect("right")
        for state in ("wrong", "right"):
            query = f"?code=c&state={state}"
            status = await asyncio.to_thread(_status, callback.address + query)
            assert status == {"wrong": 404, "right": 200}[state]
        assert callback.result.result().code == "c"
        assert parse_qs(query[1:])["state"] == ["right"]


def _status(url: str) -> int:
    try:
        return int(build_opener().open(url).close() or 200)
    except HTTPError as error:
        error.close()
        return error.code


@pytest.mark.parametrize("text", ["{", '{"url": "https://elsewhere.example"}', '{"url": 1}'])
def test_a_file_that_is_no_login_of_this_server_says_so(tmp_path, text):
    store = LoginStore(tmp_path)
    store.file_of("https://a.example/mcp").write_text(text)
    with pytest.raises(UsageError, match="delete it and log in"):
        store.read("https://a.example/mcp")


def test_what_cannot_be_a_login_is_refused():
    with pytest.raises(UsageError, match="auth: there is"):
        Http(url="https://a.example", auth="basic")
    with pytest.raises(UsageError, match="a client_secret or a private_key"):
        ClientCredentials(issuer="https://a.example", client_id="x")
    with pytest.raises(UsageError, match="auth is for servers at a URL"):
        connect(["program"], auth="oauth")
    connect_all({"a": ["program"], "b": "https://b.example/mcp"}, auth="oauth")
    assert "hidden" not in repr(ClientCredentials(issuer="i", client_id="x", client_secret="hidden"))
