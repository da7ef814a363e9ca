"""Encodes a request for Ollama's Chat. The same request gives the same bytes.

Choices for what the vendor cannot express directly:

- A tool call cannot be forced: requiring one raises. If no tool may be called, none is sent.
- There is no strict mode; requiring it raises.
- There is no switch for one call at a time, no cache to mark and no field for an end user's name, so
  ``parallel``, ``cache`` and ``user`` change nothing.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.ollama.messages import messages_of
from rightcall.wire.ollama.tables import EFFORTS, NAME
from rightcall.wire.payload import (
    JSON_HEADERS,
    EncodeCache,
    as_bytes,
    mapping,
    native_of,
    sequence,
    with_examples,
    with_grammar,
)
from rightcall.wire.reply_extras import wanted_alternatives
from rightcall.wire.strictness import StrictMode, wish_in

PATH = "/api/chat"
_UNASKED = "Ollama does not hold models to the schemas of tools."


def strict_mode(model: str = "") -> StrictMode:  # noqa: ARG001 - all models are alike in this
    """The strict mode for tools, of which there is none."""
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
    """Encode the request for Ollama."""
    cache = cache or EncodeCache()
    body: dict[str, Any] = {"model": model, "stream": stream}
    effort = request.options.get("reasoning")
    if effort is not None:
        if not isinstance(effort, str) or effort not in EFFORTS:
            raise EncodeError(
                NAME,
                f"{effort!r} is none of {', '.join(EFFORTS)}; Ollama counts no tokens of thinking.",
                where="option 'reasoning'",
            )
        body["think"] = EFFORTS[effort]
    if settings := _settings(request):
        body["options"] = settings
    if request.output is not None:
        if request.output == ANY_OBJECT:
            body["format"] = "json"
        else:
            body["format"] = request.output
    if (most := wanted_alternatives(request.options, NAME)) is not None:
        body |= {"logprobs": True, **({"top_logprobs": most} if most else {})}
    if tools := _tools(request, cache):
        body["tools"] = tools
    extra = request.options.get("extra")
    if isinstance(extra, Mapping):
        # The options gain members instead of being replaced.
        options = {**body.get("options", {}), **mapping(extra.get("options"))}
        body = {**body, **extra}
        if options and isinstance(body["options"], Mapping):
            body["options"] = options
    # Last, so that a longer history only adds to the bytes of a shorter one.
    messages = body.pop("messages", None)
    body["messages"] = messages_of(request, cache) if messages is None else messages
    return EncodedRequest(path=PATH, body=as_bytes(body, NAME), headers=JSON_HEADERS)


def _settings(request: Request) -> dict[str, Any]:
    options = request.options
    given = {
        "num_predict": request.max_tokens,
        "temperature": options.get("temperature"),
        "top_p": options.get("top_p"),
        "seed": options.get("seed"),
        "stop": list(sequence(options.get("stop"))) or None,
    }
    return {key: value for key, value in given.items() if value is not None}


def _tools(request: Request, cache: EncodeCache) -> list[Any]:
    if request.choice == "none":
        return []
    if request.choice != "auto":
        raise EncodeError(NAME, "Ollama cannot make a model call a tool.", where="choice")
    everywhere = wish_in(request.options) is True
    for spec in request.specs:
        if spec.strict or (everywhere and spec.strict is None):
            where = f"tool {spec.name!r}"
            raise EncodeError(NAME, f"{_UNASKED} Leave strict mode out.", where=where)
    ours = cache.get_shared(f"{NAME}.tools", request.specs, lambda: _functions(request.specs))
    return [*ours, *sequence(request.options.get("vendor_tools"))]


def _functions(specs: Sequence[Spec]) -> list[msgspec.Raw]:
    return [msgspec.Raw(as_bytes(_tool(spec), NAME)) for spec in specs]


def _tool(spec: Spec) -> dict[str, Any]:
    if own := native_of(spec, NAME):
        return own
    description = with_grammar(with_examples(spec.description, spec), spec)
    told = {"name": spec.name, "description": description, "parameters": spec.parameters}
    return {"type": "function", "function": told}
