"""Parses the body of a generateContent request: the contents, tools and settings.

Clients spell members in two ways, ``generationConfig`` and ``generation_config``, and write schemas in
two languages, JSON Schema and that of OpenAPI with types in capitals. Some give their calls ids, others
do not; answers are then matched by name and order.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Message, Reasoning, Reply
from rightcall.core.parts import Call
from rightcall.core.request import ANY_OBJECT, ClientRequest, Named, Request, ToolChoice
from rightcall.core.tool import Spec
from rightcall.errors import UsageError
from rightcall.wire.client_request import (
    RequestMembers,
    body_of,
    mend_messages,
    model_in,
    spec_of,
    strings,
    without_absent,
)
from rightcall.wire.gemini.history import on_the_wire, read
from rightcall.wire.gemini.tables import EFFORTS, NAME
from rightcall.wire.google import FOREIGN_SIGNATURE
from rightcall.wire.history import objects, string
from rightcall.wire.payload import mapping, own_bag, present, text_in, without
from rightcall.wire.relay_tokens import restore_messages

_METHOD = re.compile(r"models/(.+):(\w+)\Z")
_SNAKE = re.compile(r"_([a-z])")
_STREAMED = "streamGenerateContent"
_FILLERS = frozenset(
    [
        FOREIGN_SIGNATURE.rstrip("="),
        "skip_thought_signature_validator",
        "context_engineering_is_the_way_to_go",
    ]
)
"""Values that clients send instead of a signature that they do not have; they are dropped."""
_NUMBERS = frozenset(
    ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]
)
"""Keywords whose numbers are strings, as Google writes 64-bit integers."""


def parse_request(
    body: bytes, /, *, path: str = "", query: str = "", headers: Mapping[str, str]
) -> ClientRequest:
    """Parse the request. The path holds the model and whether to stream."""
    found = _METHOD.search(path.partition("?")[0])
    given = _camel(body_of(body))
    # A request that counts tokens nests it.
    members = RequestMembers(_camel(given.get("generateContentRequest")) or given)
    if members.get("cachedContent"):
        raise UsageError("cachedContent: nothing is kept here; send all contents")
    left: list[str] = []
    contents = [item for _, item in objects(_as_list(members.get("contents")), "contents")]
    said = read(_with_ids(contents, left))
    tools = _specs(members.get("tools"), left)
    choice, specs = _choice(mapping(_camel(members.get("toolConfig"))), tools, left)
    config = RequestMembers(_camel(members.get("generationConfig")), "generationConfig.")
    messages: list[Message] = []
    for message in restore_messages(said.messages, _token_of):
        if isinstance(message, Reply):
            content = tuple(map(_without_filler, message.content))
            messages.append(replace(message, content=content))
        else:
            messages.append(message)
    schema = config.get("responseJsonSchema") or json_schema(config.get("responseSchema"))
    output = schema or None
    match config.get("responseMimeType"):
        case "application/json":
            output = schema or ANY_OBJECT
        case None | "text/plain":
            pass
        case kind:
            left.append(f"generationConfig.responseMimeType: {kind}")
    request = Request(
        messages=mend_messages(messages, left),
        system="\n\n".join([each for each in (_system(members), said.system) if each]),
        specs=specs,
        choice=without_absent(choice, specs, left, "toolConfig"),
        output=output,
        max_tokens=config.number("maxOutputTokens"),
        options=_options(config, left),
    )
    if config.get("candidateCount") not in (None, 1):
        left.append("generationConfig.candidateCount: one answer is given")
    named = members.get("model")
    return ClientRequest(
        request=request,
        model=model_in(unquote(found[1]) if found else str(named or "").removeprefix("models/")),
        stream=found is not None and found[2] == _STREAMED,
        framing="sse" if "alt=sse" in f"{path}?{query}" else "array",
        left_out=(*left, *config.left(), *members.left()),
    )


def _camel(value: Any) -> dict[str, Any]:
    """An object with its members renamed to their wire names; nested values stay unchanged."""
    return {
        _SNAKE.sub(lambda letter: letter[1].upper(), key): each for key, each in mapping(value).items()
    }


def _as_list(value: Any) -> Any:
    if isinstance(value, list):
        return value
    return [value]


def _token_of(part: Reasoning | Call) -> str:
    """The field of a part that may hold a token: the signature of a thought or of a call."""
    found = mapping(part.vendor.get(NAME)).get("thoughtSignature")
    return text_in(found)


def _system(members: RequestMembers) -> str:
    given = members.get("systemInstruction")
    if given is None or isinstance(given, str):
        return given or ""
    parts = objects(_as_list(mapping(given).get("parts")), "systemInstruction")
    return "\n\n".join([string(part, "text", where) for where, part in parts])


def _with_ids(contents: Sequence[JsonObject], left: list[str]) -> list[Any]:
    """The contents with an id for every call, and the same id for its answer.

    Consecutive contents of the model are joined.
    """
    ids = _CallMatcher(left)
    found: list[Any] = []
    for at, content in enumerate(contents):
        given = _as_list(content.get("parts") or [])
        parts = []
        for each in given:
            part = ids.part(on_the_wire(each), f"contents[{at}]")
            if part:
                parts.append(part)
        if parts and content.get("role") == "model" and found and found[-1].get("role") == "model":
            parts = [*found.pop()["parts"], *parts]
        if parts:
            found.append({**content, "parts": parts})
    return found


class _CallMatcher:
    """Matches calls with their answers."""

    def __init__(self, left: list[str]) -> None:
        self._left = left
        self._waiting: list[tuple[str, str]] = []
        """The names and ids of calls that have no answer yet."""
        self._count = 0

    def part(self, part: Any, where: str) -> Any:
        """The part with its id; empty for an answer without a call."""
        called = mapping(part).get("functionCall")
        answer = mapping(part).get("functionResponse")
        if called is not None:
            self._count += 1
            said = {**mapping(called), "id": mapping(called).get("id") or f"call_{self._count}"}
            self._waiting.append((str(said.get("name")), said["id"]))
            return {**part, "functionCall": said}
        if answer is not None:
            # The call that is answered, found by id or else by name.
            identity = mapping(answer).get("id")
            name = mapping(answer).get("name")
            by_id = (each for each in self._waiting if identity and each[1] == identity)
            by_name = (each for each in self._waiting if each[0] == name)
            known = next(by_id, None) or next(by_name, None)
            if known is None:
                self._left.append(f"{where}: an answer to no call that waits for one")
                return {}
            self._waiting.remove(known)
            return {**part, "functionResponse": {**answer, "id": known[1], "name": known[0]}}
        return part


def _without_filler(part: Any) -> Any:
    bag = dict(mapping(part.vendor.get(NAME)))
    signature = str(bag.pop("thoughtSignature", "")).rstrip("=").replace("/", "_")
    if signature not in _FILLERS:
        return part
    return replace(part, vendor=without(part.vendor, NAME) | own_bag(NAME, bag))


def _options(config: RequestMembers, left: list[str]) -> dict[str, Any]:
    """The settings that every dialect knows, under our names."""
    options: dict[str, Any] = {
        "temperature": config.number("temperature"),
        "top_p": config.number("topP"),
        "seed": config.number("seed"),
        "stop": strings(config.get("stopSequences")) or None,
        "reasoning": _reasoning(_camel(config.get("thinkingConfig")), left),
    }
    most = config.get("logprobs")
    if config.get("responseLogprobs") is True:
        options["logprobs"] = most if isinstance(most, int) and most else True
    return present(options)


def _reasoning(given: Mapping[str, Any], left: list[str]) -> str | int | None:
    """The reasoning option: a budget, where -1 means the model's choice, or a level."""
    budget = given.get("thinkingBudget")
    level = str(given.get("thinkingLevel") or "").lower()
    if level in EFFORTS:
        return level
    if level and level != "thinking_level_unspecified":
        left.append(f"generationConfig.thinkingConfig.thinkingLevel: {level}")
    if isinstance(budget, int) and budget >= 0:
        return budget
    return None


