"""What the dialects share: the cache of a conversation, JSON for the wire, and access to parts."""

import re
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar

from msgspec import Raw
from msgspec.json import Encoder

from rightcall.core.jsontext import JsonError, JsonValue, dump, parse
from rightcall.core.message import Message, Transcript
from rightcall.core.parts import Call, Media, Result
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

    def write_messages(
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
            before = ()
            writer = begin()
        for at in range(len(before), len(messages)):
            write(writer, messages[at], at)
        self._entries[key] = (messages, writer)
        found: Writer = writer
        return found

    def get_or_make(self, key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """The cached result of ``make``; made again only when any of ``given`` is a different object.

        Equality is not enough: 1 equals 1.0, and objects are equal whatever the order of their members.
        """
        before, thing = self._entries.get(key, (None, None))
        if before is None or len(before) != len(given) or not all(map(is_, before, given)):
            thing = make()
            self._entries[key] = (given, thing)
        found: Made = thing
        return found

    def get_shared(self, key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """``get_or_make`` for values that conversations share, such as the tools of one agent."""
        return self.get_or_make(key, given, lambda: _get_or_share(key, given, make))


_SHARED: dict[tuple[object, ...], tuple[tuple[object, ...], Any]] = {}
"""By key and the identities of the inputs. The inputs are kept alive so that no identity is reused."""
_MOST_SHARED = 64


def _get_or_share(key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
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


JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json"}


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
    if value is not None and isinstance(value, Mapping):
        return value
    return {}


def sequence(value: object) -> Sequence[Any]:
    """The items if the value is an array; otherwise none."""
    if type(value) is list:
        return value
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return ()


def text_in(value: object) -> str:
    """The value if it is a text; otherwise an empty one."""
    return value if isinstance(value, str) else ""


def string_in(value: object) -> str | None:
    """The value if it is a text; otherwise None."""
    return value if isinstance(value, str) else None


def own_bag(dialect: str, content: Any) -> dict[str, Any]:
    """A vendor bag that holds this; empty if there is nothing in it."""
    return {dialect: content} if content else {}


def without(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The other members."""
    return {key: value for key, value in members.items() if key not in names}


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that have a value."""
    return {key: value for key, value in members.items() if value is not None}


def merge_members(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the members of ``extra``; settings that are objects are merged, not replaced."""
    merged = dict(body)
    for name, value in extra.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, Mapping):
            merged[name] = merge_members(before, value)
        else:
            merged[name] = value
    return merged


def count_in(counts: Mapping[str, Any], name: str) -> int:
    """The whole number of that name; 0 if there is none."""
    value = counts.get(name)
    return value if isinstance(value, int) else 0


def object_in(arguments: str) -> dict[str, Any] | None:
    """A call's arguments as an object; None if they are malformed, truncated or not an object."""
    try:
        value = parse(arguments)
    except JsonError:
        return None
    if isinstance(value, dict):
        return value
    return None


def items_in(value: object) -> list[dict[str, Any]]:
    """The objects in a list; none if it is no list."""
    if isinstance(value, list):
        return [each for each in value if isinstance(each, dict)]
    return []


def number_in(value: object) -> int | None:
    """The value if it is a whole number, such as the index of a block; otherwise None."""
    return value if isinstance(value, int) else None


def arguments_object(text: str, unparsed: str) -> Raw | dict[str, Any]:
    """A call's arguments for a vendor that takes only objects, as the model wrote them if they are one.

    The text of others, malformed or cut off, goes into the member ``unparsed``.
    """
    if not text.strip():
        return {}
    if object_in(text) is None:
        return {unparsed: text}
    return Raw(text.encode())


def parsed_arguments(text: str, unparsed: str) -> dict[str, Any]:
    """``arguments_object``, parsed."""
    if not text.strip():
        return {}
    value = object_in(text)
    return {unparsed: text} if value is None else value


def arguments_text(text: str, unparsed: str) -> str:
    """A call's arguments for a vendor that takes the text of an object."""
    if not text.strip():
        return "{}"
    if object_in(text) is None:
        return dump({unparsed: text})
    return text


def named_text(media: Media) -> str:
    """A text file as text, below its name."""
    text = media.data.decode(errors="replace")
    return f"{media.name}:\n{text}" if media.name else text


class CallIds:
    """Unique ids for calls, also for those that have none, and for the results that answer them."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._open: list[tuple[str, str]] = []
        """The calls of the last reply: the original id of each, and the id that was sent."""

    def of_calls(self, calls: Sequence[Call]) -> list[str]:
        """A unique id for each call of a reply."""
        self._open = []
        for call in calls:
            identity = call.id or "call"
            number = 1
            while identity in self._used:
                number += 1
                identity = f"{call.id or 'call'}_{number}"
            self._used.add(identity)
            self._open.append((call.id, identity))
        return [sent for _, sent in self._open]

    def of_result(self, result: Result) -> str:
        """The id of the call that a result answers."""
        for at, (given, sent) in enumerate(self._open):
            if given == result.call_id:
                del self._open[at]
                return sent
        return result.call_id


class LegalIds:
    """Call ids in a vendor's alphabet, of at most 64 characters, and unique.

    An id depends only on earlier messages, so that a longer history keeps the ids of its beginning.
    """

    def __init__(self, illegal: re.Pattern[str]) -> None:
        self._illegal = illegal
        self._used: set[str] = set()
        self._open: dict[str, deque[str]] = {}

    def begin_reply(self) -> None:
        """Forget the calls of the reply before, whose results were written."""
        self._open = {}

    def of_call(self, call: Call) -> str:
        """A legal id for a call."""
        legal = self._legal(call.id)
        candidate = legal
        number = 1
        while candidate in self._used:
            number += 1
            candidate = f"{legal[: _LONGEST_ID - 8]}_{number}"
        self._used.add(candidate)
        self._open.setdefault(call.id, deque()).append(candidate)
        return candidate

    def of_result(self, result: Result) -> str:
        """The id of the call that a result answers."""
        sent = self._open.get(result.call_id)
        if not sent:
            return self._legal(result.call_id)
        if len(sent) > 1:
            return sent.popleft()
        return sent[0]

    def _legal(self, identity: str) -> str:
        return self._illegal.sub("_", identity)[:_LONGEST_ID] or "call"


_LONGEST_ID = 64


def with_examples(description: str, spec: Spec) -> str:
    """A tool's description with its examples appended, for vendors that have no field for them."""
    if not spec.examples:
        return description
    examples = "\n".join(map(dump, spec.examples))
    return f"{description}\n\nExamples of arguments:\n{examples}".strip()


def with_grammar(description: str, spec: Spec) -> str:
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
    if {"name", "type"} & definition.keys():
        return {}
    return definition


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


def cache_lifetime(options: Mapping[str, JsonValue], taken: Collection[str], dialect: str) -> str:
    """The requested ``cache_ttl``; empty if none is set. Raises EncodeError for one not in ``taken``."""
    wanted = options.get("cache_ttl")
    if wanted is None:
        return ""
    if not isinstance(wanted, str) or wanted not in taken:
        words = f"{wanted!r} is not how long this vendor keeps anything; {' or '.join(taken)} is."
        raise EncodeError(dialect, words, where="options.cache_ttl")
    return wanted


def openai_cache_members(
    options: Mapping[str, JsonValue], taken: Collection[str], dialect: str
) -> dict[str, JsonValue]:
    """The request members for the cache's lifetime and key, in Chat and in Responses.

    https://developers.openai.com/api/docs/guides/prompt-caching
    """
    kept = cache_lifetime(options, taken, dialect)
    members: dict[str, JsonValue] = {}
    if kept == "24h":
        members["prompt_cache_retention"] = kept
    elif kept:
        members["prompt_cache_options"] = {"ttl": kept}
    if (key := options.get("cache_key")) is not None:
        members["prompt_cache_key"] = key
    return members


BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
"""The member that marks an OpenAI content part as a cache breakpoint: the prompt up to its end is
cached."""
