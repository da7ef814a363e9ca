"""A request into the body of ``POST /responses``.

The conversation stands last, so that a longer one extends the bytes of a shorter one. Nothing is stored
with the vendor (``store: false``); reasoning is asked for encrypted, and sent back with the rest.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from re import sub
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, Named, Outgoing, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.caching import of_openai
from rightcall.wire.encoding import EncodeCache, as_bytes, is_strict, native_of, with_examples
from rightcall.wire.logprobs import alternatives
from rightcall.wire.openai_responses.messages import input_items
from rightcall.wire.openai_responses.reply import Item, items_in, text_in
from rightcall.wire.openai_responses.tables import BUDGETS, EFFORTS, NAME, PATH, TTLS
from rightcall.wire.strict import OPENAI, check_ceilings, strict_schema

_RULES = replace(OPENAI, dialect=NAME)
_UNSUPPORTED = ("seed", "stop")
_ROOT_REFUSED = ("oneOf", "anyOf", "allOf", "enum", "not")
"""What a function's parameters must not have at the top, strict or not."""


_IN_JSON = msgspec.Raw(b'{"type":"message","role":"developer","content":"Answer in JSON."}')
"""JSON mode is refused where the input does not have the word, and the instructions do not count:
https://github.com/miracodeai/mira/pull/267"""


class _Ours(msgspec.Struct, frozen=True):
    """Our tools."""

    tools: list[Item]
    sent: list[msgspec.Raw]
    """The same as bytes."""


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key."""
    return {"Authorization": f"Bearer {key}"}


def encoder() -> Encode:
    """An ``encode`` for one conversation, which writes each of its messages once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> Outgoing:
    """The request as the vendor wants it. The same request gives the same bytes."""
    cache = cache or EncodeCache()
    options = request.options
    for option in _UNSUPPORTED:
        if options.get(option) not in (None, [], ()):
            raise EncodeError(
                NAME, "the Responses API has no such setting; leave it out, or use Chat.", where=option
            )
    body: Item = {"model": model}
    if request.system:
        body["instructions"] = request.system
    ours = _ours(request, cache)
    body.update(_tools(request, ours))
    sent = body.get("tools")
    body.update(_settings(request))
    if options.get("cache", True):
        stable = (model, request.system, *(sent or ()))
        body["prompt_cache_key"] = cache.made(f"{NAME}.cache", stable, lambda: _cache_key(body))
    body.update(of_openai(options, TTLS, NAME))
    # Models that do not reason refuse the include: https://github.com/pydantic/pydantic-ai/issues/2865.
    # For those, say ``extra={"include": []}``.
    include = ["reasoning.encrypted_content"]
    if (most := alternatives(options, NAME)) is not None:
        include.append("message.output_text.logprobs")
        body.update({"top_logprobs": most} if most else {})
    body.update(store=False, include=include, stream=stream)
    _merge(body, options.get("extra"))
    tools = items_in(body.get("tools")) + (ours.tools if body.get("tools") is sent else [])
    offered = [text_in(tool.get("type")) for tool in tools]
    items = input_items(request, offered, cache)
    if request.output == ANY_OBJECT:
        items = [_IN_JSON, *items]
    body["input"] = body.pop("input", None) or items
    return Outgoing(path=PATH, body=as_bytes(body, NAME))


def _settings(request: Request) -> Item:
    options = request.options
    settings: Item = {}
    if request.output is not None:
        settings["text"] = {"format": _format(request.output, options.get("strict"))}
    if (effort := options.get("reasoning")) is not None:
        settings["reasoning"] = {"effort": _effort(effort)}
    for member, value in (
        ("temperature", options.get("temperature")),
        ("top_p", options.get("top_p")),
        ("max_output_tokens", request.max_tokens),
        ("safety_identifier", options.get("user")),
    ):
        if value is not None:
            settings[member] = value
    return settings


def _ours(request: Request, cache: EncodeCache) -> _Ours:
    specs, strict = request.specs, bool(request.options.get("strict"))
    return cache.made(f"{NAME}.tools", (specs, strict), lambda: _functions(specs, strict=strict))


