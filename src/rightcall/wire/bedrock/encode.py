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
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request, Sign, StrictTools
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.bedrock.messages import MARK, ConverseTurns, add_mark, encode_messages, marks_in
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
from rightcall.wire.claude import (
    BINDING_BETA,
    MIN_BUDGET,
    budget_for_effort,
    can_be_forced,
    check_budget,
    drop_unbound_thoughts,
    effort_for_budget,
    effort_of,
    least_thinking,
    strict_refusal,
)
from rightcall.wire.payload import (
    JSON_HEADERS,
    EncodeCache,
    as_bytes,
    cache_lifetime,
    check_native,
    mapping,
    merge_members,
    native_of,
    present,
    sequence,
    with_examples,
    with_grammar,
)
from rightcall.wire.reply_extras import refuse_logprobs
from rightcall.wire.strict_schema import strict_schema
from rightcall.wire.strictness import StrictMode, Wish, choose_strict_tools, wish_in

_Json = dict[str, Any]
_FIELDS = "additionalModelRequestFields"
_FORCED = ("any", "tool")


class _BedrockTools(msgspec.Struct, frozen=True):
    """Our tools, in Converse's format and in Claude's own."""

    sent: list[Any]
    native: list[_Json]
    held: StrictTools


def strict_mode(model: str = "") -> StrictMode:
    """A model's strict mode for tools."""
    return StrictMode(rules=RULES, unasked=strict_refusal(model))


def authorize(key: str, /) -> Mapping[str, str] | Sign:
    """The header with a Bedrock API key, or a function that signs each request.

    It signs if the key is ``access key id:secret access key``, optionally followed by a colon and a
    session token.
    """
    credentials = credentials_in(key)
    if credentials is None:
        return {"authorization": f"Bearer {key}"}
    return signer(credentials)


def encoder() -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> EncodedRequest:
    """Encode the request for the vendor."""
    cache = cache or EncodeCache()
    maker = maker_of(model)
    options = request.options
    refuse_logprobs(options, NAME)
    ttl = cache_lifetime(options, TTLS, NAME)
    mark = {MARK: {"type": "default"}}
    if ttl:
        mark[MARK]["ttl"] = ttl
    turns = encode_messages(request, cache, maker, mark)
    fields, output = _reasoning(request, options.get("reasoning"), model, maker, turns)
    body: _Json = {}
    if request.system.strip():
        body["system"] = [{"text": request.system}]
    settings: _Json = {
        "maxTokens": request.max_tokens,
        "temperature": options.get("temperature"),
        "topP": options.get("top_p"),
        "stopSequences": list(sequence(options.get("stop"))) or None,
    }
    if settings := present(settings):
        body["inferenceConfig"] = settings
    ours = _cached_tools(request, model, cache, is_claude=maker.own_choice)
    body |= _tools(request, ours, maker, turns, fields, model)
    _mark_tools(request, body, maker, mark)
    if maker.own_choice:
        bound = drop_unbound_thoughts(fields.get("thinking", {}), request.messages, model)
        betas = []
        if options.get("eager"):
            betas.append(EAGER_BETA)
        if bound is not None:
            betas.append(BINDING_BETA)
        if bound:
            fields["thinking"] = bound
        if betas:
            fields["anthropic_beta"] = betas
    if request.output is not None and request.output != ANY_OBJECT:
        schema = strict_schema(request.output, RULES, tool="output").schema
        output["textFormat"] = {
            "type": "json_schema",
            "structure": {"jsonSchema": {"name": "output", "schema": dump(schema)}},
        }
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
    if isinstance(extra, Mapping):
        body = merge_members(body, extra)
    # Last, so that a longer history only adds to the bytes of a shorter one.
    body["messages"] = body.pop("messages")
    operation = "converse-stream" if stream else "converse"
    return EncodedRequest(
        path=f"/model/{quote(model, safe='')}/{operation}",
        body=as_bytes(body, NAME),
        headers=JSON_HEADERS,
        held=ours.held,
    )


