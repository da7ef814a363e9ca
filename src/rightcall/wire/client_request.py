"""Parsing of a client's request body, shared by the server halves of all dialects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rightcall.core.history import mend
from rightcall.core.jsontext import JsonObject, check_repeats
from rightcall.core.message import (
    Message,
    Reply,
    Unknown,
    User,
    estimate_tokens,
    spec_tokens,
    text_tokens,
)
from rightcall.core.parts import TEXT_MEMBER
from rightcall.core.request import ANY_OBJECT, ClientRequest
from rightcall.core.tool import Spec, object_schema
from rightcall.errors import UsageError
from rightcall.wire.payload import mapping, sequence, text_in
from rightcall.wire.refusal import UNREADABLE

_ESCAPED_QUOTE = b"\\u0022"
_encode = msgspec.json.Encoder().encode

ANYTHING: JsonObject = {"type": "object", "properties": {}}

TEXT_INPUT: JsonObject = object_schema([TEXT_MEMBER], **{TEXT_MEMBER: {"type": "string"}})
"""The parameters of a tool with text input, for dialects whose tools take only JSON."""


class RequestMembers:
    """The members of an object; records which were not read."""

    def __init__(self, value: object, where: str = "") -> None:
        self._value = mapping(value)
        self._where = where
        self._seen: set[str] = set()

    def get(self, *names: str) -> Any:
        """The first of these members that has a value."""
        self._seen.update(names)
        for name in names:
            value = self._value.get(name)
            if value is not None:
                return value
        return None

    def number(self, *names: str) -> Any:
        """The first of these members as a number; raises for anything else."""
        value = self.get(*names)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise UsageError(f"{self._where}{names[0]}: a number, and not {type(value).__name__}")
        return value

    def text(self, *names: str) -> str | None:
        """The first of these members as a string; raises for anything else."""
        value = self.get(*names)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{self._where}{names[0]}: text, and not {type(value).__name__}")
        return value

    def flag(self, name: str) -> bool | None:
        """A member as a boolean; raises for anything else."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise UsageError(f"{self._where}{name}: true or false, and not {type(value).__name__}")
        return value

    def left(self) -> Iterator[str]:
        """The paths of members that have a value and were not read."""
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
    # Each key and text has two quotes, so a repeated key, of which one is lost, shows in their number.
    # An escaped quote may be written without one; then only the slower check can tell.
    if _ESCAPED_QUOTE in data or _encode(value).count(b'"') != data.count(b'"'):
        try:
            check_repeats(data)
        except ValueError as error:
            raise UsageError(f"the body is ambiguous: {error}") from None
    return value


def model_in(value: object) -> str:
    """The name of the requested model."""
    if not isinstance(value, str) or not value:
        raise UsageError("model: the name of a model is missing")
    return value


def strings(value: object) -> list[str]:
    """A string or a list of strings, as a list."""
    if isinstance(value, str):
        return [value]
    return [x for x in sequence(value) if isinstance(x, str)]


def spec_of(name: object, description: object, parameters: object, where: str, **more: Any) -> Spec:
    """A tool as a client describes it. Clients omit the parameters if there are none."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"{where}.name: the name of a tool is missing")
    schema = parameters if isinstance(parameters, dict) and parameters else ANYTHING
    words = text_in(description)
    return Spec(name=name, description=words, parameters=schema, **more)


def without_absent(choice: Any, specs: Sequence[Spec], left: list[str], where: str) -> Any:
    """The tool choice, unless the tool that it names was left out."""
    name = getattr(choice, "name", None)
    if name is not None and all(spec.name != name for spec in specs):
        left.append(f"{where}: {name}")
        return "auto"
    if choice == "required" and not specs and left:
        return "auto"
    return choice


def mend_messages(messages: Sequence[Message], left: list[str]) -> tuple[Message, ...]:
    """The messages with every call answered once, as vendors require; adds repairs to ``left``."""
    history = mend(messages)
    left += [f"{repair.path}: {repair.what}" for repair in history.repairs]
    for at, message in enumerate(messages):
        left += [f"messages[{at}]: {kind}" for kind in _only_theirs(message)]
    return history.messages


def _only_theirs(message: Message) -> Iterator[str]:
    """What a message holds that only its own dialect can express."""
    if isinstance(message, User):
        for bag in message.vendor.values():
            parts = mapping(bag).get("parts") or ()
            if isinstance(bag, list | tuple):
                parts = bag
            for part in parts:
                yield str(mapping(part).get("type") or "a part of its own")
    elif isinstance(message, Reply):
        for part in message.content:
            if isinstance(part, Unknown):
                for each in map(mapping, part.vendor.values()):
                    if "refusal" not in each:
                        yield str(each.get("type") or "a part of its own")


def is_text_tool(asked: ClientRequest, name: str) -> bool:
    """Whether the client expects that tool's input as text, not as JSON."""
    return any(spec.name == name and spec.input == "text" for spec in asked.request.specs)


def tokens_of(asked: ClientRequest) -> int:
    """The estimated number of tokens of a request."""
    request = asked.request
    return (
        text_tokens(request.system)
        + sum(map(estimate_tokens, request.messages))
        + spec_tokens(request.specs)
    )


def output_in(form: Mapping[str, Any], schema: object, where: str, left: list[str]) -> JsonObject | None:
    """The output schema that a client requests at ``where``; None for text."""
    match form.get("type", "text"):
        case "text":
            return None
        case "json_object":
            return ANY_OBJECT
        case "json_schema":
            if not isinstance(schema, dict):
                raise UsageError(f"{where}: a JSON Schema is missing")
            return schema
        case kind:
            left.append(f"{where}: {kind}")
            return None
