"""Encodes a request for Converse. The same request gives the same bytes.

Choices for what the vendor cannot express directly:

- Converse cannot express "call no tool". If no tool was called yet, none is sent; else Claude gets its
  own ``tool_choice``, and other models are just not asked to call one. A request whose history has
  calls must have tools, so the tools that were called are added to a request without any.
- Only Claude can be limited to one call at a time, by its own ``tool_choice``, which must not be sent
  together with Converse's: https://github.com/BerriAI/litellm/issues/36536
- An effort level in ``reasoning`` means adaptive thinking for Claude; for OpenAI's, Qwen's and Nova's
  models it goes into a field of their own. A number is Claude's manual budget. A forced choice is
  refused with a budget and by newer Claude models, so there the model chooses.
- ``extra`` is merged into the body, so that ``additionalModelRequestFields`` gains members.
- ``seed`` has no counterpart and is left out. Neither has JSON mode: the instructions ask for it.
- ``user`` is sent as metadata, for AWS's own logs.
- A native definition is sent in Claude's own fields; for other models it is an ordinary tool.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, Held, Named, Outgoing, Request, Sign
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.bedrock.messages import MARK, Turns, encode_messages, marked, marks_in
from rightcall.wire.bedrock.sigv4 import credentials_in, signer
from rightcall.wire.bedrock.tables import (
    EAGER_BETA,
    EFFORTS,
    MAX_MARKS,
    NAME,
    RULES,
    TTLS,
    Maker,
    maker_of,
)
from rightcall.wire.caching import lifetime
from rightcall.wire.claude import (
    BINDING_BETA,
    MIN_BUDGET,
    budget_of,
    can_be_forced,
    effort_of,
    strict_refusal,
    unbound,
    unthinking,
    word_of,
)
from rightcall.wire.encoding import (
    EncodeCache,
    as_bytes,
    check_native,
    described,
    mapping,
    native_of,
    sequence,
    with_examples,
)
from rightcall.wire.logprobs import refuse
from rightcall.wire.strict import strict_schema
from rightcall.wire.strictness import StrictMode, Wish, chosen, wish_in

_Json = dict[str, Any]
_FIELDS = "additionalModelRequestFields"
_FORCED = ("any", "tool")


class _Ours(msgspec.Struct, frozen=True):
    """Our tools, in Converse's format and in Claude's own."""

    sent: list[Any]
    native: list[_Json]
    held: Held


def strict_mode(model: str = "") -> StrictMode:
    """A model's strict mode for tools."""
    return StrictMode(rules=RULES, unasked=strict_refusal(model))


def authorize(key: str, /) -> Mapping[str, str] | Sign:
    """The header with a Bedrock API key, or a function that signs each request.

    It signs if the key is ``access key id:secret access key``, optionally followed by a colon and a
    session token.
    """
    credentials = credentials_in(key)
    return {"authorization": f"Bearer {key}"} if credentials is None else signer(credentials)


def encoder() -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> Outgoing:
    """Encode the request for the vendor."""
    cache, maker, options = cache or EncodeCache(), maker_of(model), request.options
    refuse(options, NAME)
    ttl = lifetime(options, TTLS, NAME)
    mark = {MARK: {"type": "default", **({"ttl": ttl} if ttl else {})}}
    turns = encode_messages(request, cache, maker, mark)
    fields, output = _reasoning(request, options.get("reasoning"), model, maker, turns)
    body: _Json = {}
    if request.system.strip():
        body["system"] = [{"text": request.system}]
    if settings := _inference(request):
        body["inferenceConfig"] = settings
    ours = _ours(request, model, cache, is_claude=maker.own_choice)
    body |= _tools(request, ours, maker, turns, fields, model)
    _mark_tools(request, body, maker, mark)
    if maker.own_choice:
        fields |= _betas(request, model, fields)
    if request.output is not None and request.output != ANY_OBJECT:
        output["textFormat"] = _text_format(request.output)
    if output:
        body["outputConfig"] = output
    if fields:
        body[_FIELDS] = fields
    if options.get("user"):
        body["requestMetadata"] = {"user": options["user"]}
    if options.get("cache", True) and maker.caches:
        _mark(body, turns, maker, mark)
    body["messages"] = [*turns.done, *turns.last]
    extra = options.get("extra")
    body = _merged(body, extra) if isinstance(extra, Mapping) else body
    # Last, so that a longer history only adds to the bytes of a shorter one.
    body["messages"] = body.pop("messages")
    return Outgoing(
        path=f"/model/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}",
        body=as_bytes(body, NAME),
        headers={"content-type": "application/json"},
        held=ours.held,
    )


def _betas(request: Request, model: str, fields: _Json) -> _Json:
    """The members for Claude's betas, in Claude's own fields."""
    bound = unbound(fields.get("thinking", {}), request.messages, model)
    needed = [EAGER_BETA] * bool(request.options.get("eager")) + [BINDING_BETA] * (bound is not None)
    return {**({"thinking": bound} if bound else {}), **({"anthropic_beta": needed} if needed else {})}