def _mark(body: _Json, turns: ConverseTurns, maker: Maker, mark: _Json) -> None:
    """Put cache points where the prompt is likely to stay the same, the best places first."""
    config = body.get("toolConfig", {})
    given = turns.marks
    given += marks_in([tool for tool in config.get("tools", ()) if isinstance(tool, Mapping)])
    user_turns: list[tuple[_Json, str]] = []
    for turn in turns.last:
        if turn["role"] == "user":
            user_turns.append((turn, "content"))
    places = user_turns[-1:]
    if "system" in body:
        places.append((body, "system"))
    if config and maker.caches_tools:
        places.append((config, "tools"))
    places += user_turns[-2:-1]
    for holder, member in places[: max(MAX_MARKS - given, 0)]:
        if member != "tools":
            holder[member] = add_mark(holder[member], mark)
        elif mark not in holder[member][-1:]:
            holder[member] = [*holder[member], mark]


def _reasoning(
    request: Request, wanted: object, model: str, maker: Maker, turns: ConverseTurns
) -> tuple[_Json, _Json]:
    """The maker's own fields and Converse's ``outputConfig`` that set the amount of thinking."""
    match wanted:
        case None:
            return {}, {}
        case bool():
            pass
        case "none" | 0:
            fields: _Json = {}
            config: Mapping[str, Any] = {}
            if maker.own_choice:
                thinking, config = least_thinking(model)
                if thinking:
                    fields["thinking"] = thinking
            elif maker.config_field:
                fields[maker.config_field] = {"type": "disabled"}
            return fields, dict(config)
        case str(word) if maker.own_choice and (
            tokens := budget_for_effort(word, model, request.max_tokens)
        ):
            return _reasoning(request, tokens, model, maker, turns)
        case str(word) if word in EFFORTS and maker.own_choice:
            return {"thinking": {"type": "adaptive"}}, {"effort": effort_of(EFFORTS[word], model)}
        case str(word) if word in EFFORTS and (maker.effort_field or maker.config_field):
            if EFFORTS[word] in maker.efforts:
                effort = EFFORTS[word]
            else:
                effort = maker.efforts[-1]
            if maker.effort_field:
                return {maker.effort_field: effort}, {}
            return {maker.config_field: {"type": "enabled", "maxReasoningEffort": effort}}, {}
        case int(tokens) if (
            tokens > 0 and maker.own_choice and (nearest := effort_for_budget(tokens, model))
        ):
            return _reasoning(request, nearest, model, maker, turns)
        case int(tokens) if tokens > 0 and maker.own_choice:
            budget = max(tokens, MIN_BUDGET)
            check_budget(budget, request.max_tokens, NAME)
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


