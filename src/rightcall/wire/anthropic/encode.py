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
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, Held, Named, Outgoing, Request
from rightcall.core.tool import Spec
from rightcall.errors import EncodeError
from rightcall.wire.anthropic.messages import MARK, Turns, encode_messages, marks_in
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
from rightcall.wire.anthropic.toolset import FAMILY, is_set, known_to
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
    described,
    mapping,
    members_of,
    native_of,
    sequence,
)
from rightcall.wire.logprobs import refuse
from rightcall.wire.strict import strict_schema
from rightcall.wire.strictness import StrictMode, Wish, chosen, wish_in

_PATH = "/v1/messages"
VERSION = "2023-06-01"
_SAMPLING = ("temperature", "top_p")
_FORCED = ("any", "tool")


class _Ours(msgspec.Struct, frozen=True):
    """Our tools."""

    tools: list[dict[str, Any]]
    sent: list[Any]
    """The tools as bytes, except the one that may get a cache mark."""
    marked: int
    """The index of that tool: the last that is not deferred, as the vendor refuses a mark on a deferred
    one. -1 for none. https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool"""
    betas: list[str]
    """The betas that the tools need."""
    held: Held
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
) -> Outgoing:
    """Encode the request for the vendor."""
    cache = cache or EncodeCache()
    options = request.options
    extra = {**mapping(options.get("extra"))}
    betas = extra.pop("betas", None)
    ttl = lifetime(options, TTLS, NAME) if options else ""
    mark = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    if options:
        refuse(options, NAME)
    own = [dict(mapping(tool)) for tool in sequence(options.get("vendor_tools"))]
    ours = _ours(request, model, cache, mark)
    has_set = ours.has_set or bool([tool for tool in own if is_set(tool)])
    turns = encode_messages(request, cache, mark, has_set=has_set)
    body: dict[str, Any] = {"model": model, **_lengths(request, model)}
    if _is_manual(body) and _is_unthought([t for t in turns.last if t["role"] != "system"]):
        del body["thinking"]
    if bound := unbound(body.get("thinking", {}), request.messages, model):
        body["thinking"] = bound
    if stream:
        body["stream"] = True
    body |= {name: options[name] for name in _SAMPLING if options.get(name) is not None}
    if options.get("stop"):
        body["stop_sequences"] = list(sequence(options["stop"]))
    if options.get("user"):
        body["metadata"] = {"user_id": options["user"]}
    tools = [*own, *ours.tools]
    body |= _choice(request, tools, free=_is_manual(body) or not can_be_forced(model))
    container = _container(request)
    if container:
        body["container"] = container
    if tools:
        body["tools"] = [*own, *ours.sent]
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system}]
    if options.get("cache", True) and MARK not in extra:
        last = len(own) + ours.marked if ours.marked >= 0 else None
        _mark(body, turns, mark, given=sum([MARK in tool for tool in tools]), tool=last)
    body["messages"] = [*turns.done, *turns.last]
    body |= extra
    # Last, so that a longer history only adds to the bytes of a shorter one.
    body["messages"] = body.pop("messages")
    needed = [*ours.betas, FILES_BETA if turns.has_files else "", BINDING_BETA if bound else ""]
    headers = _headers(betas, needed)
    return Outgoing(path=_PATH, body=as_bytes(body, NAME), headers=headers, held=ours.held)


def _headers(betas: object, needed: Sequence[str]) -> Mapping[str, str]:
    headers = {"content-type": "application/json", "anthropic-version": VERSION}
    given = betas.split(",") if isinstance(betas, str) else sequence(betas)
    named = dict.fromkeys(word.strip() for word in (*given, *needed) if word.strip())
    if named:
        headers["anthropic-beta"] = ",".join(named)
    return headers


