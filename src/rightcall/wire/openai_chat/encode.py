"""Encodes a request as a Chat Completions body.

Members that stay the same come first and ``messages`` last, so that a longer history only appends bytes.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request, StrictTools
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.openai_chat.hosts import OPENAI, Host
from rightcall.wire.openai_chat.messages import messages_of
from rightcall.wire.openai_chat.tables import EFFORTS, NAME, TTLS
from rightcall.wire.payload import (
    JSON_HEADERS,
    EncodeCache,
    as_bytes,
    mapping,
    native_of,
    openai_cache_members,
    sequence,
    with_examples,
    with_grammar,
)
from rightcall.wire.reply_extras import wanted_alternatives
from rightcall.wire.strict_schema import OPENAI as OPENAI_RULES
from rightcall.wire.strictness import StrictMode, Wish, choose_strict_tools, convert_strict, wish_in

STRICT = replace(OPENAI_RULES, dialect=NAME)
_UNASKED = "this host is not known to hold models to strict tools."
PATH = "/chat/completions"
_TOOLS = f"{NAME}.tools"
_HEAD = f"{NAME}.head"
_SAMPLING = ("temperature", "top_p")
_BUDGETS = ((0, "none"), (2048, "low"), (16384, "medium"))
"""The largest token budget for each effort level; ``high`` beyond."""


class _ChatTools(msgspec.Struct, frozen=True):
    sent: list[msgspec.Raw]
    held: StrictTools


class _ChatHead(msgspec.Struct, frozen=True):
    """Everything of a request but the messages, unless the options say even those."""

    members: dict[str, Any]
    messages: Any
    held: StrictTools


def strict_mode(model: str = "", host: Host = OPENAI) -> StrictMode:  # noqa: ARG001 - hosts differ here
    """The strict mode for tools."""
    return StrictMode(rules=STRICT, unasked="" if host.strict else _UNASKED)


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key; none for a server that needs no key."""
    if key:
        return {"authorization": f"Bearer {key}"}
    return {}


def encoder(host: Host = OPENAI) -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, host=host, cache=EncodeCache())


def encode(
    request: Request,
    /,
    *,
    model: str,
    stream: bool,
    host: Host = OPENAI,
    cache: EncodeCache | None = None,
) -> EncodedRequest:
    """Encode the request for the host."""
    cache = cache or EncodeCache()
    make = partial(_head, request, model=model, stream=stream, host=host, cache=cache)
    if request.options:
        head = make()
    else:
        # Without options, which are anybody's dict, it is the same for as long as this is.
        given = (request.specs, request.choice, request.output, request.max_tokens, model, stream, host)
        head = cache.get_or_make(_HEAD, given, make)
    # Last, so that a longer history only adds to the bytes of a shorter one.
    messages = head.messages
    if messages is None:
        messages = messages_of(request, host, cache)
    body = {**head.members, "messages": messages}
    return EncodedRequest(path=PATH, body=as_bytes(body, NAME), headers=JSON_HEADERS, held=head.held)