def _is_unthought(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last messages answer calls made without thinking: then Claude must not think."""
    if len(messages) < 2 or "toolResult" not in messages[-1]["content"][0]:  # noqa: PLR2004
        return False
    return "reasoningContent" not in messages[-2]["content"][0]


def _tools(
    request: Request, ours: _BedrockTools, maker: Maker, turns: ConverseTurns, fields: _Json, model: str
) -> dict[str, _Json]:
    """The ``toolConfig``; adds to ``fields`` what only Claude's own fields can express."""
    tools = [*map(mapping, sequence(request.options.get("vendor_tools"))), *ours.sent]
    if isinstance(request.choice, Named):
        name = request.choice.name
        if all(spec.name != name for spec in request.specs):
            raise EncodeError(NAME, f"there is no tool {name!r} to be called.", where="choice")
    elif request.choice == "required" and not tools and not ours.native:
        raise EncodeError(NAME, "there is no tool to be called.", where="choice")
    if not tools and not ours.native:
        # Tools that were called and are no longer offered: "The toolConfig field must be defined when
        # using toolUse and toolResult content blocks."
        for name in turns.called:
            definition = {
                "name": name,
                "description": "Not available any more.",
                "inputSchema": {"json": {"type": "object", "properties": {}}},
            }
            tools.append({"toolSpec": definition})
    if request.choice == "none" and not turns.called:
        return {}
    if ours.native:
        fields["tools"] = ours.native
    if not tools and not ours.native:
        return {}
    natives = [tool.get("name") for tool in ours.native]
    is_own = isinstance(request.choice, Named) and request.choice.name in natives
    choice = _choice(request, maker, fields, is_own=is_own or not tools, model=model)
    if tools:
        return {"toolConfig": {**choice, "tools": tools}}
    return {}


def _choice(request: Request, maker: Maker, fields: _Json, *, is_own: bool, model: str) -> _Json:
    """Converse's ``toolChoice``, or nothing if Claude's own choice, in its fields, replaces it.

    ``is_own``: the chosen tool is not among Converse's tools.
    """
    match request.choice:
        case Named(name):
            own: _Json = {"type": "tool", "name": name}
            choice: _Json = {"tool": {"name": name}}
        case "required":
            own = {"type": "any"}
            choice = {"any": {}}
        case "none":
            own = {"type": "none"}
            choice = {}
        case _:
            own = {"type": "auto"}
            choice = {}
    is_free = mapping(fields.get("thinking")).get("type") == "enabled" or not can_be_forced(model)
    if is_free and own["type"] in _FORCED:
        own = {"type": "auto"}
        choice = {}
    if not maker.own_choice:
        if choice:
            return {"toolChoice": choice}
        return {}
    is_alone = request.options.get("parallel") is False and own["type"] != "none"
    if is_alone or own["type"] == "none" or (is_own and own["type"] in _FORCED):
        if is_alone:
            own["disable_parallel_tool_use"] = True
        fields["tool_choice"] = own
        return {}
    if choice:
        return {"toolChoice": choice}
    return {}


def _cached_tools(request: Request, model: str, cache: EncodeCache, *, is_claude: bool) -> _BedrockTools:
    specs = request.specs
    wish = wish_in(request.options)
    output = None if request.output == ANY_OBJECT else request.output
    given = (specs, wish, output, model)
    return cache.get_shared(
        f"{NAME}.tools",
        given,
        lambda: _encode_tools(specs, wish, strict_mode(model), output, is_claude=is_claude),
    )


def _encode_tools(
    specs: Sequence[Spec], wish: Wish, mode: StrictMode, output: JsonObject | None, *, is_claude: bool
) -> _BedrockTools:
    native: list[_Json] = []
    ours: list[Spec] = []
    for spec in specs:
        check_native(spec, NAME)
    for spec in specs:
        if is_claude and spec.native.get(NAME):
            native.append(native_of(spec, NAME))
        else:
            ours.append(spec)
    strict = choose_strict_tools(ours, wish, mode, output)
    sent = []
    for spec in ours:
        tool: _Json = {"name": spec.name}
        description = with_examples(with_grammar(spec.description, spec), spec)
        if description.strip():
            tool["description"] = description
        if spec.name in strict.schemas:
            tool["inputSchema"] = {"json": strict.schemas[spec.name]}
            tool["strict"] = True
        else:
            tool["inputSchema"] = {"json": spec.parameters}
        sent.append(msgspec.Raw(as_bytes({"toolSpec": tool}, NAME)))
    return _BedrockTools(sent=sent, native=native, held=strict.held)


def _mark_tools(request: Request, body: _Json, maker: Maker, mark: _Json) -> None:
    """Put cache points after the tools that are to be cached."""
    config = body.get("toolConfig")
    if config is None or not maker.caches_tools or not any(spec.cache for spec in request.specs):
        return
    # ``toolConfig`` lacks Claude's own tools, and begins with the vendor's.
    specs = [spec for spec in request.specs if not (maker.own_choice and spec.native.get(NAME))]
    begin = len(config["tools"]) - len(specs)
    tools = config["tools"][:begin]
    for tool, spec in zip(config["tools"][begin:], specs, strict=True):
        tools.append(tool)
        if spec.cache:
            tools.append(mark)
    config["tools"] = tools
