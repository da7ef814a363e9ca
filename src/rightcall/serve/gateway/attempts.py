"""The places of a model tried in order, until one answers: passed through, or translated."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TypeAlias

from msgspec.structs import replace

from rightcall.core.around import CALLER, HEADERS, TRACE, ExchangeEnd, ModelExchange
from rightcall.core.events import ModelChange, ReplyEnd, RetryStart
from rightcall.core.message import Message, Reasoning, Reply
from rightcall.core.ports import AroundObserver, Model
from rightcall.errors import RightcallError, TruncatedStream, UsageError, VendorError
from rightcall.log import gateway_logger
from rightcall.loop.around import around
from rightcall.request.batches import close_stream, together
from rightcall.request.whole import body_of
from rightcall.request.wire_model import WireModel
from rightcall.serve.gateway.agent_model import AgentModel
from rightcall.serve.gateway.allowance import Allowances
from rightcall.serve.gateway.endpoints import GEMINI
from rightcall.serve.gateway.exchange import Exchange
from rightcall.serve.gateway.passthrough import outgoing, passed
from rightcall.serve.gateway.response_items import ResponseItems
from rightcall.serve.gateway.routing import Candidate, is_its_fault, least_wait, ordered
from rightcall.serve.gateway.settings import Served, Trying
from rightcall.serve.gateway.upstreams import Route, Upstream, Upstreams, dialect_of
from rightcall.serve.gateway.wrapping import Wrapping
from rightcall.wire.carried import holds_tokens
from rightcall.wire.untranslated import UNTOLD, fit

Failed: TypeAlias = Callable[[str, RightcallError], None]
"""Called with each attempt that failed: its place, and the error."""


_OK = 200
_LATE = 0.005
"""Seconds: timers may fire a millisecond early, and a place that still has to rest is not asked."""


class Answered:
    """An answer that was given: by which place, and the reply, as far as it is known."""

    __slots__ = ("reply", "route", "upstream")

    def __init__(self, route: Route, upstream: Upstream, reply: Reply | None) -> None:
        self.route = route
        self.upstream = upstream
        self.reply = reply


class Attempts:
    """Tries places for one gateway."""

    def __init__(
        self,
        upstreams: Upstreams,
        allowances: Allowances,
        wrapping: Wrapping,
        failed: Failed,
        observers: Sequence[AroundObserver] = (),
    ) -> None:
        self.wrapping = wrapping
        self._around = observers
        self._upstreams = upstreams
        self._allowances = allowances
        self._failed = failed
        self._items = ResponseItems()

    async def answer(self, exchange: Exchange, route: Route, trying: Trying) -> Answered:
        """Answer from the first place that can. Raises the last error if none could."""
        headers = exchange.http.headers
        if TRACE[0] not in headers:
            return await self._answer(exchange, route, trying)
        trace = {name: headers[name] for name in TRACE if name in headers}
        # For an observer that traces here, or otherwise for the upstream.
        caller, sent = CALLER.set(trace), HEADERS.set(lambda _: trace)
        try:
            return await self._answer(exchange, route, trying)
        finally:
            CALLER.reset(caller)
            HEADERS.reset(sent)

    async def _answer(self, exchange: Exchange, route: Route, trying: Trying) -> Answered:
        beginning = exchange.key.id.encode() + exchange.peeked.beginning
        last: RightcallError | None = None
        for tried in range(1, trying.rounds + 1):
            course = self._course(route, exchange)
            for of, candidate in self._places(course, exchange.peeked.model, beginning):
                held = self._allowances.hold(of.name, of.served, exchange.expected)
                candidate.target.enter()
                try:
                    return await self._at(exchange, of, candidate)
                except RightcallError as error:
                    candidate.health.failed(error)
                    self._failed(candidate.target.name, error)
                    if not is_its_fault(error):
                        raise
                    last = error
                finally:
                    self._allowances.let_go(of.name, held)
                    await candidate.target.leave()
            wait = self._wait(course, exchange.peeked.model)
            if tried == trying.rounds or wait > trying.longest_wait or _is_locked(last):
                raise last or _all_rest(wait)
            await asyncio.sleep(wait + _LATE)
        raise AssertionError("there is at least one round")

    def _course(self, route: Route, exchange: Exchange) -> list[Route]:
        """The route, and those it falls back on, without those whose daily limit is used up."""
        every = list(self._upstreams.course(route))
        if exchange.endpoint.action == "count":
            return every
        refusals = [self._allowances.refusal(of.name, of.served) for of in every]
        course = [of for of, refusal in zip(every, refusals, strict=True) if refusal is None]
        if not course and refusals[0] is not None:
            raise refusals[0]
        return course

    def _places(
        self, course: Sequence[Route], asked: str, beginning: bytes
    ) -> Iterator[tuple[Route, Candidate[Upstream]]]:
        for of in course:
            for candidate in ordered(of.places_for(asked), beginning):
                yield of, candidate

    def _wait(self, course: Sequence[Route], asked: str) -> float:
        """Seconds before the next round: the shortest time that a place asked for."""
        candidates = [each for of in course for each in of.places_for(asked)]
        refused = least_wait(candidates)
        return refused or min((each.health.rest for each in candidates), default=0.0)

    async def _at(self, exchange: Exchange, route: Route, candidate: Candidate[Upstream]) -> Answered:
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
        elif self._around and not route.served.is_agent:
            reply = await self._watched(exchange, route, model)
        else:
            reply = await self._asked(exchange, route, model)
        candidate.health.worked()
        return Answered(route, upstream, reply)

    async def _watched(self, exchange: Exchange, route: Route, model: Model) -> Reply | None:
        """Ask with observers around it. An agent's runs have observers of their own."""
        begun, request = monotonic(), exchange.asked.request
        with around(self._around, ModelExchange, "", model, request) as watched:
            reply = await self._asked(exchange, route, model)
            if reply is not None:
                first = exchange.http.first_byte
                waited = None if first is None else max(exchange.http.came + first - begun, 0.0)
                watched.ended(ExchangeEnd(reply, waited))
        return reply

    async def _asked(self, exchange: Exchange, route: Route, model: Model) -> Reply | None:
        """Pass the request on, or translate it."""
        if isinstance(model, WireModel) and _is_passed(exchange, route.served, model):
            return await passed(exchange, model)
        exchange.remember_items(self._items)
        if isinstance(model, WireModel) and not exchange.peeked.stream and not route.served.is_agent:
            model = model.whole()
        wrapped = self.wrapping.wrapped(route.served, model)
        return await translated(exchange, wrapped, dialect_of(model))


