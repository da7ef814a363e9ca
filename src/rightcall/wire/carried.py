"""Carries what a model's vendor wants back through a client that knows nothing of it.

A client of one dialect sends back the opaque fields that its own vendor would want: a thought's
signature, its encrypted content, a call's id. Into such a field a server puts a token with what the
vendor behind it wants: the call's own id, the fields attached to a call, the thoughts before it. So the
server keeps no state. A token proves nothing, either: it holds what the client was sent, and what it
could have sent to the vendor itself.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.core.call import Call
from rightcall.core.jsontext import JsonValue
from rightcall.core.message import Message, Reasoning, Reply, Results
from rightcall.wire.encoding import mapping

_PLAIN, _DEFLATED = b"rc10", b"rc11"
_MARK = "cmMx"
"""The beginning of every token: ``rc1`` in base64."""
_SMALL = 96
"""Payloads of fewer bytes are not compressed."""
_MOST = 4 * 1024 * 1024
"""The most bytes that a token may hold when decompressed; without it, a short token could expand without
limit."""
TOKEN = rf"{_MARK}[A-Za-z0-9_-]+"
"""A regular expression for tokens."""
_IN_ID = re.compile(rf"_({TOKEN})\Z")

_TOKENS = re.compile(rf'["_]{_MARK}[MN][A-Za-z0-9_-]+=*"'.encode())

_PLAIN_MEMBERS = frozenset(["type", "id", "status", "index"])

Places: TypeAlias = Callable[[Reasoning | Call], str]
"""Returns the token that a client of the dialect sent back with a thought or a call; empty for none."""


class Carried(Struct, frozen=True, array_like=True, gc=False):
    """The content of a token."""

    id: str = ""
    """The call's id, as the model gave it."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """The vendor's fields for the call; in a token that belongs to no call, for the next call."""
    thoughts: tuple[Reasoning, ...] = ()
    """The thoughts before the call. If the client sends a thought's text beside the token, the text is
    not here."""


NOTHING = Carried()
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Carried).decode


def token(carried: Carried) -> str:
    """The token, in characters that are allowed in ids, signatures and URLs."""
    import zlib  # noqa: PLC0415 - light until used

    plain = _encode(carried)
    data = _PLAIN + plain if len(plain) < _SMALL else _DEFLATED + zlib.compress(plain, 6)
    return urlsafe_b64encode(data).decode().rstrip("=")


def opened(text: str) -> Carried | None:
    """The content of a token; None for anything else, such as a vendor's own signature."""
    if not text.startswith(_MARK):
        return None
    import zlib  # noqa: PLC0415 - light until used

    plain = text.replace("+", "-").replace("/", "_").rstrip("=")
    try:
        data = urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
        packed = data[len(_PLAIN) :]
        if data.startswith(_DEFLATED):
            packed = zlib.decompressobj().decompress(packed, _MOST)
        elif not data.startswith(_PLAIN):
            return None
        return _decode(packed)
    except (Base64Error, ValueError, zlib.error, msgspec.DecodeError):
        return None


def call_id(prefix: str, answer: str, index: int, carried: Carried = NOTHING) -> str:
    """A new id for a call, unique among all calls of all answers."""
    own = f"{prefix}{answer}_{index}"
    return own if carried == NOTHING else f"{own}_{token(carried)}"


def carried_in(identity: str) -> Carried | None:
    """The content of the token in a call's id; None if it has none."""
    found = _IN_ID.search(identity)
    return None if found is None else opened(found[1])


def attached(vendor: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The vendor's fields of a call that must be sent back, without those that only repeat the call."""
    return {name: bag for name, bag in vendor.items() if not _PLAIN_MEMBERS.issuperset(mapping(bag))}


def holds_tokens(body: bytes) -> bool:
    """Whether a request contains our tokens, which its dialect's own vendor would not understand."""
    return _TOKENS.search(body) is not None


def given_back(messages: Sequence[Message], place: Places) -> tuple[Message, ...]:
    """The client's messages, with each token replaced by what it carries."""
    found: list[Message] = []
    ids: dict[str, str] = {}
    used: set[str] = set()
    for message in messages:
        if type(message) is Reply:
            reader = _Reader(place, used)
            found.append(reader.reply(message))
            ids = reader.ids
        elif type(message) is Results and ids:
            found.append(_answers(message, ids))
        else:
            found.append(message)
    return tuple(found)


def _answers(message: Results, ids: Mapping[str, str]) -> Results:
    """Results with the ids that the model gave the calls."""
    return Results(
        tuple(replace(each, call_id=ids.get(each.call_id, each.call_id)) for each in message.results)
    )


class _Reader:
    """Restores one reply that the client sent back."""

    def __init__(self, place: Places, used: set[str]) -> None:
        self.ids: dict[str, str] = {}
        """Maps the client's id of a call to the model's."""
        self._used = used
        """Ids of earlier calls. A model may use an id twice; the second call then keeps our id."""
        self._place = place
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
                self._call(part)
            else:
                self._parts.append(part)
        return replace(reply, content=tuple(self._parts))

    def _thought(self, part: Reasoning) -> None:
        carried = opened(self._place(part))
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

    def _call(self, part: Call) -> None:
        found = [each for each in (carried_in(part.id), opened(self._place(part))) if each is not None]
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

    def _think(self, thoughts: Sequence[Reasoning]) -> None:
        """Insert the thoughts from a call's token: in place of those that the client sent, or here."""
        if not thoughts:
            return
        shown, self._shown = {id(part) for part in self._shown}, []
        at = next((at for at, part in enumerate(self._parts) if id(part) in shown), None)
        place = at if at is not None else len(self._parts) if self.ids else 0
        rest = [part for part in self._parts[place:] if id(part) not in shown]
        self._parts = [*self._parts[:place], *thoughts, *rest]
