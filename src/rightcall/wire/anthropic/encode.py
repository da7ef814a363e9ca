"""Encodes a request for Anthropic's Messages API. The same request gives the same bytes.

Choices for what the vendor cannot express directly:

- An effort level in ``reasoning`` means adaptive thinking; for models without it, a manual budget of at
  most half of ``max_tokens``. A number is that budget; for models that refuse budgets, the nearest
  level. ``none`` disables thinking, or requests the least from models that always think.
- A forced choice is refused with a manual budget and by newer models, so there it becomes ``auto``;
  the caller must check the reply anyway. So does the choice of a toolset, which has no name.
  https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows
- ``temperature`` and ``top_p`` are sent to all models; newer ones refuse them, and say so.
- A manual budget is refused where the calls being answered were made without thinking, by another model
  or another vendor's, so there it is left out until the next turn.
- ``seed`` has no counterpart and is left out. Neither has JSON mode: the instructions ask for it.
- ``betas`` among the ``extra`` members goes into the ``anthropic-beta`` header, as in the vendor's SDK.
- A native definition of a tool is sent unchanged. It has no schema of ours, so strict mode and its
  limits do not apply to it; calls of it come back like any other.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply
from rightcall.core.parts import Call
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, EncodedRequest, Named, Request, StrictTools
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.anthropic.messages import MARK, AnthropicTurns, encode_messages
from rightcall.wire.anthropic.tables import (
    BETAS,
    DEFAULT_MAX_TOKENS,
    EFFORT_MAX_TOKENS,
    EFFORTS,
    FILES_BETA,
    MAX_MARKS,
    NAME,
    RULES,
    THOUGHTS,
    TTLS,
)
from rightcall.wire.claude import (
    BINDING_BETA,
    COMPUTER,
    MIN_BUDGET,
    budget_for_effort,
    can_be_forced,
    check_budget,
    definition_for_model,
    drop_unbound_thoughts,
    effort_for_budget,
    effort_of,
    is_set,
    least_thinking,
    strict_refusal,
)
from rightcall.wire.payload import (
    EncodeCache,
    as_bytes,
    cache_lifetime,
    mapping,
    members_of,
    native_of,
    sequence,
    string_in,
    with_grammar,
)
from rightcall.wire.reply_extras import refuse_logprobs
from rightcall.wire.strict_schema import strict_schema
from rightcall.wire.strictness import StrictMode, Wish, choose_strict_tools, wish_in

_PATH = "/v1/messages"
VERSION = "2023-06-01"
_SAMPLING = ("temperature", "top_p")
_FORCED = ("any", "tool")


class _AnthropicTools(msgspec.Struct, frozen=True):
    tools: list[dict[str, Any]]
    sent: list[Any]
    """The tools as bytes, except the one that may get a cache mark."""
    marked: int
    """The index of that tool: the last that is not deferred, as the vendor refuses a mark on a deferred
    one. -1 for none. https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool"""
    betas: list[str]
    """The betas that the tools need."""
    held: StrictTools
    has_set: bool
    """Whether they include the toolset for computer use."""


def strict_mode(model: str = "") -> StrictMode:
    """A model's strict mode for tools."""
    return StrictMode(rules=RULES, unasked=strict_refusal(model))


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key."""
    return {"x-api-key": key}


def encoder() -> Encode:
    """An ``encode`` for one conversation, which encodes each message once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> EncodedRequest:
    """Encode the request for the vendor."""
    cache = cache or EncodeCache()
    options = request.options
    extra: dict[str, Any] = {}
    own: list[dict[str, Any]] = []
    betas: list[str] = []
    mark: dict[str, Any] = {"type": "ephemeral"}
    if options:
        extra.update(mapping(options.get("extra")))
        named = extra.pop("betas", None)
        betas += named.split(",") if isinstance(named, str) else sequence(named)
        if ttl := cache_lifetime(options, TTLS, NAME):
            mark["ttl"] = ttl
        refuse_logprobs(options, NAME)
        own += [dict(mapping(tool)) for tool in sequence(options.get("vendor_tools"))]
    ours = _cached_tools(request, model, cache, mark)
    has_set = ours.has_set or bool(own and any(is_set(tool) for tool in own))
    turns = encode_messages(request, cache, mark, has_set=has_set)
    # The members for thinking, the token limit and the output format.
    thinking, config, limit = _thinking(request, options.get("reasoning"), model)
    if request.output is not None and request.output != ANY_OBJECT:
        schema = strict_schema(request.output, RULES, tool="output").schema
        config = {**config, "format": {"type": "json_schema", "schema": schema}}
    if thinking.get("type") == "enabled" and _is_unthought(turns.last):
        thinking = {}
    is_manual = thinking.get("type") == "enabled"
    bound = None
    if turns.has_thoughts:
        bound = drop_unbound_thoughts(thinking, request.messages, model)
        thinking = bound or thinking
    body: dict[str, Any] = {"model": model}
    body["max_tokens"] = limit if request.max_tokens is None else request.max_tokens
    if thinking:
        body["thinking"] = thinking
    if config:
        body["output_config"] = config
    if stream:
        body["stream"] = True
    for name in _SAMPLING:
        if options.get(name) is not None:
            body[name] = options[name]
    if options.get("stop"):
        body["stop_sequences"] = list(sequence(options["stop"]))
    if options.get("user"):
        body["metadata"] = {"user_id": options["user"]}
    tools = [*own, *ours.tools]
    body |= _choice(request, tools, model, is_manual=is_manual)
    if container := _container(request):
        body["container"] = container
    if tools:
        body["tools"] = [*own, *ours.sent]
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system}]
    if options.get("cache", True) and MARK not in extra:
        last = len(own) + ours.marked if ours.marked >= 0 else None
        _mark(body, turns, mark, given=sum(MARK in tool for tool in tools), tool=last)
    body["messages"] = [*turns.done, *turns.last]
    body |= extra
    # Last, so that a longer history only adds to the bytes of a shorter one.
    body["messages"] = body.pop("messages")
    betas += [*ours.betas, FILES_BETA if turns.has_files else "", BINDING_BETA if bound else ""]
    headers = {"content-type": "application/json", "anthropic-version": VERSION}
    needed = dict.fromkeys(map(str.strip, betas))
    needed.pop("", None)
    if needed:
        headers["anthropic-beta"] = ",".join(needed)
    return EncodedRequest(path=_PATH, body=as_bytes(body, NAME), headers=headers, held=ours.held)