def _specs(given: Any, left: list[str]) -> tuple[Spec, ...]:
    found = []
    for where, tool in objects(_as_list(given) if given else [], "tools"):
        members = _camel(tool)
        for place, each in objects(members.pop("functionDeclarations", None) or [], where):
            declared = _camel(each)
            schema = declared.get("parametersJsonSchema") or json_schema(declared.get("parameters"))
            name = declared.get("name")
            description = declared.get("description")
            found.append(spec_of(name, description, schema, place, strict=False))
        left += [f"{where}: {name}" for name, value in members.items() if value is not None]
    return tuple(found)


def _choice(
    given: Mapping[str, Any], specs: tuple[Spec, ...], left: list[str]
) -> tuple[ToolChoice, tuple[Spec, ...]]:
    left += [f"toolConfig.{name}" for name in given if name != "functionCallingConfig"]
    config = _camel(given.get("functionCallingConfig"))
    names = strings(config.get("allowedFunctionNames"))
    allowed = tuple(spec for spec in specs if not names or spec.name in names)
    match str(config.get("mode") or "AUTO").upper():
        case "ANY":
            if len(names) == 1:
                return Named(names[0]), specs
            return "required", allowed
        case "NONE":
            return "none", specs
        case "VALIDATED":
            # Calls must fit the schemas, as far as the target vendor can enforce that.
            return "auto", tuple(replace(spec, strict=None) for spec in allowed)
        case _:
            return "auto", specs


def json_schema(given: Any) -> dict[str, Any]:
    """A schema as JSON Schema, given as OpenAPI's or already as JSON Schema; empty for none."""
    schema = _camel(given)
    schema.pop("propertyOrdering", None)
    found: dict[str, Any] = {}
    for key, value in schema.items():
        match key, value:
            case "type", str():
                found[key] = value.lower()
            case "properties", Mapping():
                found[key] = {name: json_schema(each) for name, each in value.items()}
            case "items" | "additionalProperties", Mapping():
                found[key] = json_schema(value)
            case "anyOf", list():
                found[key] = [json_schema(each) for each in value]
            case _, str() if key in _NUMBERS and value.isdecimal():
                found[key] = int(value)
            case _:
                found[key] = value
    if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    return found
