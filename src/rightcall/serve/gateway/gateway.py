"""The gateway as an ASGI application: who is admitted, what is requested, and who answers."""

import asyncio
import time
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rightcall.core.message import Reply
from rightcall.core.parts import Usage
from rightcall.core.ports import AroundObserver, Journal, Observer
from rightcall.core.request import ListedModel
from rightcall.errors import RightcallError, UsageError, VendorError
from rightcall.log import gateway_logger
from rightcall.serve.gateway.attempts import (
    Attempts,
    UpstreamAnswer,
    estimate_usage,
    expected_usage,
    with_cost,
)
from rightcall.serve.gateway.exchange import JSON, LONG, GatewayExchange, KeepAlive, TokenHandles
from rightcall.serve.gateway.http_request import ClientLeft, HttpRequest, Receive, Scope, Send
from rightcall.serve.gateway.keys import Auth, GatewayKey, Keys
from rightcall.serve.gateway.recorder import Recorder
from rightcall.serve.gateway.request_target import (
    CHAT,
    GEMINI,
    Endpoint,
    Peeked,
    check_parts,
    dialect_at,
    find_endpoint,
    is_known,
    peek,
)
from rightcall.serve.gateway.settings import Settings
from rightcall.serve.gateway.spend import Allowances, Charge, ExpectedUsage, Spend, today
from rightcall.serve.gateway.upstreams import Open, Upstreams, open_model
from rightcall.serve.gateway.wrapped_models import LoadTools, Wrapping, no_tools
from rightcall.wire.dialects import load_server

if TYPE_CHECKING:
    from rightcall.serve.gateway.upstreams import ModelRoute


_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_HELP: Mapping[str, tuple[str, str]] = {
    "rightcall_requests_total": ("counter", "Requests that were answered, by outcome."),
    "rightcall_tokens_total": ("counter", "Tokens, by direction."),
    "rightcall_dollars_total": ("counter", "US dollars, where the price is known."),
    "rightcall_upstream_failures_total": ("counter", "Attempts at an upstream that failed, by kind."),
    "rightcall_cache_hits_total": ("counter", "Requests that were answered from the response cache."),
    "rightcall_left_out_total": ("counter", "Things that a translation could not express."),
    "rightcall_under_way": ("gauge", "Exchanges that go on now."),
    "rightcall_first_byte_seconds": ("histogram", "From the request to the first byte of the answer."),
    "rightcall_exchange_seconds": ("histogram", "From the request to the end of the answer."),
}


class Metrics:
    """Counters and histograms, written in Prometheus' text format.

    Names and labels are few and bounded: models and keys are those that the operator configured.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)
        self._series: dict[tuple[str, str], list[float]] = {}
        self.under_way = 0

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        """Add to a counter."""
        self._values[name, tuple(labels.items())] += amount

    def took(self, name: str, model: str, seconds: float) -> None:
        """Add a duration to a histogram."""
        series = self._series.get((name, model))
        if series is None:
            series = self._series[name, model] = [0.0] * (len(_BUCKETS) + 2)
        series[-1] += seconds
        series[bisect_left(_BUCKETS, seconds)] += 1

    def text(self) -> str:
        """All metrics, as a scraper reads them."""
        pieces = []
        for name, (kind, words) in _HELP.items():
            pieces.append(f"# HELP {name} {words}\n# TYPE {name} {kind}\n")
            if kind == "histogram":
                for (of, model), series in list(self._series.items()):
                    if of != name:
                        continue
                    so_far = 0.0
                    for at, most in enumerate((*_BUCKETS, "+Inf")):
                        so_far += series[at]
                        bucket = _labels((("model", model), ("le", str(most))))
                        pieces.append(f"{name}_bucket{bucket} {so_far:.17g}\n")
                    label = _labels((("model", model),))
                    pieces.append(f"{name}_sum{label} {series[-1]:.17g}\n")
                    pieces.append(f"{name}_count{label} {so_far:.17g}\n")
            elif kind == "gauge":
                pieces.append(f"{name} {self.under_way}\n")
            else:
                for (of, labels), value in self._values.items():
                    if of == name:
                        pieces.append(f"{name}{_labels(labels)} {value:.17g}\n")
        return "".join(pieces)


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    written = []
    for name, value in labels:
        escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        written.append(f'{name}="{escaped}"')
    return f"{{{','.join(written)}}}" if written else ""


_MOST_BYTES = 64 * 1024 * 1024
_LARGEST = 1024 * 1024
_ASKING = ("anthropic-version", "anthropic-beta", "openai-beta")
"""Headers that change the answer."""


class CachedAnswer(Struct, frozen=True, gc=False):
    """An answer as it was given."""

    data: bytes
    until: float


class ResponseCache:
    """Answers to identical deterministic requests, in memory; the oldest are evicted.

    A request is deterministic when its temperature is 0 or it has a seed. Keys share nothing: an
    immediate answer would reveal to one what another has asked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: OrderedDict[bytes, CachedAnswer] = OrderedDict()
        self._size = 0

    def get(self, exchange: GatewayExchange) -> bytes | None:
        """The cached answer to the same request."""
        name = _name(exchange)
        answer = self._answers.get(name)
        if answer is None:
            return None
        if answer.until < self._clock():
            self._forget(name)
            return None
        self._answers.move_to_end(name)
        return answer.data

    def put(self, exchange: GatewayExchange, data: bytes, seconds: float) -> None:
        """Cache an answer."""
        if len(data) > _LARGEST:
            return
        name = _name(exchange)
        self._forget(name)
        self._answers[name] = CachedAnswer(data, self._clock() + seconds)
        self._size += len(data)
        while self._size > _MOST_BYTES:
            self._forget(next(iter(self._answers)))

    def _forget(self, name: bytes) -> None:
        if (answer := self._answers.pop(name, None)) is not None:
            self._size -= len(answer.data)


