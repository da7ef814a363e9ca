"""The number of a request's tokens: the vendor's count if the client speaks to it, else an estimate."""

from msgspec.structs import replace

from rightcall.core.ports import Model
from rightcall.errors import RightcallError
from rightcall.log import gateway_logger
from rightcall.request.whole import body_of
from rightcall.request.wire_model import WireModel
from rightcall.serve.gateway.endpoints import GEMINI
from rightcall.serve.gateway.exchange import Exchange
from rightcall.serve.gateway.passthrough import outgoing

_OK = 200


async def count(exchange: Exchange, model: Model) -> None:
    """Answer with the number of tokens."""
    if isinstance(model, WireModel) and model.dialect.name == exchange.endpoint.dialect:
        body = await _asked(exchange, model)
        if body is not None:
            await exchange.give_whole(body, {}, _OK)
            return
    await exchange.give_count()


async def _asked(exchange: Exchange, model: WireModel) -> bytes | None:
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