def _functions(specs: Sequence[Spec], *, strict: bool) -> _Ours:
    tools = [native_of(spec, NAME) or _function(spec, strict=is_strict(spec, strict)) for spec in specs]
    pairs = zip(specs, tools, strict=True)
    held = [
        (spec, tool["parameters"])
        for spec, tool in pairs
        if is_strict(spec, strict) and not spec.native.get(NAME)
    ]
    check_ceilings([spec for spec, _ in held], [schema for _, schema in held], _RULES)
    return _Ours(tools, [msgspec.Raw(as_bytes(tool, NAME)) for tool in tools])


def _tools(request: Request, ours: _Ours) -> Item:
    own: Any = request.options.get("vendor_tools") or ()
    tools = [*ours.sent, *own]
    if not tools:
        if request.choice == "required" or isinstance(request.choice, Named):
            raise EncodeError(NAME, "a call is demanded, and there are no tools.", where="choice")
        return {}
    members: Item = {"tools": tools}
    if request.choice != "auto":
        members["tool_choice"] = _choice(request.choice, [*ours.tools, *own])
    if (parallel := request.options.get("parallel")) is not None:
        members["parallel_tool_calls"] = parallel
    return members


def _choice(choice: str | Named, tools: Sequence[Item]) -> str | Item:
    if isinstance(choice, str):
        return choice
    for tool in tools:
        kind = tool.get("type")
        if tool.get("name") == choice.name and kind in ("function", "custom"):
            return {"type": kind, "name": choice.name}
        if kind == choice.name:
            return {"type": kind}
    raise EncodeError(NAME, f"there is no tool {choice.name!r} to be chosen.", where="choice")


def _function(spec: Spec, *, strict: bool) -> Item:
    """A tool. ``strict`` is always said, as the API takes its absence for a yes."""
    description = spec.description
    if strict:
        parameters = strict_schema(spec.parameters, _RULES, tool=spec.name).schema
    else:
        parameters, also = _root(spec.parameters)
        if also:
            description = f"{description}\n\nThe arguments must also satisfy {dump(also)}"
    return {
        "type": "function",
        "name": spec.name,
        "description": with_examples(description, spec),
        "parameters": parameters,
        "strict": strict,
    }


def _root(schema: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The schema as the API takes it at the top, and what had to be taken out of it."""
    also = {key: schema[key] for key in _ROOT_REFUSED if key in schema}
    kept = {key: value for key, value in schema.items() if key not in also}
    if "properties" not in kept:
        # "object schema missing properties"
        kept["properties"] = {}
    return kept, also


def _format(schema: JsonObject, strict: JsonValue) -> Item:
    """The form of the answer; held to strictly unless that was declined or the schema cannot be."""
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    title = schema.get("title")
    name = sub(r"[^A-Za-z0-9_-]+", "_", title)[:64] if isinstance(title, str) else ""
    form: Item = {"type": "json_schema", "name": name or "answer", "strict": False, "schema": schema}
    if strict is False:
        return form
    try:
        return {**form, "strict": True, "schema": strict_schema(schema, _RULES, tool="output").schema}
    except EncodeError:
        if strict:
            raise
        return form


def _effort(value: JsonValue) -> str:
    if isinstance(value, str) and value in EFFORTS:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return next((effort for limit, effort in BUDGETS if value <= limit), "high")
    raise EncodeError(NAME, f"{value!r} is not one of {', '.join(sorted(EFFORTS))}.", where="reasoning")


def _cache_key(body: Item) -> str:
    """Sends requests with the same beginning to where the vendor has it cached."""
    stable = as_bytes([body["model"], body.get("instructions"), body.get("tools")], NAME)
    return f"rc-{blake2b(stable, digest_size=16).hexdigest()}"


def _merge(body: Item, extra: JsonValue) -> None:
    """Members as they are; an object joins one that is there, like ``{"text": {"verbosity": …}}``."""
    if not isinstance(extra, Mapping):
        return
    for key, value in extra.items():
        there = body.get(key)
        both = isinstance(there, dict) and isinstance(value, Mapping)
        body[key] = {**there, **value} if both else value  # type: ignore[dict-item]
