"""A Restate server, over HTTP: its handlers are called, and its tables are queried.

Changes go through the ingress and are durable once accepted. Reads are SQL queries of the server itself,
and so need no worker.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import aiohttp
import msgspec
from yarl import URL

from rightcall.errors import TransportError, TransportTimeout, UsageError

_PATIENCE = 120.0
"""Seconds for which a call waits for a worker, and for a server that is restarted."""
_FIRST = 10.0
"""Seconds to wait for a server that has never answered: its address may be wrong."""
_PAUSE = 0.1
_NOT_FOUND = 404
_CONFLICT = 409
_BAD = 400
_SHAPE = "restate://HOST:PORT?admin=9070&serve=127.0.0.1:9080"
_KNOWN = frozenset({"admin", "serve", "reach", "identity"})


class _Service(msgspec.Struct, frozen=True):
    name: str


class _Deployment(msgspec.Struct, frozen=True):
    """The services that the server knows at one address of workers."""

    services: tuple[_Service, ...]


class RestateAddress:
    """A parsed address: where the server is, and where it reaches workers.

    ``restate://HOST:PORT`` is the ingress. ``admin`` is the port of its administration, on the same
    host; ``serve`` is where workers listen, the same for all workers of one machine; ``reach`` is how
    the server reaches them, where that differs: a load balancer, or a name inside a cluster.
    ``identity`` is the server's public key: workers then accept calls from it alone.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if parts.hostname is None or (unknown := options.keys() - _KNOWN):
            wrong = ""
            if parts.hostname:
                wrong = f"; there is no {', '.join(sorted(unknown))}"
            raise UsageError(f"an address of Restate is {_SHAPE}, and not {address!r}{wrong}")
        host = parts.hostname
        if ":" in parts.hostname:
            host = f"[{parts.hostname}]"
        self.ingress = f"http://{host}:{parts.port or 8080}"
        self.admin = f"http://{host}:{options.get('admin', '9070')}"
        serve = options.get("serve", "127.0.0.1:9080")
        self.host, _, port = serve.rpartition(":")
        if not (self.host and port.isdecimal()):
            raise UsageError(f"serve= in {address!r} is HOST:PORT, as in {_SHAPE}")
        self.port = int(port)
        self.reach = options.get("reach", f"http://{serve}")
        self.identity = options.get("identity")


class RestateClient:
    """One server, and the connections to it."""

    def __init__(self, places: RestateAddress) -> None:
        self._places = places
        self._session: aiohttp.ClientSession | None = None
        self._was_there = False

    def open(self) -> None:
        """Open a session; its connections belong to the running event loop."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
        )

    async def close(self) -> None:
        """Close the connections."""
        session = self._session
        self._session = None
        if session is not None:
            await session.close()

    async def call(self, service: str, key: str, handler: str, body: Any) -> Any:
        """Call a handler of an object; returns its answer, once a worker has run it."""
        if isinstance(body, bytes):
            data = body
            kind = "application/octet-stream"
        else:
            data = msgspec.json.encode(body)
            kind = "application/json"
        path = f"/{service}/{quote(key, safe='')}/{handler}"
        answer = await self._ingress(path, data, kind)
        return msgspec.json.decode(answer) if answer else None

    async def send(self, service: str, key: str, handler: str, body: Any) -> Mapping[str, Any]:
        """Have a handler run as soon as a worker can; returns the invocation, and if it is new."""
        path = f"/{service}/{quote(key, safe='')}/{handler}/send"
        answer = await self._ingress(path, msgspec.json.encode(body), "application/json")
        return msgspec.json.decode(answer, type=dict[str, Any])

    async def attach(self, service: str, key: str) -> bool:
        """Wait for the end of a workflow, however it ends; False if there is none of that name."""
        url = f"{self._places.ingress}/restate/workflow/{service}/{quote(key, safe='')}/attach"
        while True:
            try:
                async with self._open().get(URL(url, encoded=True)) as answer:
                    await answer.read()
                    return answer.status != _NOT_FOUND
            except aiohttp.ClientError:
                # The server is being restarted: what it stores outlives that.
                await asyncio.sleep(_PAUSE)

    async def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows of an SQL query of the server's tables."""
        answer = await self._admin("POST", "/query", {"query": sql})
        return msgspec.json.decode(answer, type=dict[str, list[dict[str, Any]]])["rows"]

    async def register(self, services: Iterable[str]) -> None:
        """Tell the server where the workers are, and have it discover what they serve."""
        place = {"uri": self._places.reach}
        answer = await self._admin("POST", "/deployments", place)
        known = msgspec.json.decode(answer, type=_Deployment).services
        if not {each.name for each in known}.issuperset(services):
            # It knows this address from workers of an older version, and discovers again only if forced.
            await self._admin("POST", "/deployments", {**place, "force": True})

    async def manage(self, invocation: str, what: str) -> None:
        """Kill an invocation, or delete one that has ended. One that does not exist is no error."""
        # One that has ended by itself meanwhile need not be killed.
        good = (_NOT_FOUND, _CONFLICT) if what == "kill" else (_NOT_FOUND,)
        await self._admin("PATCH", f"/invocations/{invocation}/{what}", None, good=good)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise UsageError("this app is not open: async with app: ...")
        return self._session

    async def _ingress(self, path: str, data: bytes, kind: str) -> bytes:
        url = f"{self._places.ingress}{path}"
        status, answer = await self._request("POST", url, data, {"content-type": kind})
        if status == _NOT_FOUND:
            raise UsageError(
                f"the Restate server at {self._places.ingress} knows no worker of this app yet; "
                "start one, which tells the server where it is"
            )
        if status >= _BAD:
            raise TransportError(f"{url}: {status} {answer.decode()[:500]}")
        return answer

    async def _admin(self, method: str, path: str, body: Any, *, good: tuple[int, ...] = ()) -> bytes:
        url = f"{self._places.admin}{path}"
        data = b"" if body is None else msgspec.json.encode(body)
        headers = {"content-type": "application/json", "accept": "application/json"}
        status, answer = await self._request(method, url, data, headers)
        if status >= _BAD and status not in good:
            raise TransportError(f"{url}: {status} {answer.decode()[:500]}")
        return answer

    async def _request(
        self, method: str, url: str, data: bytes, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send a request; retry while the server does not answer. Every request may be repeated."""
        where = URL(url, encoded=True)
        lost = None
        try:
            async with asyncio.timeout(_PATIENCE if self._was_there else _FIRST):
                while True:
                    try:
                        async with self._open().request(
                            method, where, data=data, headers=headers
                        ) as answer:
                            self._was_there = True
                            return answer.status, await answer.read()
                    except aiohttp.ClientError as error:
                        lost = error
                        await asyncio.sleep(_PAUSE)
        except TimeoutError:
            said = "has no worker that answers"
            if lost:
                said = f"cannot be reached: {lost}"
            raise TransportTimeout(f"the Restate server at {url} {said}") from lost


def sql_literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
