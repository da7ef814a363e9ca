"""Carries what a model's vendor wants back through a client that knows nothing of it.

A client of one dialect sends back the opaque fields that its own vendor would want: a thought's
signature, its encrypted content, a call's id. Into such a field a server puts a token with what the
vendor behind it wants: the call's own id, the fields attached to a call, the thoughts before it. So the
server keeps no state. A token proves nothing, either: it holds what the client was sent, and what it
could have sent to the vendor itself. A server that may keep state can put a handle in place of a long
token in a call's id.
"""

import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reasoning, Reply, Results
from rightcall.core.parts import Call
from rightcall.errors import VendorError
from rightcall.wire.payload import mapping

_PLAIN = b"rc10"
_DEFLATED = b"rc11"
_MARK = "cmMx"
"""The beginning of every token: ``rc1`` in base64."""
_MARK_BYTES = _MARK.encode()
_SMALL = 96
"""Payloads of fewer bytes are not compressed."""
_MOST = 4 * 1024 * 1024
"""The most bytes that a token may hold when decompressed; without it, a short token could expand without
limit."""
_MOST_TOGETHER = 8 * 1024 * 1024
"""The same for all tokens of a request: more than the window of any model takes."""
TOKEN = rf"{_MARK}[A-Za-z0-9_-]+"
"""A regular expression for tokens."""
_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
"""Those of tokens."""
_BEFORE = f"_{_MARK}"
"""What a token in a call's id begins with, and the character before it."""

HANDLE = r"rcHx[A-Za-z0-9_-]{22}"
"""A regular expression for handles of tokens."""
HANDLE_MARK = b"_rcHx"
HANDLES = re.compile(rf'_({HANDLE})(?=")'.encode())
"""Finds handles in a request: they are at the end of a call's id."""
_LONG_TOKEN = 120
"""Characters of a token above which it gets a handle."""

_TOKENS = re.compile(rf'["_]{_MARK}[MN][A-Za-z0-9_-]+(=*")?'.encode())
"""Finds what looks like a token; the group is its end. A run of characters that has none is passed over
whole: to look for an end from each mark in it would take the square of its length."""

_PLAIN_MEMBERS = frozenset(["type", "id", "status", "index"])

TokenReader: TypeAlias = Callable[[Reasoning | Call], str]
"""Returns the token that a client of the dialect sent back with a thought or a call; empty for none."""


class RelayToken(Struct, frozen=True, array_like=True, gc=False):
    """The content of a token."""

    id: str = ""
    """The call's id, as the model gave it."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """The vendor's fields for the call; in a token that belongs to no call, for the next call."""
    thoughts: tuple[Reasoning, ...] = ()
    """The thoughts before the call. If the client sends a thought's text beside the token, the text is
    not here."""


EMPTY_TOKEN = RelayToken()
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RelayToken).decode


def encode_token(carried: RelayToken) -> str:
    """The token, in characters that are allowed in ids, signatures and URLs."""
    plain = _encode(carried)
    if len(plain) < _SMALL:
        data = _PLAIN + plain
    else:
        data = _DEFLATED + zlib.compress(plain, 6)
    return urlsafe_b64encode(data).decode().rstrip("=")


class TokenDecoder:
    """Decodes the tokens of one request, which together are bounded."""

    def __init__(self) -> None:
        self._left = _MOST_TOGETHER

    def decode(self, text: str) -> RelayToken | None:
        """The content of a token; None for anything else, such as a vendor's own signature.

        Raises VendorError if the tokens of the request hold too much.
        """
        if not text.startswith(_MARK):
            return None
        plain = text.replace("+", "-").replace("/", "_").rstrip("=")
        try:
            data = urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
            packed = data[len(_PLAIN) :]
            if data.startswith(_DEFLATED):
                packed = zlib.decompressobj().decompress(packed, _MOST)
            elif not data.startswith(_PLAIN):
                return None
            self._left -= len(packed)
            if self._left < 0:
                words = f"the thoughts in the request are longer than {_MOST_TOGETHER:,} bytes"
                raise VendorError(words, kind="bad_request", status=413)
            return _decode(packed)
        except (ValueError, zlib.error, msgspec.DecodeError):
            return None


def call_id(
    prefix: str,
    answer: str,
    index: int,
    carried: RelayToken = EMPTY_TOKEN,
    shorten: Callable[[str], str] | None = None,
) -> str:
    """A new id for a call, unique among all calls of all answers."""
    own = f"{prefix}{answer}_{index}"
    if carried == EMPTY_TOKEN:
        return own
    token = encode_token(carried)
    if shorten is not None and len(token) > _LONG_TOKEN:
        token = shorten(token)
    return f"{own}_{token}"


