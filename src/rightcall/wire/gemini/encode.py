"""Encodes a request for generateContent.

What stays the same from turn to turn comes first and the contents last, so that a longer history only
appends bytes. Gemini caches such prefixes by itself, and has no field for an end user's name and no
switch for one call per reply, so ``cache``, ``cache_ttl``, ``cache_key``, ``user`` and ``parallel`` have
no effect.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.message import Reply, Transcript
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.gemini.messages import Json, contents
from rightcall.wire.gemini.tables import EFFORTS, NAME, NEWER, PRO, PRO_LEAST
from rightcall.wire.google import key_headers, thinks_minimally
from rightcall.wire.payload import (
    JSON_HEADERS,
    EncodeCache,
    as_bytes,
    check_native,
    mapping,
    merge_members,
    native_of,
    present,
    sequence,
    text_in,
    with_grammar,
)
from rightcall.wire.reply_extras import wanted_alternatives
from rightcall.wire.strictness import StrictMode, wish_in

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]*(?:/[A-Za-z0-9][A-Za-z0-9._:@-]*)*")
_NAMED = {"name": True}
_VERTEX = ("projects/", "publishers/")
_UNASKED = "Gemini has one mode for all tools (VALIDATED), which strict=True of any tool asks for."


def strict_mode(model: str = "") -> StrictMode:  # noqa: ARG001 - all models are alike in this
    """The strict mode for tools, which cannot be set per tool."""
    return StrictMode(rules=None, unasked=_UNASKED)


def authorize(key: str) -> Mapping[str, str]:
    """The headers that carry the key: an API key, or an access token of Google Cloud for Vertex."""
    return key_headers(key)


def encoder() -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> EncodedRequest:
    """Encode the request for Gemini. The same request gives the same bytes."""
    cache = cache or EncodeCache()
    messages, token = _drop_paused(request.messages)
    turns = contents(messages, cache, nested_media=NEWER.search(model) is not None)
    if not turns:
        raise EncodeError(
            NAME, "there is nothing to answer: a request needs a message.", where="messages"
        )
    body: Json = {}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    vendor_tools = sequence(request.options.get("vendor_tools"))
    ours = cache.get_shared(f"{NAME}.tools", request.specs, lambda: _collect_tools(request.specs))
    if tools := [*ours.sent, *vendor_tools]:
        body["tools"] = tools
    is_mixed = bool(vendor_tools) or ours.native
    if config := _tool_config(request, model, ours, mixed=is_mixed and not model.startswith(_VERTEX)):
        body["toolConfig"] = config
    if settings := _generation(request, model):
        body["generationConfig"] = settings
    if token:
        body["continuationToken"] = token
    extra = request.options.get("extra")
    if isinstance(extra, Mapping):
        body = merge_members(body, extra)
    body.setdefault("contents", turns)
    if not _MODEL.fullmatch(model):
        raise EncodeError(NAME, f"{model!r} is not a model's name.", where="model")
    method = "generateContent"
    if stream:
        method = "streamGenerateContent?alt=sse"
    if model.startswith(_VERTEX):
        path = f"/v1beta1/{model}:{method}"
    else:
        path = f"/v1beta/{model if '/' in model else f'models/{model}'}:{method}"
    return EncodedRequest(path=path, body=as_bytes(body, NAME), headers=JSON_HEADERS)


def _drop_paused(messages: Transcript) -> tuple[Transcript, str]:
    """The messages without replies that paused, and the token to continue with.

    The same contents are sent again, as google-genai does (``models.py``, ``continuation_token``).
    """
    end = len(messages)
    token = ""
    while end:
        message = messages[end - 1]
        if not isinstance(message, Reply) or message.stop != "pause":
            break
        older = text_in(mapping(message.vendor.get(NAME)).get("continuationToken"))
        if not older:
            break
        end -= 1
        token = token or older
    return messages[:end], token


class _GeminiTools(msgspec.Struct, frozen=True):
    """Our tools, and what a request needs to know of them."""

    sent: list[msgspec.Raw]
    names: frozenset[str]
    """The tools that can be chosen; a native definition without a name is a tool of the vendor's own."""
    native: bool
    strict: frozenset[bool | None]
    """The tools' values of ``strict``."""


def _collect_tools(specs: Sequence[Spec]) -> _GeminiTools:
    return _GeminiTools(
        sent=_tools(specs),
        names=frozenset(spec.name for spec in specs if "name" in spec.native.get(NAME, _NAMED)),
        native=any(spec.native.get(NAME) for spec in specs),
        strict=frozenset(spec.strict for spec in specs),
    )


