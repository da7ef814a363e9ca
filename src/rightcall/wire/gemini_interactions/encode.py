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

from rightcall.core.message import Reply, Transcript
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.gemini_interactions.messages import steps_of
from rightcall.wire.gemini_interactions.tables import EFFORTS, NAME
from rightcall.wire.google import key_headers, thinks_minimally
from rightcall.wire.payload import (
    JSON_HEADERS,
    EncodeCache,
    as_bytes,
    mapping,
    native_of,
    present,
    sequence,
    with_examples,
    with_grammar,
)
from rightcall.wire.reply_extras import refuse_logprobs
from rightcall.wire.strictness import StrictMode, wish_in
from rightcall.wire.vendor_state import Since

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
) -> EncodedRequest:
    """Encode the request for the vendor.

    With ``since`` the vendor stores the interaction, and gets only what is new since the last one.
    """
    cache = cache or EncodeCache()
    messages, paused = _drop_paused(request.messages)
    body: dict[str, Any] = {"model": model, "stream": stream, "store": since is not None}
    if request.system:
        body["system_instruction"] = request.system
    ours = cache.get_shared(f"{NAME}.tools", request.specs, lambda: _tools(request.specs))
    if tools := [*ours, *sequence(request.options.get("vendor_tools"))]:
        body["tools"] = tools
    if settings := _generation(request, model):
        body["generation_config"] = settings
    if request.output is not None:
        body["response_format"] = {"type": "text", "mime_type": "application/json"}
        if request.output != ANY_OBJECT:
            body["response_format"]["schema"] = request.output
    if since is not None and (before := paused.get("id") or since.response):
        body["previous_interaction_id"] = before
    if paused:
        body["continuation_token"] = paused["continuation_token"]
    extra = request.options.get("extra")
    if isinstance(extra, Mapping):
        # The settings are merged, not replaced.
        before = body.get("generation_config")
        more = extra.get("generation_config")
        body |= extra
        if isinstance(before, dict) and isinstance(more, Mapping):
            body["generation_config"] = {**before, **more}
    if "input" not in body and not (paused and "previous_interaction_id" in body):
        body["input"] = steps_of(messages, cache, 0 if since is None else since.first)
    return EncodedRequest(path=PATH, body=as_bytes(body, NAME), headers=JSON_HEADERS)


def _drop_paused(messages: Transcript) -> tuple[Transcript, Mapping[str, Any]]:
    """The messages without replies that paused, and the vendor bag of the last of those.

    A stored interaction continues without new input; otherwise the same input is sent again
    (google-genai, ``_interactions_continuation.py``).
    """
    end = len(messages)
    last: Mapping[str, Any] = {}
    while end:
        message = messages[end - 1]
        if not isinstance(message, Reply) or message.stop != "pause":
            break
        bag = mapping(message.vendor.get(NAME))
        if not isinstance(bag.get("continuation_token"), str):
            break
        end -= 1
        last = last or bag
    return messages[:end], last


def _tools(specs: Sequence[Spec]) -> list[msgspec.Raw]:
    return [msgspec.Raw(as_bytes(_tool(spec), NAME)) for spec in specs]


def _tool(spec: Spec) -> dict[str, Any]:
    if own := native_of(spec, NAME):
        return own
    description = with_grammar(with_examples(spec.description, spec), spec)
    return {
        "type": "function",
        "name": spec.name,
        "description": description,
        "parameters": spec.parameters,
    }


def _generation(request: Request, model: str) -> dict[str, Any]:
    options = request.options
    refuse_logprobs(options, NAME)
    config: dict[str, Any] = {
        "max_output_tokens": request.max_tokens,
        "temperature": options.get("temperature"),
        "top_p": options.get("top_p"),
        "seed": options.get("seed"),
        "stop_sequences": list(sequence(options.get("stop"))) or None,
        "tool_choice": _choice(request),
        **_thinking(options.get("reasoning"), model),
    }
    return present(config)


def _choice(request: Request) -> str | dict[str, Any] | None:
    names = [spec.name for spec in request.specs]
    match request.choice:
        case "auto":
            # There is one mode for all tools: one strict tool makes all of them strict.
            everywhere = wish_in(request.options) is True
            for spec in request.specs:
                if spec.strict or (everywhere and spec.strict is None):
                    return "validated"
            return None
        case "none":
            if names:
                return "none"
            return None
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
    level = EFFORTS[wanted]
    if level == "minimal" and not thinks_minimally(model):
        level = "low"
    if wanted == "none":
        return {"thinking_level": level}
    return {"thinking_level": level, "thinking_summaries": "auto"}
