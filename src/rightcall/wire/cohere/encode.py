"""Encodes a request for Cohere's Chat, version 2. The same request gives the same bytes.

Choices for what the vendor cannot express directly:

- A choice of one tool is not supported: only that tool is sent, and a call is required.
- Strict mode is one switch for all tools, so it is set only if all of them are to be strict.
- The vendor refuses an output schema together with tools; here that raises before anything is sent.
- There is no switch for one call at a time, no cache to mark and no field for an end user's name, so
  ``parallel``, ``cache`` and ``user`` change nothing.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.cohere.messages import messages_of
from rightcall.wire.cohere.tables import NAME, RULES
from rightcall.wire.payload import JSON_HEADERS, EncodeCache, as_bytes, sequence, with_examples
from rightcall.wire.reply_extras import refuse_logprobs
from rightcall.wire.strict_schema import strict_schema, subset_schema
from rightcall.wire.strictness import StrictMode, wish_in

PATH = "/v2/chat"
_UNASKED = "Cohere has one strict mode for all tools, which strict=True of all of them asks for."
_BUDGETS = {"minimal": 512, "low": 2048, "medium": 8192, "high": 16384, "xhigh": None, "max": None}
"""The token budget for an effort level; None for no limit."""


def strict_mode(model: str = "") -> StrictMode:  # noqa: ARG001 - all models are alike in this
    """The strict mode for tools, which cannot be set per tool."""
    return StrictMode(rules=None, unasked=_UNASKED)


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key."""
    return {"authorization": f"Bearer {key}"}


def encoder() -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> EncodedRequest:
    """Encode the request for Cohere."""
    cache = cache or EncodeCache()
    options = request.options
    refuse_logprobs(options, NAME)
    body: dict[str, Any] = {"model": model, "stream": stream}
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    for name, word in (("temperature", "temperature"), ("top_p", "p"), ("seed", "seed")):
        if options.get(name) is not None:
            body[word] = options[name]
    if stop := options.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else list(sequence(stop))
    body |= _thinking(options.get("reasoning"))
    body |= _tools(request, cache)
    if request.output is not None:
        if "tools" in body:
            raise EncodeError(
                NAME, "an output schema is not taken beside tools; ask for a tool's.", where="output"
            )
        body["response_format"] = {"type": "json_object"}
        if request.output != ANY_OBJECT:
            body["response_format"]["json_schema"] = subset_schema(request.output, RULES).schema
    extra = options.get("extra")
    if isinstance(extra, Mapping):
        body |= extra
    # Last, so that a longer history only adds to the bytes of a shorter one.
    messages = body.pop("messages", None)
    body["messages"] = messages_of(request, cache) if messages is None else messages
    return EncodedRequest(path=PATH, body=as_bytes(body, NAME), headers=JSON_HEADERS)


def _thinking(wanted: Any) -> dict[str, Any]:
    """https://docs.cohere.com/docs/reasoning."""
    if wanted is None:
        return {}
    if wanted in (0, "none"):
        return {"thinking": {"type": "disabled"}}
    if not isinstance(wanted, int) and wanted not in _BUDGETS:
        words = ", ".join(_BUDGETS)
        raise EncodeError(
            NAME, f"{wanted!r} is not none, {words} or a number of tokens.", where="options.reasoning"
        )
    budget = wanted if isinstance(wanted, int) else _BUDGETS[wanted]
    thinking: dict[str, Any] = {"type": "enabled"}
    if budget:
        thinking["token_budget"] = budget
    return {"thinking": thinking}


def _tools(request: Request, cache: EncodeCache) -> dict[str, Any]:
    choice = request.choice
    options = request.options
    specs = request.specs
    if isinstance(choice, Named):
        specs = tuple(spec for spec in specs if spec.name == choice.name)
    wish = wish_in(options)
    asked = [wish is True if spec.strict is None else spec.strict for spec in specs]
    strict = bool(asked) and all(asked)
    ours = cache.get_shared(
        f"{NAME}.tools {choice if isinstance(choice, Named) else ''}",
        (request.specs, strict),
        lambda: _functions(specs, strict=strict),
    )
    tools = [*ours, *sequence(options.get("vendor_tools"))]
    if not tools:
        if choice == "required" or isinstance(choice, Named):
            raise EncodeError(NAME, "a tool must be called, and there is none.", where="choice")
        return {}
    members: dict[str, Any] = {"tools": tools}
    if strict:
        members["strict_tools"] = True
    if choice == "none":
        members["tool_choice"] = "NONE"
    elif choice != "auto":
        members["tool_choice"] = "REQUIRED"
    return members


def _functions(specs: Sequence[Spec], *, strict: bool) -> list[msgspec.Raw]:
    return [msgspec.Raw(as_bytes(_tool(spec, strict=strict), NAME)) for spec in specs]


def _tool(spec: Spec, *, strict: bool) -> dict[str, Any]:
    parameters = spec.parameters
    if strict:
        if not parameters.get("required"):
            raise EncodeError(
                NAME,
                "strict mode wants a parameter that is required; require one, or leave strict mode.",
                where=f"tool {spec.name!r}",
            )
        parameters = strict_schema(parameters, RULES, tool=spec.name).schema
    told = {"name": spec.name, "description": with_examples(spec.description, spec)}
    return {"type": "function", "function": {**told, "parameters": parameters}}
