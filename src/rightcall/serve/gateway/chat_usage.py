"""The token counts of a Chat stream that is passed on: requested by us, and hidden from the client.

A Chat stream counts nothing unless it is asked to, and spend would have to be estimated. Hosts that are
known to support ``stream_options`` are asked for the counts; a client that did not ask does not get
them.
"""

import re
from typing import TYPE_CHECKING

import msgspec

from rightcall.serve.gateway.endpoints import CHAT
from rightcall.wire.openai_chat.hosts import COMPATIBLE, host_of

if TYPE_CHECKING:
    from rightcall.request.wire_model import WireModel
    from rightcall.serve.gateway.exchange import Exchange

_MEMBER = b'"stream_options"'
_ASKED = b'{"stream_options":{"include_usage":true},'
# Within a JSON string quotes are escaped, so text of a model cannot match these.
_NOTHING = re.compile(rb',\s*"usage"\s*:\s*null|"usage"\s*:\s*null\s*,\s*')
_COUNT = re.compile(rb'"usage"\s*:\s*\{')
_DATA = re.compile(rb"data:[ \t]*(.*)")
_NO_CHOICE = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)", re.DOTALL)

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def is_uncounted(exchange: "Exchange", model: "WireModel") -> bool:
    """Whether the tokens would not be counted, and the host is known to count them if asked."""
    if exchange.endpoint.dialect != CHAT or not exchange.peeked.stream or _MEMBER in exchange.body:
        return False
    host = host_of(model.place)
    return host is not COMPATIBLE and host.stream_usage


def counted(body: bytes) -> bytes:
    """The request, with the count asked for and all other bytes unchanged."""
    return _ASKED + body.lstrip().removeprefix(b"{")


def without_count(events: bytes) -> bytes:
    """Whole events of a stream, without the counts that we asked for."""
    if b'"usage"' not in events:
        return events
    events = _NOTHING.sub(b"", events)
    if _COUNT.search(events) is None:
        return events
    return b"".join(map(_uncounted, _EVENT.findall(events)))


def _uncounted(event: bytes) -> bytes:
    """An event without its count; empty if it held only the count."""
    if _COUNT.search(event) is None:
        return event
    if _NO_CHOICE.search(event) is not None:
        return b""
    try:
        count = _members(b"\n".join(_DATA.findall(event)))["usage"]
    except (msgspec.DecodeError, KeyError):
        # Another member, further inside, has that name.
        return event
    written = rb'"usage"\s*:\s*' + re.escape(bytes(count))
    return re.sub(rb",\s*" + written + rb"|" + written + rb"\s*,\s*", b"", event, count=1)