def _tools(specs: Sequence[Spec]) -> list[msgspec.Raw]:
    # A definition with a name is a function; one without is a tool of the vendor's: googleSearch.
    declared: list[Json] = []
    tools: list[Json] = []
    for spec in specs:
        check_native(spec, NAME)
        native = spec.native.get(NAME, {})
        if "name" in native:
            declared.append(native_of(spec, NAME))
        elif native:
            tools.append(dict(native))
        else:
            description = with_grammar(spec.description, spec)
            if spec.examples:
                # There is no field for them.
                description = f"{description}\nExamples: {', '.join(map(dump, spec.examples))}"
            function = {
                "name": spec.name,
                "description": description,
                # This takes full JSON Schema; `parameters` takes only a subset, and one unknown keyword
                # makes the vendor refuse the request:
                # https://ai.google.dev/api/caching#FunctionDeclaration
                "parametersJsonSchema": spec.parameters,
            }
            declared.append(function)
    if declared:
        tools.insert(0, {"functionDeclarations": declared})
    return [msgspec.Raw(as_bytes(tool, NAME)) for tool in tools]


def _tool_config(request: Request, model: str, ours: _GeminiTools, *, mixed: bool) -> Json:
    config: Json = {}
    mode: Json | None
    names = ours.names
    match request.choice:
        case "auto":
            # There is one mode for all tools: one strict tool makes all of them strict.
            # The default is off: this is not a strict mode that could be set for some tools only.
            held = True in ours.strict or (None in ours.strict and wish_in(request.options) is True)
            mode = {"mode": "VALIDATED"} if held else None
        case "none":
            mode = {"mode": "NONE"} if names else None
        case "required" | Named() if not names:
            raise EncodeError(NAME, "a call is required but there are no tools.", where="choice")
        case "required":
            mode = {"mode": "ANY"}
        case Named(name):
            if name not in names:
                raise EncodeError(NAME, f"there is no tool {name!r} to require.", where="choice")
            mode = {"mode": "ANY", "allowedFunctionNames": [name]}
    if mode:
        config["functionCallingConfig"] = mode
    if names and request.options.get("eager") and model.startswith(_VERTEX):
        # Only on Vertex:
        # https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
        config.setdefault("functionCallingConfig", {})["streamFunctionCallArguments"] = True
    if names and mixed:
        # Required if they are mixed (https://ai.google.dev/gemini-api/docs/tool-combination); Vertex
        # does not have it.
        config["includeServerSideToolInvocations"] = True
    return config


def _generation(request: Request, model: str) -> Json:
    options = request.options
    config: Json = {
        "maxOutputTokens": request.max_tokens,
        "temperature": options.get("temperature"),
        "topP": options.get("top_p"),
        "seed": options.get("seed"),
        "stopSequences": list(sequence(options.get("stop"))) or None,
        "thinkingConfig": _thinking(options.get("reasoning"), model),
    }
    if (most := wanted_alternatives(options, NAME)) is not None:
        config |= {"responseLogprobs": True, "logprobs": most or None}
    if request.output is not None:
        config["responseMimeType"] = "application/json"
        if request.output != ANY_OBJECT:
            config["responseJsonSchema"] = request.output
    return present(config)


def _thinking(reasoning: JsonValue, model: str) -> Json | None:
    """The thinking config: a number is a budget; a word is a level, or a budget for older models."""
    match reasoning:
        case None:
            return None
        case bool():
            pass
        case int():
            if not reasoning:
                return {"thinkingBudget": reasoning}
            return {"thinkingBudget": reasoning, "includeThoughts": True}
        case str() if reasoning in EFFORTS:
            level, budget = EFFORTS[reasoning]
            if not NEWER.search(model):
                least = PRO_LEAST if PRO.search(model) else 0
                amount: Json = {"thinkingBudget": max(budget, least)}
            elif level == "MINIMAL" and not thinks_minimally(model):
                amount = {"thinkingLevel": "LOW"}
            else:
                amount = {"thinkingLevel": level}
            if reasoning != "none":
                amount["includeThoughts"] = True
            return amount
        case _:
            pass
    raise EncodeError(
        NAME,
        f"{reasoning!r} is neither a number of tokens nor one of {', '.join(EFFORTS)}.",
        where="option 'reasoning'",
    )
