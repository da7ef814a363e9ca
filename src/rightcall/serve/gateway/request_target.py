"""A method and a path into what is requested there, as data."""

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import accumulate, islice
from typing import Literal, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec import Raw, Struct

from rightcall.core.jsontext import check_repeats
from rightcall.errors import VendorError

Action: TypeAlias = Literal["ask", "count", "list", "model", "health", "hello", "metrics"]

CHAT = "openai_chat"
RESPONSES = "openai_responses"
MESSAGES = "anthropic"
GEMINI = "gemini"


class Endpoint(Struct, frozen=True, gc=False):
    """What is served at an address."""

    action: Action
    dialect: str = CHAT
    """The dialect that is spoken there."""
    model: str = ""
    """The model, if the address names it."""
    stream: bool | None = None
    """Whether a stream is requested, if the address says so."""


_POST: Mapping[str, Endpoint] = {
    "/chat/completions": Endpoint("ask", CHAT),
    "/responses": Endpoint("ask", RESPONSES),
    "/messages": Endpoint("ask", MESSAGES),
    "/messages/count_tokens": Endpoint("count", MESSAGES),
}
_GET: Mapping[str, Endpoint] = {
    "/health": Endpoint("health"),
    "/healthz": Endpoint("health"),
    "/metrics": Endpoint("metrics"),
    "/api/hello": Endpoint("hello", MESSAGES),
}
_VERSION = re.compile(r"/v1(?:beta|alpha)?(?=/)")
_GEMINI = re.compile(r"/models/(?P<model>.+):(?P<method>\w+)")
_METHODS: Mapping[str, Endpoint] = {
    "generateContent": Endpoint("ask", GEMINI, stream=False),
    "streamGenerateContent": Endpoint("ask", GEMINI, stream=True),
    "countTokens": Endpoint("count", GEMINI),
}
_MODELS = "/models"


def find_endpoint(method: str, path: str, headers: Mapping[str, str]) -> Endpoint | None:
    """What is served at an address; None for nothing. The version prefix may be left out."""
    if method == "HEAD":
        method = "GET"
    start = _VERSION.match(path)
    bare = path[start.end() :] if start else path
    if method == "POST":
        return _POST.get(bare) or _gemini(bare)
    if method != "GET":
        return None
    if (endpoint := _GET.get(path)) is not None:
        return endpoint
    if bare == _MODELS or bare.startswith(f"{_MODELS}/"):
        name = unquote(bare[len(_MODELS) + 1 :])
        return Endpoint("model" if name else "list", _client_dialect(path, headers), name)
    return None


def is_known(path: str, headers: Mapping[str, str]) -> bool:
    """Whether anything is served there, for any method."""
    return (
        find_endpoint("GET", path, headers) is not None
        or find_endpoint("POST", path, headers) is not None
    )


def _gemini(path: str) -> Endpoint | None:
    match = _GEMINI.fullmatch(path)
    if match is None or (endpoint := _METHODS.get(match["method"])) is None:
        return None
    return Endpoint(endpoint.action, endpoint.dialect, unquote(match["model"]), endpoint.stream)


def _client_dialect(path: str, headers: Mapping[str, str]) -> str:
    """The dialect of a request for models: three vendors list them under one path, each in its shape."""
    if path.startswith("/v1beta") or "x-goog-api-key" in headers or "x-goog-api-client" in headers:
        return GEMINI
    if "anthropic-version" in headers:
        return MESSAGES
    return CHAT


def dialect_at(path: str, headers: Mapping[str, str]) -> str:
    """The dialect that an address belongs to, whether or not anything is served there."""
    if path.startswith(("/v1beta", "/v1alpha")):
        return GEMINI
    if path.removeprefix("/v1").startswith("/messages"):
        return MESSAGES
    if path.removeprefix("/v1").startswith(("/chat/", "/responses")):
        return CHAT
    return _client_dialect(path, headers)


_CACHE = re.compile(rb'(?:,|(?<!\s))\s*"cache_control"\s*:\s*\{[^{}]*\}')
"""Cache marks, which clients move along with the conversation: not part of its beginning. Space is read
from its start only: from each of its bytes it would take the square of them."""
_NAMED = re.compile(rb'"model"\s*:\s*("[^"\\]*+(?:\\.[^"\\]*+)*+")')
_MOST_NAMED = 3
"""How often a name is looked for in place: each time reads the whole request."""
_FIRST = 2
"""How many messages are the beginning of a conversation: the developer's, and the user's."""


_BEGINNING = 64 * 1024
"""Bytes of a conversation's beginning that are looked at."""
_REPEATED = "a member of the request is there twice, under names that differ only in case"
_SLICE = 256 * 1024
_MARKS = (b",", b"[", b"{")
"""Each is there for one part."""
_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = dict.fromkeys(b"[{", 1) | dict.fromkeys(b"]}", -1)


_ABSENT = Raw()


class _Members(Struct, gc=False):
    model: str = ""
    stream: bool | None = None
    temperature: float | None = None
    seed: int | None = None
    store: bool | None = None
    messages: list[Raw] | None = None
    input: Raw = _ABSENT
    contents: Raw = _ABSENT
    system: Raw = _ABSENT
    instructions: Raw = _ABSENT
    prompt_cache_key: str | None = None
    generation_config: "_Config | None" = msgspec.field(default=None, name="generationConfig")


class _Config(Struct, gc=False):
    temperature: float | None = None
    seed: int | None = None


class _ModelMember(Struct, gc=False):
    model: str = ""


