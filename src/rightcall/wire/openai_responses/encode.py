"""Encodes a request as the body of ``POST /responses``.

The conversation comes last, so that a longer one only appends bytes. Nothing is stored with the vendor
(``store: false``) unless it is to keep the conversation (see ``state``); reasoning is requested
encrypted, and sent back with the rest.
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
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request, StrictTools
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.openai_responses.messages import input_items
from rightcall.wire.openai_responses.reply import Item
from rightcall.wire.openai_responses.tables import BUDGETS, EFFORTS, NAME, PATH, TTLS
from rightcall.wire.payload import (
    EncodeCache,
    as_bytes,
    items_in,
    members_of,
    native_of,
    openai_cache_members,
    text_in,
    with_examples,
    without,
)
from rightcall.wire.reply_extras import wanted_alternatives
from rightcall.wire.strict_schema import OPENAI
from rightcall.wire.strictness import StrictMode, Wish, choose_strict_tools, convert_strict, wish_in
from rightcall.wire.vendor_state import CONVERSATION, Since, conversation_of

_RULES = replace(OPENAI, dialect=NAME)
_UNSUPPORTED = ("seed", "stop")
_ROOT_REFUSED = ("oneOf", "anyOf", "allOf", "enum", "not")
"""Keywords that a function's parameters must not have at the top level, strict or not."""


_IN_JSON = msgspec.Raw(b'{"type":"message","role":"developer","content":"Answer in JSON."}')
"""JSON mode is refused unless the input contains the word JSON; the instructions do not count:
https://github.com/miracodeai/mira/pull/267"""


class _ResponsesTools(msgspec.Struct, frozen=True):
    tools: list[Item]
    sent: list[msgspec.Raw]
    """The tools as bytes."""
    types: list[str]
    held: StrictTools


def strict_mode(model: str = "") -> StrictMode:  # noqa: ARG001 - all models are alike in this
    """The strict mode for tools."""
    return StrictMode(rules=_RULES)


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key."""
    return {"Authorization": f"Bearer {key}"}


def encoder() -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request,
    /,
    *,
    model: str,
    stream: bool,
    cache: EncodeCache | None = None,
    since: Since | None = None,
) -> EncodedRequest:
    """Encode the request for the vendor. The same request gives the same bytes.

    With ``since`` the vendor stores the response, and gets only what is new since the last one.
    """
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
    specs = request.specs
    wish = wish_in(request.options)
    ours = cache.get_shared(f"{NAME}.tools", (specs, wish), lambda: _functions(specs, wish))
    body.update(_tools(request, ours))
    sent = body.get("tools")
    body.update(_settings(request))
    if options.get("cache", True):
        stable = (model, request.system, *(sent or ()))
        body["prompt_cache_key"] = cache.get_or_make(f"{NAME}.cache", stable, lambda: _cache_key(body))
    if options:
        body.update(openai_cache_members(options, TTLS, NAME))
    # Models that do not reason refuse the include: https://github.com/pydantic/pydantic-ai/issues/2865.
    # For those, set ``extra={"include": []}``.
    include = ["reasoning.encrypted_content"]
    if options and (most := wanted_alternatives(options, NAME)) is not None:
        include.append("message.output_text.logprobs")
        if most:
            body["top_logprobs"] = most
    body.update(store=since is not None, include=include, stream=stream)
    if options or since:
        # The response that the request continues; a conversation is named in ``extra``.
        if conversation := conversation_of(request):
            if since is None:
                reason = f'{conversation} grows by itself; connect with state="vendor".'
                raise EncodeError(NAME, reason, where=CONVERSATION)
        elif since and since.response:
            body["previous_response_id"] = since.response
    _merge(body, options.get("extra"))
    tools = body.get("tools")
    offered = [*_types(items_in(tools)), *(ours.types if tools is sent else ())]
    items = input_items(request, offered, cache, 0 if since is None else since.first)
    if request.output == ANY_OBJECT:
        items = [_IN_JSON, *items]
    body["input"] = body.pop("input", None) or items
    return EncodedRequest(path=PATH, body=as_bytes(body, NAME), held=ours.held)


def _settings(request: Request) -> Item:
    options = request.options
    settings: Item = {}
    if request.output is not None:
        settings["text"] = {"format": _format(request.output, wish_in(options))}
    if (effort := options.get("reasoning")) is not None:
        settings["reasoning"] = _reasoning(effort)
    for member, value in (
        ("temperature", options.get("temperature")),
        ("top_p", options.get("top_p")),
        ("max_output_tokens", request.max_tokens),
        ("safety_identifier", options.get("user")),
    ):
        if value is not None:
            settings[member] = value
    return settings


def _functions(specs: Sequence[Spec], wish: Wish) -> _ResponsesTools:
    functions = []
    for spec in specs:
        is_native = bool(spec.native.get(NAME)) and not members_of(spec, NAME)
        if spec.input != "text" and not is_native:
            functions.append(spec)
    strict = choose_strict_tools(functions, wish, strict_mode())
    tools = []
    sent = []
    for spec in specs:
        tool = _tool(spec, strict.schemas.get(spec.name))
        tools.append(tool)
        # Tools found by a search are not listed: they are in the output of the search.
        if not spec.found:
            sent.append(msgspec.Raw(as_bytes(tool, NAME)))
    return _ResponsesTools(tools, sent, _types(tools), strict.held)


def _types(tools: Sequence[Item]) -> list[str]:
    return [text_in(tool.get("type")) for tool in tools]


def _tools(request: Request, ours: _ResponsesTools) -> Item:
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


def _tool(spec: Spec, strict: JsonObject | None) -> Item:
    """A tool's definition: the vendor's own, or ours with the members that the vendor adds."""
    more = members_of(spec, NAME)
    if not more and (own := native_of(spec, NAME)):
        return own
    tool = _custom(spec) if spec.input == "text" else _function(spec, strict)
    return {**tool, **more}


def _custom(spec: Spec) -> Item:
    """A tool with text input, and the grammar of that text."""
    form: Item = {"type": "text"}
    for syntax, definition in spec.grammar.items():
        form = {"type": "grammar", "syntax": syntax, "definition": definition}
    description = with_examples(spec.description, spec)
    return {"type": "custom", "name": spec.name, "description": description, "format": form}


def _function(spec: Spec, strict: JsonObject | None) -> Item:
    """A function tool. ``strict`` is always sent, as the API's default is true."""
    description = spec.description
    parameters = strict
    if parameters is None:
        # What the API refuses at the top level is said in words.
        parameters = without(spec.parameters, *_ROOT_REFUSED)
        # "object schema missing properties"
        parameters.setdefault("properties", {})
        also = {key: spec.parameters[key] for key in _ROOT_REFUSED if key in spec.parameters}
        if also:
            description = f"{description}\n\nThe arguments must also satisfy {dump(also)}"
    return {
        "type": "function",
        "name": spec.name,
        "description": with_examples(description, spec),
        "parameters": parameters,
        "strict": strict is not None,
    }