def _lengths(request: Request, model: str) -> dict[str, Any]:
    """The members for thinking, the token limit and the output format."""
    thinking, config, limit = _thinking(request, request.options.get("reasoning"), model)
    if request.output is not None and request.output != ANY_OBJECT:
        schema = strict_schema(request.output, RULES, tool="output").schema
        config = {**config, "format": {"type": "json_schema", "schema": schema}}
    return {
        "max_tokens": limit if request.max_tokens is None else request.max_tokens,
        **({"thinking": thinking} if thinking else {}),
        **({"output_config": config} if config else {}),
    }


def _thinking(request: Request, wanted: object, model: str) -> tuple[JsonObject, JsonObject, int]:
    """The vendor's ``thinking`` and ``output_config``, and the token limit that they need."""
    match wanted:
        case None:
            return {}, {}, DEFAULT_MAX_TOKENS
        case "none" | 0:
            return *unthinking(model), DEFAULT_MAX_TOKENS
        case str(word) if budget := budget_of(word, model, request.max_tokens):
            return _thinking(request, budget, model)
        case str(word) if word in EFFORTS:
            limit = EFFORT_MAX_TOKENS.get(word, DEFAULT_MAX_TOKENS)
            return {"type": "adaptive"}, {"effort": effort_of(EFFORTS[word], model)}, limit
        case int(tokens) if tokens > 0 and (nearest := word_of(tokens, model)):
            return _thinking(request, nearest, model)
        case int(tokens) if tokens > 0:
            budget = max(tokens, MIN_BUDGET)
            _check_budget(budget, request.max_tokens)
            return {"type": "enabled", "budget_tokens": budget}, {}, DEFAULT_MAX_TOKENS + budget
        case other:
            words = ", ".join(EFFORTS)
            raise EncodeError(
                NAME, f"{other!r} is not none, {words} or a number of tokens.", where="options.reasoning"
            )


def _check_budget(budget: int, max_tokens: int | None) -> None:
    if max_tokens is not None and max_tokens <= budget:
        raise EncodeError(
            NAME,
            f"max_tokens ({max_tokens:,}) must be more than the thinking budget ({budget:,}), which is "
            f"part of it and at least {MIN_BUDGET:,}; raise the one or lower the other.",
            where="max_tokens",
        )


def _is_manual(body: Mapping[str, Any]) -> bool:
    return bool(mapping(body.get("thinking")).get("type") == "enabled")