def _is_passed(exchange: Exchange, served: Served, model: WireModel) -> bool:
    """Whether the client uses the upstream's dialect, and nothing has to be checked in between."""
    endpoint, peeked = exchange.endpoint, exchange.peeked
    if not served.exact or served.rules or served.is_agent or dialect_of(model) != endpoint.dialect:
        return False
    if holds_tokens(exchange.body):
        # An earlier turn was translated: the tokens it carries for another vendor are invalid here.
        return False
    # Gemini streams an array unless it is asked for events, as our own requests always do.
    return endpoint.dialect != GEMINI or not peeked.stream or exchange.http.query.get("alt") == "sse"


async def translated(exchange: Exchange, model: Model, dialect: str = "") -> Reply:
    """Ask a model with a client's request, through core's values, and send its events as they come."""
    asked = exchange.asked
    request = asked.request
    exchange.note_left_out(asked.left_out)
    if isinstance(model, AgentModel) and request.specs:
        exchange.note_left_out(("tools: the gateway runs its own",))
    if dialect in UNTOLD and dialect != exchange.endpoint.dialect:
        fitted = fit(request, dialect)
        exchange.note_left_out(fitted.left_out)
        request = fitted.request
        if any(_is_foreign(message, dialect) for message in request.messages):
            exchange.note_left_out(("thoughts that another vendor's model wrote",))
    stream = model.stream(request)
    streams = exchange.peeked.stream
    try:
        async for batch in together(stream):
            events = [each for each in batch if not isinstance(each, RetryStart | ModelChange)]
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


def _is_foreign(message: Message, dialect: str) -> bool:
    """Whether a message holds reasoning that this model cannot be given back."""
    return isinstance(message, Reply) and any(
        isinstance(part, Reasoning) and dialect not in part.vendor for part in message.content
    )


_BROKEN = Reply((), "error")


def _is_locked(error: RightcallError | None) -> bool:
    """Whether retrying is useless: a wrong key stays wrong."""
    return isinstance(error, VendorError) and error.kind in ("auth", "quota")


def _all_rest(wait: float) -> VendorError:
    return VendorError(
        "every place of this model asked to be left alone for a while",
        kind="rate_limit",
        status=429,
        retryable=True,
        retry_after=round(max(wait, 1.0), 1),
    )


async def _count(exchange: Exchange, model: Model) -> None:
    """Answer with the number of a request's tokens: the vendor's count, or an estimate."""
    if isinstance(model, WireModel) and model.dialect.name == exchange.endpoint.dialect:
        body = await _counted(exchange, model)
        if body is not None:
            await exchange.give_whole(body, {}, _OK)
            return
    await exchange.give_count()


async def _counted(exchange: Exchange, model: WireModel) -> bytes | None:
    """The vendor's count; None if it gives none, as many compatible hosts do not."""
    sent = outgoing(exchange, model)
    path, sign, rest = sent.path.partition("?")
    if exchange.endpoint.dialect == GEMINI:
        path = f"{path.rpartition(':')[0]}:countTokens"
    else:
        path = f"{path}/count_tokens"
    try:
        async with model.forward(replace(sent, path=path + sign + rest)) as incoming:
            body = await body_of(incoming)
            return body if incoming.status == _OK else None
    except RightcallError as error:
        gateway_logger.info("tokens are estimated, as the vendor does not count them: %s", error)
        return None
