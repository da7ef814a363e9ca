"""What the server halves of the dialects share: reading bodies, wording refusals, sealing calls."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import Any

import msgspec

from rightcall.core.call import TEXT_MEMBER, Call
from rightcall.core.history import mend
from rightcall.core.jsontext import JsonError, JsonObject, parse
from rightcall.core.message import Message, Reply, Unknown, User
from rightcall.core.served import Asked, Listed, Refused
from rightcall.core.tokens import estimate_tokens, spec_tokens, text_tokens
from rightcall.core.tool import Spec
from rightcall.errors import (
    EncodeError,
    ErrorKind,
    LimitReached,
    RightcallError,
    UsageError,
    VendorError,
)
from rightcall.wire.encoding import mapping, sequence
from rightcall.wire.refusal import UNREADABLE

JSON = {"content-type": "application/json"}
ANYTHING: JsonObject = {"type": "object", "properties": {}}
TEXT_INPUT: JsonObject = {
    "type": "object",
    "properties": {TEXT_MEMBER: {"type": "string"}},
    "required": [TEXT_MEMBER],
    "additionalProperties": False,
}
"""What a tool whose input is text takes where there are only tools that take JSON."""
REFUSED = "The model refused to answer."
"""What is said of a refusal where the model gave no words for it."""
WAIT = 1
"""Seconds to wait that a client is told where nobody said: Codex gives up without any."""

STATUSES: Mapping[ErrorKind, int] = {
    "auth": 401,
    "quota": 429,
    "rate_limit": 429,
    "overloaded": 503,
    "context_overflow": 400,
    "bad_request": 400,
    "not_found": 404,
    "filtered": 400,
    "timeout": 504,
    "cancelled": 500,
    "server": 500,
    "connection": 502,
    "protocol": 502,
}
"""The status that a client is told of a failure, whatever the vendor behind called it."""
_WAITED = (429, 503, 529)

_encode = msgspec.json.Encoder().encode


def json_bytes(value: object) -> bytes:
    """The value as JSON. Half of a surrogate pair, which no JSON can hold, becomes a question mark."""
    try:
        data = _encode(value)
    except UnicodeEncodeError:
        data = _encode(_whole_text(value))
    return data if data.isascii() else _LINES.sub(_escaped, data)


_LINES = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""What Python takes for the end of a line beside those of SSE; so does Google's SDK, within events."""


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())


def _whole_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {key: _whole_text(each) for key, each in value.items()}
    return [_whole_text(each) for each in value] if isinstance(value, list | tuple) else value


class Members:
    """The members of an object, and which of them nobody has looked at."""

    def __init__(self, value: object, where: str = "") -> None:
        self._value = mapping(value)
        self._where = where
        self._seen: set[str] = set()

    def get(self, *names: str) -> Any:
        """The first of these that says something."""
        self._seen.update(names)
        return next((self._value[name] for name in names if self._value.get(name) is not None), None)

    def number(self, *names: str) -> Any:
        """A number; anything else is refused."""
        value = self.get(*names)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise UsageError(f"{self._where}{names[0]}: a number, and not {type(value).__name__}")
        return value

    def text(self, *names: str) -> str | None:
        """A text; anything else is refused."""
        value = self.get(*names)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{self._where}{names[0]}: text, and not {type(value).__name__}")
        return value

    def flag(self, name: str) -> bool | None:
        """True or false; anything else is refused."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise UsageError(f"{self._where}{name}: true or false, and not {type(value).__name__}")
        return value

    def left(self) -> Iterator[str]:
        """The places of what says something and was not read."""
        for name, value in self._value.items():
            if name not in self._seen and value not in (None, False, 0, "", [], {}):
                yield f"{self._where}{name}"


def body_of(data: bytes) -> dict[str, Any]:
    """The object in a request's body."""
    try:
        value = msgspec.json.decode(data)
    except UNREADABLE as error:
        raise UsageError(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"the body is an object, and not {type(value).__name__}")
    return value


def model_in(value: object) -> str:
    """The name of the model that is asked for."""
    if not isinstance(value, str) or not value:
        raise UsageError("model: the name of a model is missing")
    return value


def strings(value: object) -> list[str]:
    """One string or several."""
    return [value] if isinstance(value, str) else [x for x in sequence(value) if isinstance(x, str)]


