"""A request into the bytes of a Chat Completions body.

The members that stay come first and ``messages`` last, so that a longer history extends the bytes of a
shorter one.
"""

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, Named, Outgoing, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.caching import of_openai
from rightcall.wire.encoding import EncodeCache, as_bytes, is_strict, sequence, with_examples
from rightcall.wire.logprobs import alternatives
from rightcall.wire.openai_chat.hosts import OPENAI, Host
from rightcall.wire.openai_chat.messages import messages_of
from rightcall.wire.openai_chat.tables import NAME, TTLS
from rightcall.wire.strict import OPENAI as OPENAI_RULES
from rightcall.wire.strict import check_ceilings, strict_schema

STRICT = replace(OPENAI_RULES, dialect=NAME)
PATH = "/chat/completions"
_SAMPLING = ("temperature", "top_p")
_BUDGETS = ((0, "none"), (2048, "low"), (16384, "medium"))
"""A number of tokens to think with, up to which a word stands for it; ``high`` beyond."""


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key; none for a server that wants none."""
    return {"authorization": f"Bearer {key}"} if key else {}


def encoder(host: Host = OPENAI) -> Encode:
    """An ``encode`` for one conversation, which writes each of its messages once."""
    return partial(encode, host=host, cache=EncodeCache())


def encode(
    request: Request,
    /,
    *,
    model: str,
    stream: bool,
    host: Host = OPENAI,
    cache: EncodeCache | None = None,
) -> Outgoing:
    """The request as the host wants it."""
    cache = cache or EncodeCache()
    options = request.options
    body: dict[str, Any] = {"model": model}
    if stream:
        body["stream"] = True
        if host.stream_usage:
            body["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        body[host.limit] = request.max_tokens
    body |= {name: options[name] for name in _SAMPLING if options.get(name) is not None}
    if options.get("seed") is not None:
        body[host.seed] = options["seed"]
    if options.get("stop"):
        stop = options["stop"]
        body["stop"] = [stop] if isinstance(stop, str) else list(sequence(stop))
    if options.get("user") and host.user:
        body["user"] = options["user"]
    if host.caches:
        body |= of_openai(options, TTLS, NAME)
    if (most := alternatives(options, NAME)) is not None:
        body |= {"logprobs": True, **({"top_logprobs": most} if most else {})}
    body |= _reasoning(options.get("reasoning"), host)
    body |= _tools(request, host, cache)
    if request.output is not None:
        body["response_format"] = _format(request.output, strict=options.get("strict") is True)
    extra = options.get("extra")
    if isinstance(extra, Mapping):
        body |= extra
    messages = body.pop("messages", None)
    body["messages"] = messages_of(request, host, cache) if messages is None else messages
    return Outgoing(path=PATH, body=as_bytes(body, NAME), headers={"content-type": "application/json"})


def _reasoning(wanted: Any, host: Host) -> dict[str, Any]:
    if wanted is None:
        return {}
    if host.effort == "reasoning":
        return {"reasoning": {"max_tokens": wanted} if isinstance(wanted, int) else {"effort": wanted}}
    if isinstance(wanted, int):
        wanted = next((word for most, word in _BUDGETS if wanted <= most), "high")
    return {"reasoning_effort": wanted}


def _tools(request: Request, host: Host, cache: EncodeCache) -> dict[str, Any]:
    options = request.options
    strict = options.get("strict") is True and host.strict
    specs = request.specs
    ours = cache.made(
        f"{NAME}.tools", (specs, strict), lambda: _functions(specs, _held(specs, host, strict=strict))
    )
    tools = [*ours, *sequence(options.get("vendor_tools"))]
    if not tools:
        if request.choice == "required" or isinstance(request.choice, Named):
            raise EncodeError(NAME, "a tool must be called, and there is none.", where="choice")
        # OpenAI refuses tool_choice and parallel_tool_calls without tools.
        return {}
    members: dict[str, Any] = {"tools": tools}
    match request.choice:
        case "auto":
            pass
        case "required":
            members["tool_choice"] = host.required
        case "none":
            members["tool_choice"] = "none"
        case Named(name):
            members["tool_choice"] = {"type": "function", "function": {"name": name}}
    if options.get("parallel") is not None and host.parallel:
        members["parallel_tool_calls"] = options["parallel"]
    return members


def _held(specs: Sequence[Spec], host: Host, *, strict: bool) -> frozenset[str]:
    """The names of the tools that are sent strict."""
    return frozenset(spec.name for spec in specs if host.strict and is_strict(spec, strict))


def _functions(specs: Sequence[Spec], held: Container[str]) -> list[msgspec.Raw]:
    """The tools; those that are held are strict."""
    tools = [_tool(spec, strict=spec.name in held) for spec in specs]
    pairs = zip(specs, tools, strict=True)
    strict = [(spec, tool["function"]["parameters"]) for spec, tool in pairs if spec.name in held]
    check_ceilings([spec for spec, _ in strict], [schema for _, schema in strict], STRICT)
    return [msgspec.Raw(as_bytes(tool, NAME)) for tool in tools]


def _tool(spec: Spec, *, strict: bool) -> dict[str, Any]:
    description = with_examples(spec.description, spec)
    function: dict[str, Any] = {"name": spec.name, "description": description}
    if not strict:
        return {"type": "function", "function": {**function, "parameters": spec.parameters}}
    parameters = strict_schema(spec.parameters, STRICT, tool=spec.name).schema
    return {"type": "function", "function": {**function, "parameters": parameters, "strict": True}}


def _format(schema: JsonObject, *, strict: bool) -> dict[str, Any]:
    """The answer's schema: strict if asked for, or if that changes nothing of what it admits."""
    if schema == ANY_OBJECT:
        # JSON mode, which wants the word JSON in the instructions: the agent puts it there.
        return {"type": "json_object"}
    sent, is_strict = schema, strict
    try:
        found = strict_schema(schema, STRICT)
    except EncodeError as error:
        if strict:
            raise EncodeError(NAME, error.reason, where=f"output at {error.where}") from None
    else:
        if strict or not found.nulled:
            sent, is_strict = found.schema, True
    return {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": sent, "strict": is_strict},
    }
