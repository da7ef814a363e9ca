"""The gateway as an ASGI application: who is admitted, what is requested, and who answers."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from rightcall.core.ports import AroundObserver, Journal, Observer, ServerDialect
from rightcall.core.served import Listed
from rightcall.errors import RightcallError, UsageError, VendorError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.allowance import Allowances, today
from rightcall.serve.gateway.attempts import Answered, Attempts
from rightcall.serve.gateway.auth import Auth
from rightcall.serve.gateway.cache import Cache
from rightcall.serve.gateway.endpoints import GEMINI, Endpoint, found, is_known
from rightcall.serve.gateway.exchange import JSON, Exchange
from rightcall.serve.gateway.http_request import ClientLeft, HttpRequest, Receive, Scope, Send
from rightcall.serve.gateway.keep_alive import KeepAlive
from rightcall.serve.gateway.keys import Key, Keys
from rightcall.serve.gateway.metrics import Metrics
from rightcall.serve.gateway.peek import peek
from rightcall.serve.gateway.recording import Recorder
from rightcall.serve.gateway.settings import Settings
from rightcall.serve.gateway.spend import Spend
from rightcall.serve.gateway.upstreams import Open, Upstreams, opened
from rightcall.serve.gateway.usage import expected_of, usage_of
from rightcall.serve.gateway.wrapping import LoadTools, Wrapping, no_tools
from rightcall.wire.dialects import load_server

if TYPE_CHECKING:
    from rightcall.serve.gateway.upstreams import Route

_FIXED = ("listen", "spend", "journal", "keys")
"""Settings that take effect only at the start of a gateway."""
_CREATED = 1_700_000_000
"""When a model was made, for clients that want to be told."""
_PLAIN = {"content-type": "text/plain; charset=utf-8"}


class Gateway:
    """Serves models to clients. It is an ASGI application; ``apply`` changes what it serves."""

    def __init__(
        self,
        settings: Settings,
        keys: Keys | None = None,
        *,
        open_: Open = opened,
        load_tools: LoadTools = no_tools,
        journal: Journal | None = None,
        observers: Sequence[Observer | AroundObserver] = (),
    ) -> None:
        self._wrapping = partial(Wrapping, load_tools=load_tools, journal=journal, observers=observers)
        self._recorder = Recorder(journal, [each for each in observers if callable(each)])
        self._cache = Cache()
        self.metrics = Metrics()
        self.spend = Spend(settings.spend)
        self._allowances = Allowances(self.spend)
        self._upstreams = Upstreams(open_)
        around = [each for each in observers if isinstance(each, AroundObserver)]
        self._attempts = Attempts(
            self._upstreams, self._allowances, self._wrapping(settings), self._failed, around
        )
        self._held_bytes = 0
        self.settings = settings
        self.auth = Auth(keys or Keys(), settings)
        self._upstreams.apply(settings)

    async def apply(self, settings: Settings, keys: Keys) -> None:
        """Switch to other settings and keys; requests under way go on as they began.

        Raises UsageError if they cannot be used, and then changes nothing.
        """
        if not (keys.all or self.auth.is_open):
            raise UsageError("the file of keys is gone or empty; start anew to serve without keys")
        auth, wrapping = Auth(keys, settings), self._wrapping(settings)
        left = self._upstreams.apply(settings)
        fixed = [name for name in _FIXED if getattr(settings, name) != getattr(self.settings, name)]
        if fixed:
            gateway_logger.warning("%s: changed, and taken up by the next start", ", ".join(fixed))
        self.settings, self.auth, self._attempts.wrapping = settings, auth, wrapping
        # A name may stand for another model now, with other rules for its calls.
        self._cache = Cache()
        for upstream in left:
            await upstream.retire()

    async def close(self) -> None:
        """Close the upstreams, and write the spend."""
        await self._upstreams.close()
        await asyncio.to_thread(self._recorder.close)
        await asyncio.to_thread(self.spend.flush, today(time.time()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            # There are no websockets here, and the gateway's owner opens and closes it.
            raise RuntimeError(f"the gateway answers HTTP, and not {scope['type']}")
        http = HttpRequest(scope, receive, send)
        self.metrics.under_way += 1
        try:
            await self._received(http)
        except ClientLeft:
            pass
        except asyncio.CancelledError:
            # Cancelled after the answer was complete, or because the client has left: no error.
            if not (http.left or http.over):
                raise
        except Exception:
            # A bug of ours: the client learns only that there was one.
            gateway_logger.exception("%s %s failed", http.method, http.path)
            if http.begun:
                http.drop()
            else:
                await http.answer(500, JSON, b'{"error":{"message":"the gateway failed"}}')
        finally:
            self.metrics.under_way -= 1
            await http.close()

    async def _received(self, http: HttpRequest) -> None:
        if "origin" in http.headers:
            http.always = self.auth.shared_with(http)
            if http.method == "OPTIONS" and http.always:
                await http.answer(204, {}, b"")
                return
        endpoint = found(http.method, http.path, http.headers)
        if endpoint is None:
            await self._nothing_there(http)
            return
        try:
            if endpoint.action in ("health", "hello"):
                await http.answer(200, JSON, b'{"status":"ok"}')
                return
            key = self.auth.admitted(http)
            if endpoint.action == "metrics":
                await http.answer(200, _PLAIN, self.metrics.text().encode())
            elif endpoint.action in ("list", "model"):
                await self._list(http, endpoint, key)
            else:
                await self._exchanged(http, endpoint, key)
        except RightcallError as error:
            await self._refuse(http, endpoint, error)

    async def _nothing_there(self, http: HttpRequest) -> None:
        if http.path.endswith("/responses") and "upgrade" in http.headers:
            # Codex tries a websocket first, and switches to HTTP at once only for this answer.
            headers = {**JSON, "upgrade": "HTTP/1.1", "connection": "upgrade"}
            await http.answer(426, headers, b'{"error":{"message":"no websockets here; use HTTP"}}')
            return
        known = is_known(http.path, http.headers)
        words = f"{http.method} is not for {http.path}" if known else f"nothing is at {http.path}"
        body = {"error": {"message": words, "type": "invalid_request_error", "code": None}}
        await http.answer(405 if known else 404, JSON, msgspec.json.encode(body))

    async def _refuse(self, http: HttpRequest, endpoint: Endpoint, error: RightcallError) -> None:
        """Refuse a request that was not parsed."""
        refused = load_server(endpoint.dialect).refused(error)
        gateway_logger.info("%s %s: %s", http.method, http.path, error)
        self.metrics.add(
            "rightcall_requests_total", model="", dialect=endpoint.dialect, status=str(refused.status)
        )
        await http.answer(refused.status, {**JSON, **refused.headers}, refused.body)

    async def _list(self, http: HttpRequest, endpoint: Endpoint, key: Key) -> None:
        body = _listed(load_server(endpoint.dialect), endpoint, self._names(key))
        await http.answer(200, JSON, body)

    def _names(self, key: Key) -> list[str]:
        return [name for name in self.settings.names() if self.auth.may(key, name)]

    async def _exchanged(self, http: HttpRequest, endpoint: Endpoint, key: Key) -> None:
        bounds = self.settings.bounds
        if self.metrics.under_way > bounds.concurrency:
            raise _unavailable("the gateway is busy")
        try:
            body = await http.body(bounds.request_bytes, bounds.body_seconds, self._take)
            peeked = peek(body, model=endpoint.model, stream=endpoint.stream)
            exchange = Exchange(http, endpoint, load_server(endpoint.dialect), key, body, peeked)
            route = self._upstreams.route(peeked.model)
            if route is None or not self.auth.may(key, peeked.model):
                raise _unknown(peeked.model, self._names(key))
            if key.allowed.has_budget or route.served.has_budget:
                exchange.expected = expected_of(body, route.served, route.known(peeked.model))
            held = self._allowances.enter(key, exchange.expected)
            try:
                await self._answered(exchange, route)
            finally:
                self._allowances.leave(key, held)
        finally:
            self._held_bytes -= http.held

    def _take(self, size: int) -> None:
        """Count more bytes of requests as held: half a body is held as long as a whole one."""
        if self._held_bytes and self._held_bytes + size > self.settings.bounds.waiting_bytes:
            raise _unavailable("the gateway is busy")
        self._held_bytes += size

    async def _answered(self, exchange: Exchange, route: "Route") -> None:
        http, bounds, recorder = exchange.http, self.settings.bounds, self._recorder
        http.watch()
        if recorder.is_wanted:
            recorder.began(exchange)
        answered: Answered | None = None
        failed: RightcallError | None = None
        try:
            async with asyncio.timeout(bounds.exchange_seconds):
                with KeepAlive(exchange, bounds):
                    answered = await self._asked(exchange, route)
        except TimeoutError:
            words = f"the exchange took longer than {bounds.exchange_seconds:g} s"
            failed = VendorError(words, kind="timeout", status=504)
            await exchange.refuse(failed)
        except RightcallError as error:
            failed = error
            await exchange.refuse(error)
        except asyncio.CancelledError:
            if not http.left:
                await exchange.refuse(_unavailable("the gateway is ending"))
            raise
        finally:
            self._count(exchange, route, answered)
            if recorder.is_wanted:
                reply = None if answered is None else answered.reply
                if reply is None and http.left:
                    failed = RightcallError("the client left")
                await recorder.ended(exchange, reply, failed, time.monotonic() - http.came)

    async def _asked(self, exchange: Exchange, route: "Route") -> Answered | None:
        """Ask the model, unless the same request is in the cache."""
        seconds = route.served.cache_seconds if exchange.endpoint.action == "ask" else 0.0
        if not seconds or not exchange.peeked.deterministic:
            return await self._attempts.answer(exchange, route, self.settings.trying)
        if (known := self._cache.get(exchange)) is not None:
            self.metrics.add("rightcall_cache_hits_total", model=route.name)
            await exchange.give_again(known)
            return None
        exchange.kept = []
        answered = await self._attempts.answer(exchange, route, self.settings.trying)
        if exchange.kept and answered.reply is not None and answered.reply.stop != "error":
            self._cache.put(exchange, b"".join(exchange.kept), seconds)
        return answered

    def _count(self, exchange: Exchange, route: "Route", answered: Answered | None) -> None:
        """Add an exchange that is over to spend, metrics and log."""
        http, metrics = exchange.http, self.metrics
        model, status = route.name, "left" if http.left else str(http.status)
        metrics.add(
            "rightcall_requests_total", model=model, dialect=exchange.endpoint.dialect, status=status
        )
        seconds = time.monotonic() - http.came
        metrics.took("rightcall_exchange_seconds", model, seconds)
        if http.first_byte is not None:
            metrics.took("rightcall_first_byte_seconds", model, http.first_byte)
        reply = None if answered is None else answered.reply
        if exchange.endpoint.action == "ask" and exchange.has_given and not exchange.is_repeated:
            of = route if answered is None else answered.route
            usage, estimated = usage_of(exchange, reply, of.served)
            metrics.add("rightcall_tokens_total", usage.input_tokens, model=model, direction="input")
            metrics.add("rightcall_tokens_total", usage.output_tokens, model=model, direction="output")
            if usage.cost:
                metrics.add("rightcall_dollars_total", usage.cost, model=model)
            day = today(time.time())
            self.spend.count(day, exchange.key.name, of.name, usage, estimated=estimated)
        if exchange.left_out:
            metrics.add("rightcall_left_out_total", len(exchange.left_out), model=model)
            gateway_logger.warning(
                "request %s for %s: left out %s", exchange.id, model, ", ".join(exchange.left_out)
            )
        gateway_logger.info(
            "request %s: %s for %s by %s: %s in %.3f s",
            *(exchange.id, exchange.endpoint.dialect, model, exchange.key.name, status, seconds),
        )

    def _failed(self, place: str, error: RightcallError) -> None:
        kind = getattr(error, "kind", error.code)
        self.metrics.add("rightcall_upstream_failures_total", place=place, kind=kind)
        gateway_logger.warning("%s: %s", place, error)


def _unavailable(words: str) -> VendorError:
    return VendorError(words, kind="overloaded", status=503, retryable=True, retry_after=1.0)


def _unknown(model: str, names: Sequence[str]) -> VendorError:
    if not model:
        return VendorError("model: the name of a model is missing", kind="bad_request", status=400)
    served = ", ".join(names[:20])
    words = f"no model {model!r} is served here" + (f"; there is {served}" if served else "")
    return VendorError(words, kind="not_found", status=404)


def _listed(server: ServerDialect, endpoint: Endpoint, names: Sequence[str]) -> bytes:
    """These models, or the one that the address names, in the shape of the client's vendor."""
    if endpoint.action == "list":
        return server.listed([_told(name) for name in names])
    if endpoint.model not in names:
        raise VendorError(f"no model {endpoint.model!r} is served here", kind="not_found", status=404)
    # A single model has the shape that it has in the list.
    whole = msgspec.json.decode(server.listed([_told(endpoint.model)]))
    return msgspec.json.encode(whole["models" if endpoint.dialect == GEMINI else "data"][0])


def _told(name: str) -> Listed:
    return Listed(name=name, created=_CREATED)
