"""The places of a model tried in order, until one answers: passed through, or translated."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TypeAlias

from msgspec.structs import replace

from rightcall.core.events import ModelChange, ReplyEnd, RetryStart
from rightcall.core.message import Message, Reasoning, Reply, estimate_tokens
from rightcall.core.parts import Usage
from rightcall.core.ports import (
    CALLER,
    HEADERS,
    TRACE,
    AroundObserver,
    ExchangeEnd,
    Model,
    ModelExchange,
)
from rightcall.core.transport import SENDING
from rightcall.errors import RightcallError, TruncatedStream, UsageError, VendorError
from rightcall.log import gateway_logger
from rightcall.loop.observers import around
from rightcall.request.endpoint import body_of, close_stream, event_groups
from rightcall.request.wire_model import WireModel
from rightcall.serve.gateway.exchange import BYTES_PER_TOKEN, LONG, GatewayExchange, ResponseItems
from rightcall.serve.gateway.passthrough import outgoing, pass_through
from rightcall.serve.gateway.request_target import GEMINI, RESPONSES
from rightcall.serve.gateway.settings import Served, Trying
from rightcall.serve.gateway.spend import Allowances, ExpectedUsage, Spend, today
from rightcall.serve.gateway.upstreams import (
    ModelRoute,
    Upstream,
    UpstreamCandidate,
    dialect_of,
    is_its_fault,
    least_wait,
    order_candidates,
)
from rightcall.serve.gateway.wrapped_models import AgentModel, Wrapping
from rightcall.wire.relay_tokens import holds_tokens
from rightcall.wire.translation_losses import UNSUPPORTED_SETTINGS, fit, lost_members

OnFailure: TypeAlias = Callable[[str, RightcallError], None]
"""Called with each attempt that failed: its place, and the error."""


_OK = 200
_LATE = 0.005
"""Seconds: timers may fire a millisecond early, and a place that still has to rest is not asked."""


class UpstreamAnswer:
    """An answer that was given: by which place, and the reply, as far as it is known."""

    __slots__ = ("reply", "route", "upstream")

    def __init__(self, route: ModelRoute, upstream: Upstream, reply: Reply | None) -> None:
        self.route = route
        self.upstream = upstream
        self.reply = reply


class Attempts:
    """Tries places for one gateway."""

    def __init__(
        self,
        spend: Spend,
        allowances: Allowances,
        wrapping: Wrapping,
        failed: OnFailure,
        observers: Sequence[AroundObserver] = (),
    ) -> None:
        self.wrapping = wrapping
        self._around = observers
        self._spend = spend
        self._allowances = allowances
        self._failed = failed
        self._items = ResponseItems()

    async def answer(
        self, exchange: GatewayExchange, route: ModelRoute, trying: Trying
    ) -> UpstreamAnswer:
        """Answer from the first place that can. Raises the last error if none could."""
        headers = exchange.http.headers
        if TRACE[0] not in headers:
            return await self._answer(exchange, route, trying)
        trace = {}
        for name in TRACE:
            if name in headers:
                trace[name] = headers[name]
        # For an observer that traces here, or otherwise for the upstream.
        caller = CALLER.set(trace)
        sent = HEADERS.set(lambda _: trace)
        try:
            return await self._answer(exchange, route, trying)
        finally:
            CALLER.reset(caller)
            HEADERS.reset(sent)

    async def _answer(
        self, exchange: GatewayExchange, route: ModelRoute, trying: Trying
    ) -> UpstreamAnswer:
        beginning = exchange.key.id.encode() + exchange.peeked.beginning
        last: RightcallError | None = None
        for tried in range(1, trying.rounds + 1):
            course: Sequence[ModelRoute] = route.course
            if route.course_has_budget and exchange.endpoint.action != "count":
                course = self._affordable_routes(course)
            for of, candidate in self._places(course, exchange.peeked.model, beginning):
                held: ExpectedUsage | None = None
                if of.has_budget:
                    held = self._allowances.hold(of.name, exchange.expected, of.owns)
                candidate.target.enter()
                try:
                    return await self._ask_candidate(exchange, of, candidate)
                except RightcallError as error:
                    self._close_charge(exchange, of, error)
                    candidate.health.note_failure(error)
                    self._failed(candidate.target.name, error)
                    if not is_its_fault(error):
                        raise
                    last = error
                finally:
                    if held is not None:
                        self._allowances.let_go(of.name, held)
                    await candidate.target.leave()
            # Seconds before the next round: the shortest time that a place asked for.
            candidates: list[UpstreamCandidate[Upstream]] = []
            for of in course:
                candidates += of.places_for(exchange.peeked.model)
            refused = least_wait(candidates)
            wait = refused or min((each.health.rest for each in candidates), default=0.0)
            if (
                tried == trying.rounds
                or wait > trying.longest_wait
                or (isinstance(last, VendorError) and last.kind in ("auth", "quota"))
            ):
                raise last or VendorError(
                    "every place of this model asked to be left alone for a while",
                    kind="rate_limit",
                    status=429,
                    retryable=True,
                    retry_after=round(max(wait, 1.0), 1),
                )
            await asyncio.sleep(wait + _LATE)
        raise AssertionError("there is at least one round")

    def _affordable_routes(self, course: Sequence[ModelRoute]) -> Sequence[ModelRoute]:
        """The routes with something left of their daily limits; raises a refusal if there is none."""
        willing = []
        first: VendorError | None = None
        for of in course:
            refusal = self._allowances.refusal(of.name, of.served, of.owns)
            if refusal is None:
                willing.append(of)
            else:
                first = first or refusal
        if not willing and first is not None:
            raise first
        return willing

    def _places(
        self, course: Sequence[ModelRoute], asked: str, beginning: bytes
    ) -> Iterator[tuple[ModelRoute, UpstreamCandidate[Upstream]]]:
        for of in course:
            for candidate in order_candidates(of.places_for(asked), beginning):
                yield of, candidate

    async def _ask_candidate(
        self, exchange: GatewayExchange, route: ModelRoute, candidate: UpstreamCandidate[Upstream]
    ) -> UpstreamAnswer:
        upstream = candidate.target
        try:
            model = upstream.model(exchange.peeked.model)
        except UsageError as error:
            gateway_logger.warning("%s cannot be asked: %s", upstream.name, error)
            words = (
                f"the gateway cannot ask {exchange.peeked.model!r}; its operator finds why in the log"
            )
            raise VendorError(words, kind="server", status=500, retryable=True) from error
        exchange.begin(model)
        reply: Reply | None = None
        if exchange.endpoint.action == "count":
            await _count(exchange, model)
        else:
            # From here on it may cost something, whether or not the client waits for the answer.
            charge = partial(self._open_charge, exchange, route)
            # An agent's runs have observers of their own.
            ask = self._ask_watched if self._around and not route.is_agent else self._ask_model
            if isinstance(model, WireModel) and model.tells_sending:
                noted = SENDING.set(charge)
                try:
                    reply = await ask(exchange, route, model)
                finally:
                    SENDING.reset(noted)
            else:
                if not isinstance(model, WireModel):
                    await exchange.prepare()
                charge()
                reply = await ask(exchange, route, model)
        candidate.health.note_success()
        return UpstreamAnswer(route, upstream, reply)

    async def _ask_watched(
        self, exchange: GatewayExchange, route: ModelRoute, model: Model
    ) -> Reply | None:
        """Ask with observers around it."""
        begun = monotonic()
        request = (await exchange.prepare()).request
        with around(self._around, ModelExchange, "", model, request) as watched:
            reply = await self._ask_model(exchange, route, model)
            if reply is not None:
                first = exchange.http.first_byte
                waited = None
                if first is not None:
                    waited = max(exchange.http.came + first - begun, 0.0)
                watched.set_end(ExchangeEnd(reply, waited))
            return reply

    def _open_charge(self, exchange: GatewayExchange, route: ModelRoute) -> None:
        """Note that a request is sent; an agent sends several."""
        if exchange.charge is None:
            day = today(time.time())
            estimate = partial(expected_usage, exchange, route)
            key = exchange.key.name
            name = route.name
            if route.owns is not None and route.owns(exchange.peeked.model):
                name = self._spend.name_of(day, exchange.peeked.model, name)
            exchange.charge = self._spend.open(day, key, name, route.served, estimate)

    def _close_charge(self, exchange: GatewayExchange, route: ModelRoute, error: RightcallError) -> None:
        """Count an attempt that failed after it was sent, unless it was refused."""
        charge = exchange.charge
        exchange.charge = None
        if charge is None:
            return
        # An agent that stopped has asked its model before, and names no provider.
        is_refusal = isinstance(error, VendorError) and (error.provider or not route.is_agent)
        if is_refusal or isinstance(error, UsageError):
            self._spend.cancel(charge)
        else:
            self._spend.settle(charge, charge.estimate(), estimated=True)

    async def _ask_model(
        self, exchange: GatewayExchange, route: ModelRoute, model: Model
    ) -> Reply | None:
        """Pass the request on, or translate it."""
        if isinstance(model, WireModel) and await _is_passed(exchange, route, model):
            return await pass_through(exchange, model)
        if exchange.endpoint.dialect == RESPONSES:
            exchange.remember_items(self._items)
        dialect = dialect_of(model)
        if isinstance(model, WireModel) and not exchange.peeked.stream and not route.is_agent:
            model = model.whole()
        if route.is_wrapped:
            model = self.wrapping.wrap_model(route.served, model)
        return await ask_translated(exchange, model, dialect)


_MILLION = 1_000_000
_SAID = 500
"""Tokens that a reply is assumed to have before anything is known of it."""


def expected_usage(exchange: GatewayExchange, route: ModelRoute) -> Usage:
    """What a request is expected to use, estimated from its length."""
    usage = Usage(input_tokens=len(exchange.body) // BYTES_PER_TOKEN, output_tokens=_SAID)
    model = exchange.model or route.find_open_model(exchange.peeked.model)
    return replace(usage, cost=_cost(usage, {}, route.served, model))


async def estimate_usage(exchange: GatewayExchange, reply: Reply | None) -> Usage:
    """The usage of an exchange that reported none.

    A Chat stream does not unless asked to, nor does an answer that broke off, or that the client left.
    """
    if exchange.has_given:
        output = max(exchange.heard_tokens, 0 if reply is None else estimate_tokens(reply))
    else:
        output = _SAID
    return Usage(input_tokens=await exchange.estimate_input(), output_tokens=output)


def with_cost(exchange: GatewayExchange, reply: Reply | None, usage: Usage, served: Served) -> Usage:
    """A usage with its cost, if the price is known."""
    if usage.cost is not None:
        return usage
    elsewhere = {} if reply is None else reply.elsewhere
    return replace(usage, cost=_cost(usage, elsewhere, served, exchange.model))


def _cost(
    usage: Usage, elsewhere: Mapping[str, Usage], served: Served, model: Model | None
) -> float | None:
    if served.input_price is not None or served.output_price is not None:
        input_cost = usage.input_tokens * (served.input_price or 0.0)
        output_cost = usage.output_tokens * (served.output_price or 0.0)
        return (input_cost + output_cost) / _MILLION
    if isinstance(model, WireModel):
        return model.cost_of(usage, elsewhere)
    return None


async def _is_passed(exchange: GatewayExchange, route: ModelRoute, model: WireModel) -> bool:
    """Whether the client uses the upstream's dialect, and nothing has to be checked in between."""
    endpoint = exchange.endpoint
    peeked = exchange.peeked
    if not route.served.exact or route.is_wrapped or model.dialect.name != endpoint.dialect:
        return False
    if len(exchange.body) > LONG:
        has_tokens = await asyncio.to_thread(holds_tokens, exchange.body)
    else:
        has_tokens = holds_tokens(exchange.body)
    if has_tokens:
        # An earlier turn was translated: the tokens it carries for another vendor are invalid here.
        return False
    # Gemini streams an array unless it is asked for events, as our own requests always do.
    return endpoint.dialect != GEMINI or not peeked.stream or exchange.http.query.get("alt") == "sse"