def _cached_tools(request: Request, model: str, cache: EncodeCache, mark: JsonObject) -> _AnthropicTools:
    specs = request.specs
    options = request.options
    output = None if request.output == ANY_OBJECT else request.output
    wish: Wish = "auto"
    more: JsonObject = {}
    if options:
        wish = wish_in(options)
        if options.get("eager"):
            more = {"eager_input_streaming": True}
    # The mark is a new object each time, but its content is the same.
    given = (specs, wish, output, model, bool(more), options.get("cache_ttl"))
    return cache.get_shared(
        f"{NAME}.tools",
        given,
        lambda: _add_cache_marks(_tools(specs, wish, model, output), specs, mark, more),
    )


def _thinking(request: Request, wanted: object, model: str) -> tuple[JsonObject, JsonObject, int]:
    """The vendor's ``thinking`` and ``output_config``, and the token limit that they need."""
    match wanted:
        case None:
            return {}, {}, DEFAULT_MAX_TOKENS
        case "none" | 0:
            return *least_thinking(model), DEFAULT_MAX_TOKENS
        case str(word) if budget := budget_for_effort(word, model, request.max_tokens):
            return _thinking(request, budget, model)
        case str(word) if word in EFFORTS:
            limit = EFFORT_MAX_TOKENS.get(word, DEFAULT_MAX_TOKENS)
            return {"type": "adaptive"}, {"effort": effort_of(EFFORTS[word], model)}, limit
        case int(tokens) if tokens > 0 and (nearest := effort_for_budget(tokens, model)):
            return _thinking(request, nearest, model)
        case int(tokens) if tokens > 0:
            budget = max(tokens, MIN_BUDGET)
            check_budget(budget, request.max_tokens, NAME)
            return {"type": "enabled", "budget_tokens": budget}, {}, DEFAULT_MAX_TOKENS + budget
        case other:
            words = ", ".join(EFFORTS)
            raise EncodeError(
                NAME, f"{other!r} is not none, {words} or a number of tokens.", where="options.reasoning"
            )


