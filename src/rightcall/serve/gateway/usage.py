"""The usage of an exchange: as the vendor counted it, or estimated."""

from collections.abc import Mapping

from msgspec.structs import replace

from rightcall.core.message import Reply
from rightcall.core.parts import Usage
from rightcall.core.ports import Model
from rightcall.core.tokens import estimate_tokens
from rightcall.request.wire_model import WireModel
from rightcall.serve.gateway.allowance import Expected
from rightcall.serve.gateway.exchange import BYTES_PER_TOKEN, Exchange
from rightcall.serve.gateway.settings import Served

_MILLION = 1_000_000
_SAID = 500
"""Tokens that a reply is assumed to have before anything is known of it."""


def expected_of(body: bytes, served: Served, model: Model | None) -> Expected:
    """What a request is expected to use, estimated from its length."""
    usage = Usage(input_tokens=len(body) // BYTES_PER_TOKEN, output_tokens=_SAID)
    return Expected(usage.tokens, _cost(usage, {}, served, model) or 0.0)


def usage_of(exchange: Exchange, reply: Reply | None, served: Served) -> tuple[Usage, bool]:
    """The usage of an exchange, with its cost if the price is known, and whether it was estimated."""
    usage = Usage() if reply is None else reply.usage
    estimated = usage.tokens == 0
    if estimated:
        # A Chat stream reports no usage unless asked to, nor does one that the client left.
        said = max(exchange.heard_tokens, 0 if reply is None else estimate_tokens(reply))
        usage = Usage(input_tokens=len(exchange.body) // BYTES_PER_TOKEN, output_tokens=said)
    if usage.cost is None:
        elsewhere = {} if reply is None else reply.elsewhere
        usage = replace(usage, cost=_cost(usage, elsewhere, served, exchange.model))
    return usage, estimated


def _cost(
    usage: Usage, elsewhere: Mapping[str, Usage], served: Served, model: Model | None
) -> float | None:
    if served.input_price is not None or served.output_price is not None:
        into, out = served.input_price or 0.0, served.output_price or 0.0
        return (usage.input_tokens * into + usage.output_tokens * out) / _MILLION
    return model.cost_of(usage, elsewhere) if isinstance(model, WireModel) else None