class Peeked(Struct, frozen=True, gc=False):
    """What is known of a request before it is parsed."""

    model: str
    stream: bool
    beginning: bytes
    """A hash of how the conversation begins."""
    deterministic: bool
    """Whether the client asked for the same answer every time."""
    stores: bool = True
    """Whether the client may expect its vendor to store the answer."""


_decode = msgspec.json.Decoder(_Members).decode
_split = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode
_model_in = msgspec.json.Decoder(_ModelMember).decode
_items = msgspec.json.Decoder(list[Raw]).decode


def peek(body: bytes, *, model: str = "", stream: bool | None = None) -> Peeked:
    """Peek into a body; a model and a stream that the address names override the body's.

    Only a few members are decoded, so that a request that is passed through costs next to nothing.
    """
    try:
        _refuse_repeats(body)
        found = _decode(body)
        first = _first(found)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        words = f"the request is not what this address takes: {error}"
        raise VendorError(words, kind="bad_request", status=400) from None
    config = found.generation_config or _Config()
    cold = 0.0 in (found.temperature, config.temperature)
    return Peeked(
        model or found.model,
        bool(found.stream) if stream is None else stream,
        first,
        cold or found.seed is not None or config.seed is not None,
        found.store is not False,
    )


def _first(found: _Members) -> bytes:
    if found.prompt_cache_key:
        return found.prompt_cache_key.encode()
    parts = [bytes(found.system), bytes(found.instructions)]
    items = found.messages
    # Either may be one item instead of a list.
    given = bytes(found.input) or bytes(found.contents)
    if items is None and given:
        if given.startswith(b"["):
            items = _items(given)
        else:
            items = [Raw(given)]
    parts += [bytes(each) for each in (items or ())[:_FIRST]]
    # Cut twice: marks that move must not move the end of the beginning.
    beginning = b"\n".join(parts)[: 2 * _BEGINNING]
    if b'"cache_control"' in beginning:
        beginning = _CACHE.sub(b"", beginning)
    return blake2b(beginning[:_BEGINNING], digest_size=16).digest()


def _refuse_repeats(body: bytes) -> None:
    """Raise VendorError if a member is repeated that is read here: the vendor might read the other one.

    Names that differ only in case count as one: some hosts read them as one.
    """
    members = _split(body)
    names = "".join(members)
    if names.casefold() != names and len({*map(str.casefold, members)}) < len(members):
        raise VendorError(_REPEATED, kind="bad_request", status=400)
    # Each name has two quotes, so one that is lost shows in their number, unless names have quotes, too.
    if '"' in names or _encode(members).count(b'"') != body.count(b'"'):
        try:
            check_repeats(body)
        except ValueError as error:
            raise VendorError(str(error), kind="bad_request", status=400) from None
    if (config := members.get("generationConfig")) is not None and bytes(config).startswith(b"{"):
        _refuse_repeats(bytes(config))


def check_parts(body: bytes, most: int) -> None:
    """Raise VendorError if a request has too many parts, before it is parsed.

    A part is an object, an array, or another member or item of one. Nothing is built of the request, and
    it is looked at in slices, so that a thread that does this leaves other threads their turn.
    """
    if len(body) <= most or _most_parts(body, most) <= most:
        return
    parts = 0
    for outside in _outside_texts(body):
        for mark in _MARKS:
            parts += outside.count(mark)
        if parts > most:
            words = f"the request has more than {most:,} parts: objects, arrays, members and items"
            raise VendorError(words, kind="bad_request", status=413)


def check_depth(body: bytes, most: int) -> None:
    """Raise VendorError if a request nests too deep, in the same way."""
    if body.count(b"[") + body.count(b"{") <= most:
        return
    level = 0
    for outside in _outside_texts(body):
        steps = [_STEPS[bracket] for bracket in outside.translate(None, _BUT_BRACKETS)]
        levels = list(accumulate(steps, initial=level))
        level = levels[-1]
        if max(levels) > most:
            words = f"the request nests more than {most:,} levels deep"
            raise VendorError(words, kind="bad_request", status=400)


def _most_parts(body: bytes, most: int) -> int:
    """How many parts a request can have: texts are counted as if they were none."""
    parts = 0
    for start in range(0, len(body), _SLICE):
        end = start + _SLICE
        for mark in _MARKS:
            parts += body.count(mark, start, end)
        if parts > most:
            break
    return parts


def _outside_texts(body: bytes) -> Iterator[bytes]:
    """The request without its texts, slice by slice."""
    is_inside = False
    start = 0
    while start < len(body):
        piece = body[start : start + _SLICE]
        escapes = len(piece) - len(piece.rstrip(b"\\"))
        if escapes % 2:
            # What follows is escaped.
            piece = body[start : start + _SLICE + 1]
        start += len(piece)
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = piece.split(b'"')
        yield b"".join(pieces[is_inside::2])
        if len(pieces) % 2 == 0:
            is_inside = not is_inside


def rename_model(body: bytes, before: str, after: str) -> bytes:
    """The body with another model's name in it, and nothing else changed."""
    if before == after:
        return body
    written = msgspec.json.encode(after)
    for match in islice(_NAMED.finditer(body), _MOST_NAMED):
        changed = body[: match.start(1)] + written + body[match.end(1) :]
        # A tool may have a parameter "model", and a user may quote a request: only the outermost counts.
        if _model_in(changed).model == after:
            return changed
    return msgspec.json.encode(_split(body) | {"model": Raw(written)})
