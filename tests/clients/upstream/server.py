"""The scripted vendor: four dialects on one loopback address, strict as the vendors are.

It refuses what they refuse (members that they do not know, calls without results, signatures that
it did not give), keeps every exchange, and says no to everything once a client has asked more often
than it may.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from aiohttp import web

from clients.upstream import chat, gemini, messages, responses
from clients.upstream.exchange import Asked, Call, Fault, RefusedError, Reply, Script

DIALECTS: Mapping[str, ModuleType] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
    "gemini": gemini,
}
IDS = {"chat": "call_{}", "responses": "call_{}", "messages": "toolu_{}", "gemini": ""}
STRANGE = {
    "chat": b'data: {"id": "x", "object": "chat.new", "choices": [], "something": {"new": 1}}\n\n',
    "responses": b'event: response.new\ndata: {"type": "response.new", "something": 1}\n\n',
    "messages": b'event: something_new\ndata: {"type": "something_new", "new": 1}\n\n',
    "gemini": b'data: {"somethingNew": {"new": 1}}\r\n\r\n',
}
"""Events that vendors might think of, and that no client has heard of yet."""
MOST = 25
"""Requests that any of the tasks may take; a client that asks more often goes in circles."""


@dataclass(frozen=True)
class Exchange:
    """A request that came, and what was made of it."""

    dialect: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    asked: Asked | None
    refused: str | None = None


class Upstream:
    """What is said next, and what was asked so far."""

    def __init__(self) -> None:
        self.url = ""
        self.begin(lambda _: Reply("No script was given."))

    def begin(self, script: Script, *, repeat_ids: bool = False) -> None:
        """Start anew: one script, nothing asked."""
        self.script = script
        self.repeat_ids = repeat_ids
        """Whether every reply names its calls as the one before did, as careless servers do."""
        self.exchanges: list[Exchange] = []
        self.signatures: list[str] = []
        self.items: dict[str, Mapping[str, Any]] = {}
        """Of Responses: what was said, by id, for requests that refer to it."""
        self._number = 0

    @property
    def refused(self) -> list[str]:
        """What was wrong with the requests that no real vendor would have taken."""
        return [each.refused for each in self.exchanges if each.refused]

    @property
    def looped(self) -> bool:
        return len(self.exchanges) > MOST

    def answer(self, asked: Asked, dialect: str) -> Reply | Fault:
        said = self.script(asked)
        if isinstance(said, Fault):
            return said
        self._number += 1
        number = self._number
        calls = tuple(self._named(call, dialect, at) for at, call in enumerate(said.calls))
        signature = _signature(number) if asked.thinks and calls else ""
        self.signatures += [signature] if signature else []
        thought = "I will use a tool for that." if signature else ""
        return replace(said, calls=calls, number=number, signature=signature, thought=thought)

    def _named(self, call: Call, dialect: str, at: int) -> Call:
        number = 0 if self.repeat_ids else self._number
        return replace(call, id=IDS[dialect].format(f"{number:04d}{at:04d}"))

    def check(self, asked: Asked, dialect: str) -> None:
        allowed = {*self.signatures, *(gemini.FILLERS if dialect == "gemini" else ())}
        for each in asked.returned:
            if each and each not in allowed:
                raise RefusedError(f"Invalid `signature` in `thinking` block: {each!r} was never given")


def _signature(number: int) -> str:
    """Base64 as the vendors' are, with both of its two letters that are not alphanumeric."""
    return base64.b64encode(b"\xfb\xef\xff signed %d" % number).decode()


def _read(upstream: Upstream, dialect: str, request: web.Request, body: Any) -> Asked:
    if dialect == "responses":
        return responses.read(body, upstream.items)
    if dialect != "gemini":
        return DIALECTS[dialect].read(body)
    model, _, method = request.match_info["call"].partition(":")
    return gemini.read(body, model, method == "streamGenerateContent")


async def _exchange(upstream: Upstream, dialect: str, request: web.Request) -> web.StreamResponse:
    body = await request.json()
    wire = DIALECTS[dialect]
    noted = Exchange(dialect, request.path_qs, dict(request.headers), body, None)
    try:
        asked = _read(upstream, dialect, request, body)
        upstream.check(asked, dialect)
    except (RefusedError, KeyError, TypeError, IndexError) as error:
        words = str(error) if isinstance(error, RefusedError) else f"Malformed: {error!r}"
        upstream.exchanges.append(replace(noted, refused=words))
        return web.json_response(wire.error(400, words), status=400)
    upstream.exchanges.append(replace(noted, asked=asked))
    if upstream.looped:
        return web.json_response(wire.error(400, "asked too often"), status=400)
    said = upstream.answer(asked, dialect)
    if isinstance(said, Fault):
        refusal = wire.error(said.status, said.message, said.code)
        return web.json_response(refusal, status=said.status, headers=dict(said.headers))
    if dialect == "responses" and body.get("store") is not False:
        upstream.items |= {item["id"]: item for item in responses.whole(said, asked)["output"]}
    if not asked.streamed:
        await asyncio.sleep(said.silence)
        return web.json_response(wire.whole(said, asked))
    events = list(wire.stream(said, asked, body))
    if said.strange:
        events.insert(1, STRANGE[dialect])
    return await _stream(request, events, said)


async def _stream(request: web.Request, events: list[bytes], reply: Reply) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
    if reply.silence:
        await asyncio.sleep(reply.silence)
    await response.prepare(request)
    for event in events[: reply.events]:
        await response.write(event)
    if reply.events is not None and request.transport is not None:
        request.transport.close()
    return response


async def _count(request: web.Request) -> web.Response:
    return web.json_response({"input_tokens": 120})


async def _no_websocket(request: web.Request) -> web.Response:
    return web.Response(status=426)


def _app(upstream: Upstream) -> web.Application:
    app = web.Application(client_max_size=2**26)

    def post(path: str, dialect: str) -> None:
        async def answer(request: web.Request) -> web.StreamResponse:
            return await _exchange(upstream, dialect, request)

        app.router.add_post(path, answer)

    post("/v1/chat/completions", "chat")
    post("/v1/responses", "responses")
    post("/v1/messages", "messages")
    for version in ("v1", "v1beta"):
        post(f"/{version}/models/{{call}}", "gemini")
    app.router.add_post("/v1/messages/count_tokens", _count)
    app.router.add_get("/v1/responses", _no_websocket)
    return app


@contextmanager
def serving() -> Iterator[Upstream]:
    """A vendor in a thread of its own, for as long as this lasts."""
    upstream = Upstream()
    started, stop, loop = threading.Event(), asyncio.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        runner = web.AppRunner(_app(upstream), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        upstream.url = f"http://{host}:{port}"
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert started.wait(10), "the scripted vendor did not start"
    try:
        yield upstream
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)
        loop.close()


def dump(exchanges: list[Exchange]) -> str:
    """What was asked, for the message of a failed test."""
    return "\n".join(
        f"{each.path} {each.refused or ''} {json.dumps(each.body)[-600:]}" for each in exchanges[-4:]
    )