async def ask_translated(exchange: GatewayExchange, model: Model, dialect: str = "") -> Reply:
    """Ask a model with a client's request, through core's values, and send its events as they come."""
    asked = await exchange.prepare()
    request = asked.request
    exchange.note_left_out(asked.left_out)
    if isinstance(model, AgentModel) and request.specs:
        exchange.note_left_out(("tools: the gateway runs its own",))
    if dialect != exchange.endpoint.dialect:
        exchange.note_left_out(tuple(lost_members(request.messages, exchange.endpoint.dialect, dialect)))
    if dialect in UNSUPPORTED_SETTINGS and dialect != exchange.endpoint.dialect:
        fitted = fit(request, dialect)
        exchange.note_left_out(fitted.left_out)
        request = fitted.request
        if _has_foreign_reasoning(request.messages, dialect):
            exchange.note_left_out(("thoughts that another vendor's model wrote",))
    stream = model.stream(request)
    streams = exchange.peeked.stream
    try:
        async for batch in event_groups(stream):
            events = []
            for each in batch:
                if not isinstance(each, RetryStart | ModelChange):
                    events.append(each)
            if not events:
                continue
            if streams:
                await exchange.give_events(events)
            if isinstance(end := events[-1], ReplyEnd):
                if not streams:
                    await exchange.give_reply(end.reply)
                return end.reply
    except RightcallError as error:
        if not exchange.has_given:
            raise
        await exchange.break_off(error)
        return replace(_BROKEN, stop_word=str(error))
    finally:
        await close_stream(stream)
    raise TruncatedStream("the reply has no end")


def _has_foreign_reasoning(messages: Sequence[Message], dialect: str) -> bool:
    for message in messages:
        if isinstance(message, Reply):
            for part in message.content:
                if isinstance(part, Reasoning) and dialect not in part.vendor:
                    return True
    return False


_BROKEN = Reply((), "error")


async def _count(exchange: GatewayExchange, model: Model) -> None:
    """Answer with the number of a request's tokens: the vendor's count, or an estimate."""
    if isinstance(model, WireModel) and model.dialect.name == exchange.endpoint.dialect:
        # Many compatible hosts do not count.
        sent = outgoing(exchange, model)
        path, sign, rest = sent.path.partition("?")
        if exchange.endpoint.dialect == GEMINI:
            path = f"{path.rpartition(':')[0]}:countTokens"
        else:
            path = f"{path}/count_tokens"
        try:
            async with model.forward(replace(sent, path=path + sign + rest)) as incoming:
                body = await body_of(incoming)
        except RightcallError as error:
            gateway_logger.info("tokens are estimated, as the vendor does not count them: %s", error)
        else:
            if incoming.status == _OK:
                await exchange.give_whole(body, {}, _OK)
                return
    await exchange.give_count()