def token_in_id(identity: str) -> str:
    """The token in a call's id; empty if it has none."""
    at = identity.find(_BEFORE, len(identity.rstrip(_CHARACTERS)))
    return "" if at < 0 else identity[at + 1 :]


def returnable_fields(vendor: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The vendor's fields of a call that must be sent back, without those that only repeat the call."""
    return {name: bag for name, bag in vendor.items() if not _PLAIN_MEMBERS.issuperset(mapping(bag))}


def holds_tokens(body: bytes) -> bool:
    """Whether a request contains our tokens, which its dialect's own vendor would not understand."""
    # Nearly no request has a mark, and looking for it takes a hundredth of the time.
    if _MARK_BYTES in body:
        for found in _TOKENS.finditer(body):
            if found[1] is not None:
                return True
    return HANDLE_MARK in body and HANDLES.search(body) is not None


def restore_messages(messages: Sequence[Message], place: TokenReader) -> tuple[Message, ...]:
    """The client's messages, with each token replaced by what it carries."""
    found: list[Message] = []
    ids: dict[str, str] = {}
    used: set[str] = set()
    decoder = TokenDecoder()
    for message in messages:
        if type(message) is Reply:
            reader = _ReplyRestorer(place, used, decoder)
            found.append(reader.reply(message))
            ids = reader.ids
        elif type(message) is Results and ids:
            found.append(_restore_results(message, ids))
        else:
            found.append(message)
    return tuple(found)


def _restore_results(message: Results, ids: Mapping[str, str]) -> Results:
    """Results with the ids that the model gave the calls."""
    return Results(
        tuple(replace(each, call_id=ids.get(each.call_id, each.call_id)) for each in message.results)
    )


class _ReplyRestorer:
    """Restores one reply that the client sent back."""

    def __init__(self, place: TokenReader, used: set[str], decoder: TokenDecoder) -> None:
        self.ids: dict[str, str] = {}
        """Maps the client's id of a call to the model's."""
        self._used = used
        """Ids of earlier calls. A model may use an id twice; the second call then keeps our id."""
        self._place = place
        self._decoder = decoder
        self._next: dict[str, JsonValue] = {}
        """The vendor's fields for the next call."""
        self._parts: list[Any] = []
        self._shown: list[Reasoning] = []
        """Thoughts that came without a token. The token of a later call may hold the same thoughts."""

    def reply(self, reply: Reply) -> Reply:
        for part in reply.content:
            if isinstance(part, Reasoning):
                self._thought(part)
            elif isinstance(part, Call):
                found = [
                    each
                    for each in (
                        self._decoder.decode(token_in_id(part.id)),
                        self._decoder.decode(self._place(part)),
                    )
                    if each is not None
                ]
                vendor = {} if found or self._next else dict(part.vendor)
                for each in found:
                    vendor.update(each.vendor)
                    self._think(each.thoughts)
                vendor.update(self._next)
                self._next = {}
                given = next((each.id for each in found if each.id), part.id)
                self.ids[part.id] = part.id if given in self._used else given
                self._used.add(self.ids[part.id])
                self._parts.append(replace(part, id=self.ids[part.id], vendor=vendor))
            else:
                self._parts.append(part)
        return replace(reply, content=tuple(self._parts))

    def _thought(self, part: Reasoning) -> None:
        carried = self._decoder.decode(self._place(part))
        if carried is None:
            self._shown.append(part)
            self._parts.append(part)
            return
        self._next.update(carried.vendor)
        if not carried.thoughts and part.text:
            self._parts.append(Reasoning(part.text))
        for thought in carried.thoughts:
            # The client sent the text beside the token.
            self._parts.append(replace(thought, text=thought.text or part.text))

    def _think(self, thoughts: Sequence[Reasoning]) -> None:
        """Insert the thoughts from a call's token: in place of those that the client sent, or here."""
        if not thoughts:
            return
        shown = {id(part) for part in self._shown}
        self._shown = []
        at = next((at for at, part in enumerate(self._parts) if id(part) in shown), None)
        if at is not None:
            place = at
        elif self.ids:
            place = len(self._parts)
        else:
            place = 0
        rest = [part for part in self._parts[place:] if id(part) not in shown]
        self._parts = [*self._parts[:place], *thoughts, *rest]