def _is_unthought(turns: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last messages answer calls that were made without thinking.

    "When `thinking` is enabled, a final `assistant` message must start with a thinking block":
    https://github.com/deepset-ai/haystack-core-integrations/issues/2146
    """
    messages = [turn for turn in turns if turn["role"] != "system"]
    if len(messages) < 2 or messages[-1]["content"][0].get("type") != "tool_result":  # noqa: PLR2004
        return False
    return messages[-2]["content"][0].get("type") not in THOUGHTS


def _add_cache_marks(
    ours: _AnthropicTools, specs: Sequence[Spec], mark: JsonObject, more: JsonObject
) -> _AnthropicTools:
    """The tools with cache marks and the members ``more``, which the vendor's own tools do not get."""
    if not more and not any(spec.cache for spec in specs):
        return ours
    tools = []
    for tool, spec in zip(ours.tools, specs, strict=True):
        definition = dict(tool)
        if "input_schema" in tool:
            definition |= more
        if spec.cache and not tool.get("defer_loading"):
            definition[MARK] = mark
        tools.append(definition)
    return msgspec.structs.replace(ours, tools=tools, sent=_sent(tools, ours.marked))


def _sent(tools: Sequence[dict[str, Any]], marked: int) -> list[Any]:
    """The tools as bytes, except the one that may get a cache mark."""
    sent: list[Any] = []
    for at, tool in enumerate(tools):
        # Each is encoded, so that an error is found now.
        raw = msgspec.Raw(as_bytes(tool, NAME))
        sent.append(tool if at == marked else raw)
    return sent


def _tools(specs: Sequence[Spec], wish: Wish, model: str, output: JsonObject | None) -> _AnthropicTools:
    ours = [spec for spec in specs if not spec.native.get(NAME) or members_of(spec, NAME)]
    strict = choose_strict_tools(ours, wish, strict_mode(model), output)
    tools = []
    marked = -1
    for at, spec in enumerate(specs):
        tool = definition_for_model(model, _tool_definition(spec, strict.schemas.get(spec.name)))
        tools.append(tool)
        if not tool.get("defer_loading"):
            marked = at
    return _AnthropicTools(
        tools=tools,
        sent=_sent(tools, marked),
        marked=marked,
        betas=[BETAS.get(tool.get("type", ""), "") for tool in tools],
        held=strict.held,
        has_set=any(is_set(tool) for tool in tools),
    )


def _tool_definition(spec: Spec, strict: JsonObject | None) -> dict[str, Any]:
    """A tool's definition: the vendor's own, or ours with the members that the vendor adds."""
    more = members_of(spec, NAME)
    if spec.found:
        more["defer_loading"] = True
    if not more and (native := native_of(spec, NAME)):
        return native
    tool: dict[str, Any] = {"name": spec.name}
    if description := with_grammar(spec.description, spec):
        tool["description"] = description
    tool["input_schema"] = spec.parameters if strict is None else strict
    if spec.examples:
        tool["input_examples"] = list(spec.examples)
    if strict is not None:
        tool["strict"] = True
    return tool | more


def _choice(
    request: Request, tools: Sequence[Mapping[str, Any]], model: str, *, is_manual: bool
) -> dict[str, Any]:
    free = is_manual
    match request.choice:
        case Named(name):
            choice: dict[str, Any] = {"type": "tool", "name": name}
            if name == COMPUTER and any(is_set(tool) for tool in tools):
                free = True
            elif all(tool.get("name") != name for tool in tools):
                raise EncodeError(NAME, f"there is no tool {name!r} to be called.", where="choice")
        case "required":
            choice = {"type": "any"}
            if not tools:
                raise EncodeError(NAME, "there is no tool to be called.", where="choice")
        case "none":
            choice = {"type": "none"}
        case _:
            choice = {"type": "auto"}
    if choice["type"] in _FORCED and (free or not can_be_forced(model)):
        choice = {"type": "auto"}
    if request.options.get("parallel") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    if tools and choice != {"type": "auto"}:
        return {"tool_choice": choice}
    return {}


def _container(request: Request) -> str | None:
    """The id of the container whose code waits for a result; the vendor requires it."""
    for message in reversed(request.messages):
        if isinstance(message, Reply):
            for part in message.content:
                if not isinstance(part, Call) or NAME not in part.vendor:
                    continue
                caller = mapping(part.vendor[NAME]).get("caller")
                if caller and mapping(caller).get("type", "direct") != "direct":
                    container = mapping(mapping(message.vendor.get(NAME)).get("container")).get("id")
                    return string_in(container)
            return None
    return None


def _mark(
    body: dict[str, Any], turns: AnthropicTurns, mark: JsonObject, *, given: int, tool: int | None
) -> None:
    """Put cache marks where the prompt is likely to stay the same, the best places first.

    ``given`` is the number of marks on the tools; any part's bag may hold more. ``tool`` is the index of
    the tool that may get a mark.
    """
    given += turns.marks
    user_turns: list[tuple[dict[str, Any], str]] = []
    for turn in turns.last:
        if turn["role"] == "user":
            user_turns.append((turn, "content"))
    places = user_turns[-1:]
    if "system" in body:
        places.append((body, "system"))
    if tool is not None:
        places.append((body, "tools"))
    places += user_turns[-2:-1]
    for holder, member in places[: max(MAX_MARKS - given, 0)]:
        if member == "tools" and tool is not None:
            at = tool
        else:
            at = len(holder[member]) - 1
        *before, last = holder[member][: at + 1]
        if MARK not in last:
            holder[member] = [*before, {**last, MARK: mark}, *holder[member][at + 1 :]]
