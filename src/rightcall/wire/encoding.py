"""What all encoders share: the cache of a conversation, JSON for the wire, and access to parts."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar

from msgspec import Raw
from msgspec.json import Encoder

from rightcall.core.jsontext import JsonError, dump, parse
from rightcall.core.message import Message, Transcript
from rightcall.core.parts import Media
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.dialects import DIALECTS

Writer = TypeVar("Writer")
Made = TypeVar("Made")

_encode = Encoder().encode


class EncodeCache:
    """Caches the encoded messages of a conversation. It grows at its end, so each is encoded once.

    Owned by the encoder of one conversation, and discarded with it.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}

    def written(
        self,
        key: str,
        messages: Transcript,
        begin: Callable[[], Writer],
        write: Callable[[Writer, Message, int], None],
    ) -> Writer:
        """The writer for these messages, after it has written those that it had not written before.

        A writer that raises is discarded, since its state is unknown.
        """
        before, writer = self._entries.pop(key, ((), None))
        if writer is None or len(before) > len(messages) or not all(map(is_, before, messages)):
            before, writer = (), begin()
        for at in range(len(before), len(messages)):
            write(writer, messages[at], at)
        self._entries[key] = (messages, writer)
        found: Writer = writer
        return found

    def made(self, key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """The cached result of ``make``; made again only when any of ``given`` is a different object.

        Equality is not enough: 1 equals 1.0, and objects are equal whatever the order of their members.
        """
        before, thing = self._entries.get(key, (None, None))
        if before is None or len(before) != len(given) or not all(map(is_, before, given)):
            thing = make()
            self._entries[key] = (given, thing)
        found: Made = thing
        return found

    def shared(self, key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """``made`` for values that conversations share, such as the tools of one agent."""
        return self.made(key, given, lambda: _shared(key, given, make))


_SHARED: dict[tuple[object, ...], tuple[tuple[object, ...], Any]] = {}
"""By key and the identities of the inputs. The inputs are kept alive so that no identity is reused."""
_MOST_SHARED = 64


def _shared(key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
    place = (key, *map(id, given))
    known = _SHARED.get(place)
    if known is None:
        if len(_SHARED) >= _MOST_SHARED:
            _SHARED.clear()
        known = _SHARED[place] = (given, make())
    found: Made = known[1]
    return found


_STEP = 3 * 128 * 1024
"""Bytes of a file that are encoded at once; a multiple of three, so that the pieces join without
padding."""


def as_bytes(value: object, dialect: str) -> bytes:
    """The value as JSON. Raises EncodeError for a value that JSON cannot hold."""
    try:
        return _encode(value)
    except UnicodeEncodeError as error:
        raise EncodeError(dialect, "half of a surrogate pair cannot be sent.", where="text") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise EncodeError(dialect, f"the request cannot be written as JSON: {error}.") from error


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, such as a vendor bag; otherwise an empty mapping."""
    # Most values are dicts. ``isinstance`` of an abstract class is slow, slowest for a value that fails
    # it.
    if type(value) is dict:
        return value
    return value if value is not None and isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[Any]:
    """The items if the value is an array; otherwise none."""
    if type(value) is list:
        return value
    if value is None:
        return ()
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def object_in(arguments: str) -> dict[str, Any] | None:
    """A call's arguments as an object; None if they are malformed, truncated or not an object."""
    try:
        value = parse(arguments)
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def with_examples(description: str, spec: Spec) -> str:
    """A tool's description with its examples appended, for vendors that have no field for them."""
    if not spec.examples:
        return description
    examples = "\n".join(map(dump, spec.examples))
    return f"{description}\n\nExamples of arguments:\n{examples}".strip()


def described(description: str, spec: Spec) -> str:
    """A tool's description with its input grammar appended, for vendors that do not enforce grammars."""
    for notation, grammar in spec.grammar.items():
        description = f"{description}\n\nThe text must match this {notation} grammar:\n{grammar}".strip()
    return description


def data_url(media: Media) -> str:
    """The URL of media: their own address, or a data URL."""
    if media.url is not None:
        return media.url
    return f"data:{media.media_type};base64,{b64encode(media.data).decode()}"


def base64_raw(media: Media) -> Raw:
    """The bytes in base64, as JSON. Copying a large file blocks other work, so it is copied rarely."""
    return Raw(b"".join((b'"', *_base64(media.data), b'"')))


def _base64(data: bytes) -> Iterator[bytes]:
    """Base64 in steps: each step holds the GIL, and other threads can run in between."""
    if len(data) <= _STEP:
        yield b64encode(data)
        return
    whole = memoryview(data)
    for at in range(0, len(data), _STEP):
        yield b64encode(whole[at : at + _STEP])


def url_raw(media: Media) -> Raw:
    """``data_url``, encoded as JSON."""
    if media.url is not None:
        return Raw(_encode(media.url))
    head = _encode(f"data:{media.media_type};base64,")
    return Raw(b"".join((head[:-1], *_base64(media.data), b'"')))


def note_of(media: Media) -> str:
    """The text that replaces media which cannot be sent."""
    return f"[{media.about}: not shown]"


def native_of(spec: Spec, dialect: str) -> dict[str, Any]:
    """The vendor's own definition of a tool, unchanged; empty for a tool without one.

    Calls of such a tool use the definition's name or, if it has none, its type.
    """
    check_native(spec, dialect)
    definition = dict(spec.native.get(dialect, {}))
    inner = mapping(definition.get("function", definition.get("custom")))
    named = inner.get("name", definition.get("name", definition.get("type")))
    if definition and named != spec.name:
        raise EncodeError(
            dialect,
            f"the native definition is for {named!r}, and calls of that would not find the tool "
            f"{spec.name!r}; give both the same name, or leave the definition out.",
            where=f"tool {spec.name!r}",
        )
    return definition


def members_of(spec: Spec, dialect: str) -> dict[str, Any]:
    """The members that a vendor's definition adds to ours, if it has neither a name nor a type."""
    definition = dict(spec.native.get(dialect, {}))
    return {} if {"name", "type"} & definition.keys() else definition


def check_native(spec: Spec, dialect: str) -> None:
    """Raise for a native definition whose dialect does not exist: it would never be sent."""
    for name in spec.native:
        if name not in DIALECTS:
            raise EncodeError(
                dialect,
                f"native has a definition for {name!r}, which is no dialect; there are "
                f"{', '.join(DIALECTS)}.",
                where=f"tool {spec.name!r}",
            )
