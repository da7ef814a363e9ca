"""Encodes a request for the Interactions API. The same request gives the same bytes.

What stays the same from turn to turn comes first and the steps last, so that a longer history only
appends bytes. Nothing is stored with the vendor (``store: false``) unless it is to keep the conversation
(see ``wire.kept``). Gemini caches prefixes by itself, and has no field for an end user's name and no
switch for one call per reply, so ``cache``, ``cache_ttl``, ``cache_key``, ``user`` and ``parallel`` have
no effect.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rightcall.core.message import Message, Reply, Transcript
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, Named, Outgoing, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.encoding import (
    EncodeCache,
    as_bytes,
    described,
    mapping,
    native_of,
    sequence,
    with_examples,
)
from rightcall.wire.gemini_interactions.messages import steps_of
from rightcall.wire.gemini_interactions.tables import EFFORTS, NAME
from rightcall.wire.google import key_headers, thinks_minimally
from rightcall.wire.kept import Since
from rightcall.wire.logprobs import refuse
from rightcall.wire.strictness import StrictMode, wish_in

PATH = "/v1beta/interactions"
_UNASKED = "Gemini has one mode for all tools (validated), which strict=True of any tool asks for."


def strict_mode(model: str = "") -> StrictMode:  # noqa: ARG001 - all models are alike in this
    """The strict mode for tools, which cannot be set per tool."""
    return StrictMode(rules=None, unasked=_UNASKED)


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key."""
    return key_headers(key)


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
) -> Outgoing:
    """Encode the request for the vendor.

    With ``since`` the vendor stores the interaction, and gets only what is new since the last one.
    """
    cache = cache or EncodeCache()
    messages, paused = _paused(request.messages)
    body: dict[str, Any] = {"model": model, "stream": stream, "store": since is not None}
    if request.system:
        body["system_instruction"] = request.system
    ours = cache.shared(f"{NAME}.tools", request.specs, lambda: _tools(request.specs))
    if tools := [*ours, *sequence(request.options.get("vendor_tools"))]:
        body["tools"] = tools
    if settings := _generation(request, model):
        body["generation_config"] = settings
    if request.output is not None:
        body["response_format"] = _format(request)
    if since is not None and (before := paused.get("id") or since.response):
        body["previous_interaction_id"] = before
    if paused:
        body["continuation_token"] = paused["continuation_token"]
    extra = request.options.get("extra")
    body = _merged(body, extra) if isinstance(extra, Mapping) else body
    if "input" not in body and not (paused and "previous_interaction_id" in body):
        body["input"] = steps_of(messages, cache, 0 if since is None else since.first)
    return Outgoing(path=PATH, body=as_bytes(body, NAME), headers={"content-type": "application/json"})


def _paused(messages: Transcript) -> tuple[Transcript, Mapping[str, Any]]:
    """The messages without replies that paused, and the vendor bag of the last of those.

    A stored interaction continues without new input; otherwise the same input is sent again
    (google-genai, ``_interactions_continuation.py``).
    """
    end = len(messages)
    last: Mapping[str, Any] = {}
    while end and (found := _broken_off(messages[end - 1])):
        end, last = end - 1, last or found
    return messages[:end], last


def _broken_off(message: Message) -> Mapping[str, Any]:
    if not isinstance(message, Reply) or message.stop != "pause":
        return {}
    bag = mapping(message.vendor.get(NAME))
    return bag if isinstance(bag.get("continuation_token"), str) else {}


def _tools(specs: Sequence[Spec]) -> list[msgspec.Raw]:
    return [msgspec.Raw(as_bytes(_tool(spec), NAME)) for spec in specs]


def _tool(spec: Spec) -> dict[str, Any]:
    if own := native_of(spec, NAME):
        return own
    description = described(with_examples(spec.description, spec), spec)
    return {
        "type": "function",
        "name": spec.name,
        "description": description,
        "parameters": spec.parameters,
    }


def _generation(request: Request, model: str) -> dict[str, Any]:
    options = request.options
    refuse(options, NAME)
    config: dict[str, Any] = {
        "max_output_tokens": request.max_tokens,
        "temperature": options.get("temperature"),
        "top_p": options.get("top_p"),
        "seed": options.get("seed"),
        "stop_sequences": list(sequence(options.get("stop"))) or None,
        "tool_choice": _choice(request),
        **_thinking(options.get("reasoning"), model),
    }
    return {key: value for key, value in config.items() if value is not None}


def _choice(request: Request) -> str | dict[str, Any] | None:
    names = [spec.name for spec in request.specs]
    match request.choice:
        case "auto":
            # There is one mode for all tools: one strict tool makes all of them strict.
            everywhere = wish_in(request.options) is True
            held = any(spec.strict or (everywhere and spec.strict is None) for spec in request.specs)
            return "validated" if held else None
        case "none":
            return "none" if names else None
        case "required" | Named() if not names:
            raise EncodeError(NAME, "a call is required but there are no tools.", where="choice")
        case "required":
            return "any"
        case Named(name):
            if name not in names:
                raise EncodeError(NAME, f"there is no tool {name!r} to require.", where="choice")
            return {"allowed_tools": {"mode": "any", "tools": [name]}}


def _thinking(wanted: Any, model: str) -> dict[str, Any]:
    """https://ai.google.dev/gemini-api/docs/interactions/thinking."""
    if wanted is None:
        return {}
    if not isinstance(wanted, str) or wanted not in EFFORTS:
        raise EncodeError(
            NAME,
            f"{wanted!r} is none of {', '.join(EFFORTS)}; the Interactions API has levels of thinking, "
            "and no number of tokens.",
            where="option 'reasoning'",
        )
    summaries = {} if wanted == "none" else {"thinking_summaries": "auto"}
    level = EFFORTS[wanted]
    if level == "minimal" and not thinks_minimally(model):
        level = "low"
    return {"thinking_level": level, **summaries}


def _format(request: Request) -> dict[str, Any]:
    schema = {} if request.output == ANY_OBJECT else {"schema": request.output}
    return {"type": "text", "mime_type": "application/json", **schema}


def _merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the members of ``extra``; the settings are merged, not replaced."""
    before, more = body.get("generation_config"), extra.get("generation_config")
    merged = {**body, **extra}
    if isinstance(before, dict) and isinstance(more, Mapping):
        merged["generation_config"] = {**before, **more}
    return merged