def _is_unthought(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last messages answer calls that were made without thinking.

    "When `thinking` is enabled, a final `assistant` message must start with a thinking block":
    https://github.com/deepset-ai/haystack-core-integrations/issues/2146
    """
    if len(messages) < 2 or messages[-1]["content"][0].get("type") != "tool_result":  # noqa: PLR2004
        return False
    return messages[-2]["content"][0].get("type") not in THOUGHTS


def _ours(request: Request, model: str, cache: EncodeCache, mark: JsonObject) -> _Ours:
    specs, wish = request.specs, wish_in(request.options)
    output = None if request.output == ANY_OBJECT else request.output
    more = {"eager_input_streaming": True} if request.options.get("eager") else {}
    # The mark is a new object each time, but its content is the same.
    given = (specs, wish, output, model, bool(more), request.options.get("cache_ttl"))
    return cache.shared(
        f"{NAME}.tools",
        given,
        lambda: _marked(_tools(specs, wish, model, output), specs, mark, more),
    )


def _marked(ours: _Ours, specs: Sequence[Spec], mark: JsonObject, more: JsonObject) -> _Ours:
    """The tools with cache marks and the members ``more``, which the vendor's own tools do not get."""
    if not more and not any(spec.cache for spec in specs):
        return ours
    tools = [
        {
            **tool,
            **(more if "input_schema" in tool else {}),
            **({MARK: mark} if spec.cache and not tool.get("defer_loading") else {}),
        }
        for tool, spec in zip(ours.tools, specs, strict=True)
    ]
    return msgspec.structs.replace(ours, tools=tools, sent=_sent(tools, ours.marked))


def _sent(tools: Sequence[dict[str, Any]], marked: int) -> list[Any]:
    """The tools as bytes, except the one that may get a cache mark."""
    raw = [msgspec.Raw(as_bytes(tool, NAME)) for tool in tools]
    return [tool if at == marked else raw[at] for at, tool in enumerate(tools)]


def _tools(specs: Sequence[Spec], wish: Wish, model: str, output: JsonObject | None) -> _Ours:
    ours = [spec for spec in specs if not spec.native.get(NAME) or members_of(spec, NAME)]
    strict = chosen(ours, wish, strict_mode(model), output)
    tools = [known_to(model, _defined(spec, strict.schemas.get(spec.name))) for spec in specs]
    marked = max([at for at, tool in enumerate(tools) if not tool.get("defer_loading")], default=-1)
    return _Ours(
        tools=tools,
        sent=_sent(tools, marked),
        marked=marked,
        betas=[BETAS.get(tool.get("type", ""), "") for tool in tools],
        held=strict.held,
        has_set=any(is_set(tool) for tool in tools),
    )


def _defined(spec: Spec, strict: JsonObject | None) -> dict[str, Any]:
    """A tool's definition: the vendor's own, or ours with the members that the vendor adds."""
    more = members_of(spec, NAME) | ({"defer_loading": True} if spec.found else {})
    if more:
        return {**_tool(spec, strict), **more}
    return native_of(spec, NAME) or _tool(spec, strict)


def _tool(spec: Spec, strict: JsonObject | None) -> dict[str, Any]:
    description = described(spec.description, spec)
    return {
        "name": spec.name,
        **({"description": description} if description else {}),
        "input_schema": spec.parameters if strict is None else strict,
        **({"input_examples": list(spec.examples)} if spec.examples else {}),
        **({} if strict is None else {"strict": True}),
    }


def _choice(request: Request, tools: Sequence[Mapping[str, Any]], *, free: bool) -> dict[str, Any]:
    match request.choice:
        case Named(name):
            choice: dict[str, Any] = {"type": "tool", "name": name}
            if name == FAMILY and any(is_set(tool) for tool in tools):
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
    if free and choice["type"] in _FORCED:
        choice = {"type": "auto"}
    if request.options.get("parallel") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice} if tools and choice != {"type": "auto"} else {}


def _container(request: Request) -> str | None:
    """The id of the container whose code waits for a result; the vendor requires it."""
    last = next((message for message in reversed(request.messages) if isinstance(message, Reply)), None)
    if last is None:
        return None
    callers = [mapping(mapping(call.vendor.get(NAME)).get("caller")) for call in last.calls]
    if all(caller.get("type", "direct") == "direct" for caller in callers):
        return None
    container = mapping(mapping(last.vendor.get(NAME)).get("container")).get("id")
    return container if isinstance(container, str) else None


def _mark(body: dict[str, Any], turns: Turns, mark: JsonObject, *, given: int, tool: int | None) -> None:
    """Put cache marks where the prompt is likely to stay the same, the best places first.

    ``given`` is the number of marks on the tools; any part's bag may hold more. ``tool`` is the index of
    the tool that may get a mark.
    """
    said = [(turn, "content") for turn in turns.last if turn["role"] == "user"]
    places: list[tuple[dict[str, Any], str]] = said[-1:]
    places += [(body, "system")] if "system" in body else []
    places += [(body, "tools")] if tool is not None else []
    places += said[-2:-1]
    given += turns.marks + sum([marks_in(turn["content"]) for turn in turns.last])
    for holder, member in places[: max(MAX_MARKS - given, 0)]:
        at = tool if member == "tools" and tool is not None else len(holder[member]) - 1
        *before, last = holder[member][: at + 1]
        if MARK not in last:
            holder[member] = [*before, {**last, MARK: mark}, *holder[member][at + 1 :]]