def _head(request: Request, *, model: str, stream: bool, host: Host, cache: EncodeCache) -> _ChatHead:
    """Everything but the messages."""
    options = request.options
    body: dict[str, Any] = {"model": model}
    if stream:
        body["stream"] = True
        if host.stream_usage:
            body["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        body[host.limit] = request.max_tokens
    if options:
        # The options as the host's members.
        settings = {}
        for name in _SAMPLING:
            if options.get(name) is not None:
                settings[name] = options[name]
        if options.get("seed") is not None and host.seed:
            settings[host.seed] = options["seed"]
        if options.get("stop"):
            stop = options["stop"]
            settings["stop"] = [stop] if isinstance(stop, str) else list(sequence(stop))
        if options.get("user") and host.user:
            settings["user"] = options["user"]
        if host.caches:
            settings |= openai_cache_members(options, TTLS, NAME)
        if (most := wanted_alternatives(options, NAME)) is not None:
            settings["logprobs"] = True
            if most:
                settings["top_logprobs"] = most
        body |= settings | _reasoning(options.get("reasoning"), host, model)
    specs = request.specs
    wish = wish_in(options)
    ours = cache.get_shared(_TOOLS, (specs, wish, host), lambda: _functions(specs, wish, host))
    body |= _tools(request, host, ours)
    if request.output is not None:
        body["response_format"] = _format(request.output, wish, host)
    body |= host.adds
    if extra := mapping(options.get("extra")):
        body |= extra
    messages = body.pop("messages", None)
    return _ChatHead(body, messages, ours.held)


def _reasoning(wanted: Any, host: Host, model: str) -> dict[str, Any]:
    if wanted is None:
        return {}
    if isinstance(wanted, str) and wanted not in EFFORTS:
        raise EncodeError(
            NAME,
            f"{wanted!r} is not one of {', '.join(EFFORTS)}; give a word of the host's own in "
            "extra={'reasoning_effort': …}.",
            where="options.reasoning",
        )
    thinking = host.thinking_of(model)
    off = wanted in (0, "none")
    match thinking.effort:
        case "":
            return {}
        case "reasoning":
            return {"reasoning": {"max_tokens" if isinstance(wanted, int) else "effort": wanted}}
        case "enable_thinking":
            if isinstance(wanted, int) and wanted:
                return {"enable_thinking": True, "thinking_budget": wanted}
            return {"enable_thinking": not off}
        case "adaptive":
            return {"thinking": {"type": "disabled" if off else "adaptive"}}
        case "thinking" if off:
            return {"thinking": {"type": "disabled"}}
    if isinstance(wanted, int):
        wanted = next((word for most, word in _BUDGETS if wanted <= most), "high")
    effort = {"reasoning_effort": thinking.nearest(wanted)}
    if thinking.effort == "thinking":
        return {"thinking": {"type": "enabled"}, **effort}
    return effort


def _tools(request: Request, host: Host, ours: _ChatTools) -> dict[str, Any]:
    options = request.options
    tools = [*ours.sent, *sequence(options.get("vendor_tools"))]
    if not tools:
        if request.choice == "required" or isinstance(request.choice, Named):
            raise EncodeError(NAME, "a tool must be called, and there is none.", where="choice")
        # OpenAI refuses tool_choice and parallel_tool_calls without tools.
        return {}
    members: dict[str, Any] = {"tools": tools}
    if host.only_auto and request.choice != "auto":
        if request.choice == "none":
            return {}
        raise EncodeError(NAME, "this host cannot be forced to call a tool.", where="choice")
    match request.choice:
        case "auto":
            pass
        case "required":
            members["tool_choice"] = host.required
        case "none":
            members["tool_choice"] = "none"
        case Named(name):
            kind = "function"
            is_named = True
            spec = next((spec for spec in request.specs if spec.name == name), None)
            if spec is not None and (own := _native(spec)):
                kind = own["type"]
                is_named = kind in own
            elif spec is not None and _is_custom(spec, host):
                kind = "custom"
            members["tool_choice"] = {"type": kind, kind: {"name": name}} if is_named else {"type": kind}
    if options.get("parallel") is not None and host.parallel:
        members["parallel_tool_calls"] = options["parallel"]
    return members


def _is_custom(spec: Spec, host: Host) -> bool:
    return host.custom and spec.input == "text"


def _functions(specs: Sequence[Spec], wish: Wish, host: Host) -> _ChatTools:
    ours = [spec for spec in specs if not _native(spec) and not _is_custom(spec, host)]
    strict = choose_strict_tools(ours, wish, strict_mode(host=host))
    tools = [
        _native(spec)
        or (_custom(spec) if _is_custom(spec, host) else None)
        or _tool(spec, strict.schemas.get(spec.name))
        for spec in specs
    ]
    return _ChatTools([msgspec.Raw(as_bytes(tool, NAME)) for tool in tools], strict.held)


def _native(spec: Spec) -> dict[str, Any]:
    """The host's own definition of a tool, if there is one; raises if it is not a tool definition."""
    if "type" not in spec.native.get(NAME, {"type": None}):
        raise EncodeError(
            NAME,
            "a native tool of Chat has a type; what is a member of the body, as web_search_options, "
            "goes into options={'extra': …}.",
            where=f"tool {spec.name!r}",
        )
    return native_of(spec, NAME)


def _custom(spec: Spec) -> dict[str, Any]:
    """A tool with text input, and the grammar of that text."""
    form: dict[str, Any] = {"type": "text"}
    for syntax, definition in spec.grammar.items():
        form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    custom = {"name": spec.name, "description": with_examples(spec.description, spec), "format": form}
    return {"type": "custom", "custom": custom}


def _tool(spec: Spec, strict: JsonObject | None) -> dict[str, Any]:
    description = with_examples(with_grammar(spec.description, spec), spec)
    function: dict[str, Any] = {"name": spec.name, "description": description}
    if strict is None:
        return {"type": "function", "function": {**function, "parameters": spec.parameters}}
    return {"type": "function", "function": {**function, "parameters": strict, "strict": True}}


def _format(schema: JsonObject, wish: Wish, host: Host) -> dict[str, Any]:
    """The response format for a schema: strict as for tools, or if the schema can be sent unchanged."""
    if schema == ANY_OBJECT:
        # JSON mode requires the word JSON in the instructions: the agent puts it there.
        return {"type": "json_object"}
    found = convert_strict(schema, STRICT)
    sent = None
    if wish is True and found.schema is None:
        raise EncodeError(NAME, found.reason, where=f"output at {found.place}")
    if wish is True or (wish == "auto" and not found.reason and (host.strict or not found.nulled)):
        sent = found.schema
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "output",
            "schema": schema if sent is None else sent,
            "strict": sent is not None,
        },
    }