def _format(schema: JsonObject, wish: Wish) -> Item:
    """The text format for an output schema; strict if a tool with that schema would be."""
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    title = schema.get("title")
    name = ""
    if isinstance(title, str):
        name = sub(r"[^A-Za-z0-9_-]+", "_", title)[:64]
    form: Item = {"type": "json_schema", "name": name or "answer", "strict": False, "schema": schema}
    found = convert_strict(schema, _RULES)
    if wish is True and found.schema is None:
        raise EncodeError(NAME, found.reason, where=f"output at {found.place}")
    if wish is True or (wish == "auto" and not found.reason):
        form = {**form, "strict": True, "schema": found.schema}
    return form


def _reasoning(value: JsonValue) -> Item:
    """The reasoning effort, with a request for a summary: no other reasoning is readable.

    An organization that is not verified is refused a summary (``reasoning.summary``,
    ``unsupported_value``: https://github.com/continuedev/continue/issues/9854); ``extra={"reasoning":
    {"summary": None}}`` avoids that.
    """
    if isinstance(value, str) and value in EFFORTS:
        effort = value
    elif isinstance(value, int) and not isinstance(value, bool):
        effort = next((effort for limit, effort in BUDGETS if value <= limit), "high")
    else:
        words = f"{value!r} is not one of {', '.join(sorted(EFFORTS))}."
        raise EncodeError(NAME, words, where="reasoning")
    if effort == "none":
        return {"effort": effort}
    return {"effort": effort, "summary": "auto"}


def _cache_key(body: Item) -> str:
    """Routes requests with the same prefix to where the vendor has it cached."""
    stable = as_bytes([body["model"], body.get("instructions"), body.get("tools")], NAME)
    return f"rc-{blake2b(stable, digest_size=16).hexdigest()}"


def _merge(body: Item, extra: JsonValue) -> None:
    """Add the members of ``extra``; objects are merged, like ``{"text": {"verbosity": …}}``."""
    if not isinstance(extra, Mapping):
        return
    for key, value in extra.items():
        there = body.get(key)
        both = isinstance(there, dict) and isinstance(value, Mapping)
        body[key] = {**there, **value} if both else value  # type: ignore[dict-item]