def _inference(request: Request) -> _Json:
    options = request.options
    settings: _Json = {
        "maxTokens": request.max_tokens,
        "temperature": options.get("temperature"),
        "topP": options.get("top_p"),
        "stopSequences": list(sequence(options.get("stop"))) or None,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _text_format(output: JsonObject) -> _Json:
    schema = strict_schema(output, RULES, tool="output").schema
    return {
        "type": "json_schema",
        "structure": {"jsonSchema": {"name": "output", "schema": dump(schema)}},
    }


def _reasoning(
    request: Request, wanted: object, model: str, maker: Maker, turns: Turns
) -> tuple[_Json, _Json]:
    """The maker's own fields and Converse's ``outputConfig`` that set the amount of thinking."""
    match wanted:
        case None:
            return {}, {}
        case bool():
            pass
        case "none" | 0:
            return _unthinking(maker, model)
        case str(word) if maker.own_choice and (tokens := budget_of(word, model, request.max_tokens)):
            return _reasoning(request, tokens, model, maker, turns)
        case str(word) if word in EFFORTS and maker.own_choice:
            return {"thinking": {"type": "adaptive"}}, {"effort": effort_of(EFFORTS[word], model)}
        case str(word) if word in EFFORTS and (maker.effort_field or maker.config_field):
            effort = EFFORTS[word] if EFFORTS[word] in maker.efforts else maker.efforts[-1]
            if maker.effort_field:
                return {maker.effort_field: effort}, {}
            return {maker.config_field: {"type": "enabled", "maxReasoningEffort": effort}}, {}
        case int(tokens) if tokens > 0 and maker.own_choice and (nearest := word_of(tokens, model)):
            return _reasoning(request, nearest, model, maker, turns)
        case int(tokens) if tokens > 0 and maker.own_choice:
            budget = max(tokens, MIN_BUDGET)
            _check_budget(budget, request.max_tokens)
            if _is_unthought(turns.last):
                return {}, {}
            return {"thinking": {"type": "enabled", "budget_tokens": budget}}, {}
        case _:
            pass
    raise EncodeError(
        NAME,
        f"{request.options['reasoning']!r} is not none or one of {', '.join(EFFORTS)} (for Claude also "
        f"a number of tokens), or this model has no known word for it; give the model's own in "
        f"extra={{{_FIELDS!r}: {{…}}}}.",
        where="options.reasoning",
    )


def _unthinking(maker: Maker, model: str) -> tuple[_Json, _Json]:
    if maker.own_choice:
        thinking, config = unthinking(model)
        return {"thinking": thinking} if thinking else {}, {**config}
    return {maker.config_field: {"type": "disabled"}} if maker.config_field else {}, {}


def _check_budget(budget: int, max_tokens: int | None) -> None:
    if max_tokens is not None and max_tokens <= budget:
        raise EncodeError(
            NAME,
            f"max_tokens ({max_tokens:,}) must be more than the thinking budget ({budget:,}), which is "
            f"part of it and at least {MIN_BUDGET:,}; raise the one or lower the other.",
            where="max_tokens",
        )


def _is_unthought(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last messages answer calls made without thinking: then Claude must not think."""
    if len(messages) < 2 or "toolResult" not in messages[-1]["content"][0]:  # noqa: PLR2004
        return False
    return "reasoningContent" not in messages[-2]["content"][0]


def _tools(
    request: Request, ours: _Ours, maker: Maker, turns: Turns, fields: _Json, model: str
) -> dict[str, _Json]:
    """The ``toolConfig``; adds to ``fields`` what only Claude's own fields can express."""
    tools = [*map(mapping, sequence(request.options.get("vendor_tools"))), *ours.sent]
    names = [spec.name for spec in request.specs]
    _check_choice(request, names, is_any=bool(tools or ours.native))
    if not tools and turns.called and not ours.native:
        tools = [_known(name) for name in turns.called]
    if request.choice == "none" and not turns.called:
        return {}
    if ours.native:
        fields["tools"] = ours.native
    if not tools and not ours.native:
        return {}
    natives = [tool.get("name") for tool in ours.native]
    is_own = isinstance(request.choice, Named) and request.choice.name in natives
    choice = _choice(request, maker, fields, is_own=is_own or not tools, model=model)
    return {"toolConfig": {**choice, "tools": tools}} if tools else {}


def _choice(request: Request, maker: Maker, fields: _Json, *, is_own: bool, model: str) -> _Json:
    """Converse's ``toolChoice``, or nothing if Claude's own choice, in its fields, replaces it.

    ``is_own``: the chosen tool is not among Converse's tools.
    """
    match request.choice:
        case Named(name):
            own: _Json = {"type": "tool", "name": name}
            choice: _Json = {"tool": {"name": name}}
        case "required":
            own, choice = {"type": "any"}, {"any": {}}
        case "none":
            own, choice = {"type": "none"}, {}
        case _:
            own, choice = {"type": "auto"}, {}
    is_free = mapping(fields.get("thinking")).get("type") == "enabled" or not can_be_forced(model)
    if is_free and own["type"] in _FORCED:
        own, choice = {"type": "auto"}, {}
    if not maker.own_choice:
        return {"toolChoice": choice} if choice else {}
    is_alone = request.options.get("parallel") is False and own["type"] != "none"
    if is_alone or own["type"] == "none" or (is_own and own["type"] in _FORCED):
        fields["tool_choice"] = {**own, **({"disable_parallel_tool_use": True} if is_alone else {})}
        return {}
    return {"toolChoice": choice} if choice else {}


def _check_choice(request: Request, names: Sequence[str], *, is_any: bool) -> None:
    match request.choice:
        case Named(name) if name not in names:
            raise EncodeError(NAME, f"there is no tool {name!r} to be called.", where="choice")
        case "required" if not is_any:
            raise EncodeError(NAME, "there is no tool to be called.", where="choice")
        case _:
            pass


def _ours(request: Request, model: str, cache: EncodeCache, *, is_claude: bool) -> _Ours:
    specs, wish = request.specs, wish_in(request.options)
    output = None if request.output == ANY_OBJECT else request.output
    given = (specs, wish, output, model)
    return cache.shared(
        f"{NAME}.tools",
        given,
        lambda: _written(specs, wish, strict_mode(model), output, is_claude=is_claude),
    )


def _written(
    specs: Sequence[Spec],
    wish: Wish,
    mode: StrictMode,
    output: JsonObject | None,
    *,
    is_claude: bool,
) -> _Ours:
    for spec in specs:
        check_native(spec, NAME)
    native = [spec for spec in specs if is_claude and spec.native.get(NAME)]
    ours = [spec for spec in specs if not (is_claude and spec.native.get(NAME))]
    strict = chosen(ours, wish, mode, output)
    tools = [_tool(spec, strict.schemas.get(spec.name)) for spec in ours]
    return _Ours(
        sent=[msgspec.Raw(as_bytes({"toolSpec": tool}, NAME)) for tool in tools],
        native=[native_of(spec, NAME) for spec in native],
        held=strict.held,
    )


def _tool(spec: Spec, strict: JsonObject | None) -> _Json:
    description = with_examples(described(spec.description, spec), spec)
    return {
        "name": spec.name,
        **({"description": description} if description.strip() else {}),
        "inputSchema": {"json": spec.parameters if strict is None else strict},
        **({} if strict is None else {"strict": True}),
    }


def _known(name: str) -> _Json:
    """The definition of a tool that was called and is no longer offered.

    "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    """
    told = "Not available any more."
    schema = {"json": {"type": "object", "properties": {}}}
    return {"toolSpec": {"name": name, "description": told, "inputSchema": schema}}


def _mark_tools(request: Request, body: _Json, maker: Maker, mark: _Json) -> None:
    """Put cache points after the tools that are to be cached."""
    kept = [spec.name for spec in request.specs if spec.cache]
    config = body.get("toolConfig")
    if not kept or config is None or not maker.caches_tools:
        return
    # ``toolConfig`` lacks Claude's own tools, and begins with the vendor's.
    names = [spec.name for spec in request.specs if not (maker.own_choice and spec.native.get(NAME))]
    names = [""] * (len(config["tools"]) - len(names)) + names
    pairs = zip(config["tools"], names, strict=True)
    config["tools"] = [each for tool, name in pairs for each in (tool, *([mark] * (name in kept)))]


def _mark(body: _Json, turns: Turns, maker: Maker, mark: _Json) -> None:
    """Put cache points where the prompt is likely to stay the same, the best places first."""
    said = [turn for turn in turns.last if turn["role"] == "user"]
    config = body.get("toolConfig", {})
    given = turns.marks + sum([marks_in(turn["content"]) for turn in turns.last])
    given += marks_in([tool for tool in config.get("tools", ()) if isinstance(tool, Mapping)])
    places: list[tuple[_Json, str]] = [(turn, "content") for turn in said[-1:]]
    places += [(body, "system")] if "system" in body else []
    places += [(config, "tools")] if config and maker.caches_tools else []
    places += [(turn, "content") for turn in said[-2:-1]]
    for holder, member in places[: max(MAX_MARKS - given, 0)]:
        if member == "tools":
            holder[member] = [*holder[member], *([] if mark in holder[member][-1:] else [mark])]
        else:
            holder[member] = marked(holder[member], mark)


def _merged(body: _Json, extra: Mapping[str, Any]) -> _Json:
    """The body with the members of ``extra``; settings that are objects are merged, not replaced."""
    merged = dict(body)
    for name, value in extra.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, Mapping):
            merged[name] = _merged(before, value)
        else:
            merged[name] = value
    return merged
