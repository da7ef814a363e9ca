"""What must be known of a request before it is parsed: its model, whether it streams, how it begins.

Only these members are decoded, so that a request that is passed through costs next to nothing. The
model's name is changed in place, so that all other bytes stay as they are.
"""

import re
from hashlib import blake2b

import msgspec
from msgspec import Raw, Struct

from rightcall.errors import VendorError

_CACHE = re.compile(rb',?\s*"cache_control"\s*:\s*\{[^{}]*\}')
"""Cache marks, which clients move along with the conversation: not part of its beginning."""
_NAMED = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*")')
_FIRST = 2
"""How many messages are the beginning of a conversation: the developer's, and the user's."""


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


class _Model(Struct, gc=False):
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
_model_in = msgspec.json.Decoder(_Model).decode
_items = msgspec.json.Decoder(list[Raw]).decode


def peek(body: bytes, *, model: str = "", stream: bool | None = None) -> Peeked:
    """Peek into a body; a model and a stream that the address names override the body's."""
    try:
        found = _decode(body)
        first = _first(found)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
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
        items = _items(given) if given.startswith(b"[") else [Raw(given)]
    parts += [bytes(each) for each in (items or ())[:_FIRST]]
    return blake2b(_CACHE.sub(b"", b"\n".join(parts)), digest_size=16).digest()


def renamed(body: bytes, before: str, after: str) -> bytes:
    """The body with another model's name in it, and nothing else changed."""
    if before == after:
        return body
    written = msgspec.json.encode(after)
    for match in _NAMED.finditer(body):
        changed = body[: match.start(1)] + written + body[match.end(1) :]
        # A tool may have a parameter "model", and a user may quote a request: only the outermost counts.
        if _model_in(changed).model == after:
            return changed
    members = msgspec.json.decode(body, type=dict[str, Raw])
    return msgspec.json.encode(members | {"model": Raw(written)})