def spec_of(name: object, description: object, parameters: object, where: str, **more: Any) -> Spec:
    """A tool as a client describes it. Clients say nothing of parameters where there are none."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"{where}.name: the name of a tool is missing")
    schema = parameters if isinstance(parameters, dict) and parameters else ANYTHING
    words = description if isinstance(description, str) else ""
    return Spec(name=name, description=words, parameters=schema, **more)


def kind_of(error: RightcallError) -> ErrorKind:
    """What went wrong, for a client."""
    if isinstance(error, UsageError | EncodeError):
        return "bad_request"
    if isinstance(error, LimitReached):
        return "quota"
    kind: ErrorKind = getattr(error, "kind", "server")
    return kind


def words_of(error: RightcallError) -> str:
    """What a client is told of it."""
    return error.message if isinstance(error, VendorError) else str(error) or error.code


def worded_overflow(error: RightcallError, saying: str) -> str:
    """The words for a prompt that is too long; clients look for ``saying``, and then make it shorter."""
    words = words_of(error)
    return words if saying in words.lower() else f"{saying}: {words}"


OPENAI_ERRORS: Mapping[ErrorKind, tuple[str, str]] = {
    "auth": ("authentication_error", "invalid_api_key"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "overloaded": ("server_error", "server_overloaded"),
    "context_overflow": ("invalid_request_error", "context_length_exceeded"),
    "bad_request": ("invalid_request_error", "invalid_request_error"),
    "not_found": ("invalid_request_error", "model_not_found"),
    "filtered": ("invalid_request_error", "content_filter"),
    "timeout": ("server_error", "timeout"),
}
"""The type and code of an error in OpenAI's two dialects; a server's error where it is not here."""


def openai_error(error: RightcallError) -> dict[str, Any]:
    """What OpenAI's two dialects say of an error."""
    kind = kind_of(error)
    what, code = OPENAI_ERRORS.get(kind, ("server_error", "server_error"))
    words = words_of(error)
    if kind == "context_overflow":
        words = worded_overflow(error, "maximum context length")
    return {"message": words, "type": what, "param": None, "code": code}


def refused(error: RightcallError, status: int, body: object) -> Refused:
    """A refusal, with how long to wait where waiting helps."""
    headers = dict(JSON)
    if status in _WAITED:
        wait = getattr(error, "retry_after", None)
        headers["retry-after"] = str(ceil(WAIT if wait is None else wait))
    return Refused(status=status, headers=headers, body=json_bytes(body))


def broken(reply: Reply) -> VendorError:
    """What a reply that broke off is to a client, who must not take it for a whole one."""
    why = reply.fault or reply.stop_word or "no reason was given"
    return VendorError(f"the model's reply broke off: {why}", kind="server", status=502, retryable=True)


def refusal_in(reply: Reply) -> str:
    """The words of a refusal, which are no text of the reply; empty where it refuses nothing."""
    for part in reply.content:
        if isinstance(part, Unknown):
            for bag in part.vendor.values():
                said = mapping(bag)
                words = said.get("refusal") or mapping(said.get("part")).get("refusal")
                if isinstance(words, str):
                    return words
    return ""


def without_place(reply: Reply) -> Iterator[str]:
    """What of a reply only some dialects have a place for."""
    yield from (f"{part.media_type} made by the model" for part in reply.media)
    yield from ["citations"] if reply.citations else []
    yield from ["logprobs"] if reply.logprobs else []


def tokens_of(asked: Asked) -> int:
    """About how many tokens a request is."""
    request = asked.request
    return (
        text_tokens(request.system)
        + sum(map(estimate_tokens, request.messages))
        + spec_tokens(request.specs)
    )


def models_of_openai(models: Sequence[Listed]) -> bytes:
    """The list of models, as OpenAI's two dialects have it."""
    data = [
        {"id": each.name, "object": "model", "created": each.created, "owned_by": each.owner}
        for each in models
    ]
    return json_bytes({"object": "list", "data": data})


def dated(seconds: int) -> str:
    """A time as RFC 3339 writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def input_of(call: Call) -> str:
    """The text that was written for a tool whose input is text."""
    if call.form == "text":
        return call.arguments
    try:
        value = parse(call.arguments)
    except JsonError:
        return call.arguments
    text = mapping(value).get(TEXT_MEMBER)
    return text if isinstance(text, str) else call.arguments


def is_text_tool(asked: Asked, name: str) -> bool:
    """Whether the client takes text for the input of that tool, and no JSON."""
    return any(spec.name == name and spec.input == "text" for spec in asked.request.specs)


def sound(messages: Sequence[Message], left: list[str]) -> tuple[Message, ...]:
    """The messages with every call answered once, as everybody wants them; what was changed is told."""
    history = mend(messages)
    left += [f"{repair.path}: {repair.what}" for repair in history.repairs]
    for at, message in enumerate(messages):
        left += [f"messages[{at}]: {kind}" for kind in _only_theirs(message)]
    return history.messages


def _only_theirs(message: Message) -> Iterator[str]:
    """What a message holds that only its dialect knows."""
    if isinstance(message, User):
        for bag in message.vendor.values():
            parts = bag if isinstance(bag, list | tuple) else mapping(bag).get("parts") or ()
            yield from (str(mapping(part).get("type") or "a part of its own") for part in parts)
    elif isinstance(message, Reply):
        for part in message.content:
            if isinstance(part, Unknown):
                bags = map(mapping, part.vendor.values())
                kinds = [each.get("type") for each in bags if "refusal" not in each]
                yield from (str(kind or "a part of its own") for kind in kinds)


def without_absent(choice: Any, specs: Sequence[Spec], left: list[str], where: str) -> Any:
    """The choice, unless the tool that it names was left out."""
    name = getattr(choice, "name", None)
    if name is not None and all(spec.name != name for spec in specs):
        left.append(f"{where}: {name}")
        return "auto"
    if choice == "required" and not specs and left:
        return "auto"
    return choice