def _name(exchange: GatewayExchange) -> bytes:
    http = exchange.http
    place = f"{exchange.key.id} {exchange.endpoint.dialect} {http.path} {sorted(http.query.items())}"
    place += str([http.headers.get(name) for name in _ASKING])
    return blake2b(place.encode() + b"\n" + exchange.body, digest_size=32).digest()


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
        open_: Open = open_model,
        load_tools: LoadTools = no_tools,
        journal: Journal | None = None,
        observers: Sequence[Observer | AroundObserver] = (),
    ) -> None:
        self._wrapping = partial(Wrapping, load_tools=load_tools, journal=journal, observers=observers)
        watching: list[Observer] = []
        around: list[AroundObserver] = []
        for observer in observers:
            if callable(observer):
                watching.append(observer)
            if isinstance(observer, AroundObserver):
                around.append(observer)
        self._recorder = Recorder(journal, watching) if journal is not None or watching else None
        """None if nobody wants to know of the exchanges."""
        self._cache = ResponseCache()
        self._handles = TokenHandles()
        self.metrics = Metrics()
        self.spend = Spend(settings.spend)
        self._allowances = Allowances(self.spend)
        self._upstreams = Upstreams(open_)
        self._attempts = Attempts(
            self.spend, self._allowances, self._wrapping(settings), self._note_failure, around
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
        auth = Auth(keys, settings)
        wrapping = self._wrapping(settings)
        left = self._upstreams.apply(settings)
        fixed = []
        for name in _FIXED:
            if getattr(settings, name) != getattr(self.settings, name):
                fixed.append(name)
        if fixed:
            gateway_logger.warning("%s: changed, and taken up by the next start", ", ".join(fixed))
        self.settings = settings
        self.auth = auth
        self._attempts.wrapping = wrapping
        # A name may stand for another model now, with other rules for its calls.
        self._cache = ResponseCache()
        for upstream in left:
            await upstream.retire()

    async def close(self) -> None:
        """Close the upstreams, and write the spend."""
        await self._upstreams.close()
        if self._recorder is not None:
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
            if "origin" in http.headers:
                http.always = self.auth.shared_with(http)
                if http.method == "OPTIONS" and http.always:
                    await http.answer(204, {}, b"")
                    return
            endpoint = find_endpoint(http.method, http.path, http.headers)
            if endpoint is None:
                await self._nothing_there(http)
                return
            try:
                if endpoint.action in ("health", "hello"):
                    await http.answer(200, JSON, b'{"status":"ok"}')
                    return
                key = self.auth.admit(http)
                if endpoint.action == "metrics":
                    await http.answer(200, _PLAIN, self.metrics.text().encode())
                elif endpoint.action in ("list", "model"):
                    await http.answer(200, JSON, self._encode_models(endpoint, key))
                else:
                    await self._handle_exchange(http, endpoint, key)
            except RightcallError as error:
                # Refused before an exchange began.
                dialect = endpoint.dialect
                refused = load_server(dialect).encode_error(error)
                gateway_logger.info("%s %s: %s", http.method, http.path, error)
                status = str(refused.status)
                self.metrics.add("rightcall_requests_total", model="", dialect=dialect, status=status)
                await http.answer(refused.status, {**JSON, **refused.headers}, refused.body)
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

    async def _nothing_there(self, http: HttpRequest) -> None:
        if http.path.endswith("/responses") and "upgrade" in http.headers:
            # Codex tries a websocket first, and switches to HTTP at once only for this answer.
            headers = {**JSON, "upgrade": "HTTP/1.1", "connection": "upgrade"}
            await http.answer(426, headers, b'{"error":{"message":"no websockets here; use HTTP"}}')
            return
        status = 404
        words = f"nothing is at {http.path}"
        if is_known(http.path, http.headers):
            status = 405
            words = f"{http.method} is not for {http.path}"
        dialect = dialect_at(http.path, http.headers)
        if dialect == CHAT:
            # No code: there is none for an address, and the usual one is for models.
            body: object = {"message": words, "type": "invalid_request_error", "code": None}
            await http.answer(status, JSON, msgspec.json.encode({"error": body}))
            return
        error = VendorError(words, kind="not_found", status=404)
        refused = load_server(dialect).encode_error(error)
        # Gemini's errors have the status in them.
        told = refused.body.replace(b'"code":404', b'"code":%d' % status, 1)
        await http.answer(status, {**JSON, **refused.headers}, told)

    def _encode_models(self, endpoint: Endpoint, key: GatewayKey) -> bytes:
        """The key's models, or the one that the address names, in the shape of the client's vendor."""
        if endpoint.action == "list":
            names = self._names(key)
        else:
            # Of a pattern, not all names can be listed.
            is_served = self._upstreams.route(endpoint.model) is not None
            if not is_served or not self.auth.can_ask(key, endpoint.model):
                words = f"no model {endpoint.model!r} is served here"
                raise VendorError(words, kind="not_found", status=404)
            names = [endpoint.model]
        listed = [ListedModel(name=name, created=_CREATED) for name in names]
        body = load_server(endpoint.dialect).encode_model_list(listed)
        if endpoint.action == "list":
            return body
        # A single model has the shape that it has in the list.
        member = "models" if endpoint.dialect == GEMINI else "data"
        return msgspec.json.encode(msgspec.json.decode(body)[member][0])

    def _names(self, key: GatewayKey) -> list[str]:
        """The names that a key may ask for, as far as they are known.

        Of a pattern, these are the names in the key's own list, and those that were asked for today.
        """
        names = dict.fromkeys(self.settings.names())
        if len(names) < len(self.settings.models):
            for name in (*key.allowed.models, *self.spend.models(today(time.time()))):
                if name not in names and self._upstreams.route(name) is not None:
                    names[name] = None
        return [name for name in names if self.auth.can_ask(key, name)]

    async def _handle_exchange(self, http: HttpRequest, endpoint: Endpoint, key: GatewayKey) -> None:
        bounds = self.settings.bounds
        if self.metrics.under_way > bounds.concurrency:
            raise _unavailable("the gateway is busy")
        try:
            body = await http.body(bounds.request_bytes, bounds.body_seconds, self._take)
            if len(body) > LONG:
                peeked = await asyncio.to_thread(self._peek, body, endpoint)
            else:
                peeked = self._peek(body, endpoint)
            exchange = GatewayExchange(http, endpoint, load_server(endpoint.dialect), key, body, peeked)
            exchange.most_depth = bounds.request_depth
            exchange.use_handles(self._handles, bounds)
            route = self._upstreams.route(peeked.model)
            if route is None or not self.auth.can_ask(key, peeked.model):
                if not peeked.model:
                    words = "model: the name of a model is missing"
                    raise VendorError(words, kind="bad_request", status=400)
                words = f"no model {peeked.model!r} is served here"
                if served := ", ".join(self._names(key)[:20]):
                    words = f"{words}; there is {served}"
                raise VendorError(words, kind="not_found", status=404)
            is_limited = key.id in self.auth.limited
            if is_limited or route.has_budget:
                usage = expected_usage(exchange, route)
                exchange.expected = ExpectedUsage(usage.tokens, usage.cost or 0.0)
            if not is_limited:
                await self._answer_exchange(exchange, route)
                return
            held = self._allowances.enter(key, exchange.expected)
            try:
                await self._answer_exchange(exchange, route)
            finally:
                self._allowances.leave(key, held)
        finally:
            self._held_bytes -= http.held

    def _peek(self, body: bytes, endpoint: Endpoint) -> Peeked:
        check_parts(body, self.settings.bounds.request_parts)
        return peek(body, model=endpoint.model, stream=endpoint.stream)

    def _take(self, size: int) -> None:
        """Count more bytes of requests as held: half a body is held as long as a whole one."""
        if self._held_bytes and self._held_bytes + size > self.settings.bounds.waiting_bytes:
            raise _unavailable("the gateway is busy")
        self._held_bytes += size

    async def _answer_exchange(self, exchange: GatewayExchange, route: "ModelRoute") -> None:
        http = exchange.http
        bounds = self.settings.bounds
        recorder = self._recorder
        http.watch()
        answered: UpstreamAnswer | None = None
        failed: RightcallError | None = None
        try:
            if recorder is not None:
                await recorder.note_start(exchange)
            async with asyncio.timeout(bounds.exchange_seconds):
                with KeepAlive(exchange, bounds):
                    can_cache = (
                        route.served.cache_seconds
                        and exchange.peeked.deterministic
                        and exchange.endpoint.action == "ask"
                    )
                    cached = None
                    if can_cache:
                        cached = self._cache.get(exchange)
                    if cached is not None:
                        self.metrics.add("rightcall_cache_hits_total", model=route.name)
                        await exchange.give_again(cached)
                    else:
                        if can_cache:
                            exchange.kept = []
                        answered = await self._attempts.answer(exchange, route, self.settings.trying)
                        reply = answered.reply
                        if exchange.kept and reply is not None and reply.stop != "error":
                            self._cache.put(
                                exchange, b"".join(exchange.kept), route.served.cache_seconds
                            )
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
            reply = None if answered is None else answered.reply
            charge = exchange.charge
            if charge is None or (reply is not None and reply.usage.tokens):
                self._count(exchange, route, reply)
            else:
                await self._count_estimate(exchange, route, reply, charge)
            if recorder is not None:
                if reply is None and http.left:
                    failed = RightcallError("the client left")
                await recorder.record_end(exchange, reply, failed, time.monotonic() - http.came)

    async def _count_estimate(
        self, exchange: GatewayExchange, route: "ModelRoute", reply: Reply | None, charge: Charge
    ) -> None:
        """Add an exchange whose usage nobody reported."""
        usage = charge.estimate()
        try:
            usage = await estimate_usage(exchange, reply)
        finally:
            # Even if it is cancelled once more.
            self._count(exchange, route, reply, usage)

    def _count(
        self,
        exchange: GatewayExchange,
        route: "ModelRoute",
        reply: Reply | None,
        estimate: Usage | None = None,
    ) -> None:
        """Add an exchange that is over to spend, metrics and log."""
        http = exchange.http
        metrics = self.metrics
        model = route.name
        dialect = exchange.endpoint.dialect
        status = "left" if http.left else str(http.status)
        metrics.add("rightcall_requests_total", model=model, dialect=dialect, status=status)
        seconds = time.monotonic() - http.came
        metrics.took("rightcall_exchange_seconds", model, seconds)
        if http.first_byte is not None:
            metrics.took("rightcall_first_byte_seconds", model, http.first_byte)
        charge = exchange.charge
        usage = estimate
        if usage is None and reply is not None:
            usage = reply.usage
        if charge is not None and usage is not None:
            usage = with_cost(exchange, reply, usage, charge.served)
            metrics.add("rightcall_tokens_total", usage.input_tokens, model=model, direction="input")
            metrics.add("rightcall_tokens_total", usage.output_tokens, model=model, direction="output")
            if usage.cost:
                metrics.add("rightcall_dollars_total", usage.cost, model=model)
            self.spend.settle(charge, usage, estimated=estimate is not None)
        if exchange.left_out:
            metrics.add("rightcall_left_out_total", len(exchange.left_out), model=model)
            left_out = ", ".join(exchange.left_out)
            gateway_logger.warning("request %s for %s: left out %s", exchange.id, model, left_out)
        facts = (exchange.id, dialect, model, exchange.key.name, status, seconds)
        gateway_logger.info("request %s: %s for %s by %s: %s in %.3f s", *facts)

    def _note_failure(self, place: str, error: RightcallError) -> None:
        kind = getattr(error, "kind", error.code)
        self.metrics.add("rightcall_upstream_failures_total", place=place, kind=kind)
        gateway_logger.warning("%s: %s", place, error)


def _unavailable(words: str) -> VendorError:
    return VendorError(words, kind="overloaded", status=503, retryable=True, retry_after=1.0)
