"""A request into the bytes of Anthropic's Messages API. The same request gives the same bytes.

Choices where the vendor and a request do not fit together:

- A word for ``reasoning`` asks for adaptive thinking with that effort; a number for a manual budget,
  which models before adaptive thinking need and models after it refuse. ``none`` switches it off.
- A forced choice is refused beside a manual budget, so there it becomes ``auto``; whoever forces must
  look at the reply anyway. https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows
- A manual budget is refused where the calls being answered were made without thinking, by another model
  or another vendor's, so there it is left out until the next turn.
- ``seed`` has no counterpart and is left out. Neither has JSON mode: the instructions ask for it.
- ``betas`` among the ``extra`` members goes into the ``anthropic-beta`` header, as in the vendor's SDK.
- A tool with a native definition is sent as that. It has no schema of ours, so that strict mode and its
  ceilings leave it out; calls of it come back like any other.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reply
from rightcall.core.ports import Encode
from rightcall.core.request import ANY_OBJECT, Named, Outgoing, Request
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
    MIN_BUDGET,
    NAME,
    RULES,
    THOUGHTS,
    TTLS,
)
from rightcall.wire.caching import lifetime
from rightcall.wire.encoding import EncodeCache, as_bytes, is_strict, mapping, native_of, sequence
from rightcall.wire.logprobs import refuse
from rightcall.wire.strict import check_ceilings, strict_schema

_PATH = "/v1/messages"
_VERSION = "2023-06-01"
_SAMPLING = ("temperature", "top_p")
_FORCED = ("any", "tool")


class _Ours(msgspec.Struct, frozen=True):
    """Our tools."""

    tools: list[dict[str, Any]]
    sent: list[Any]
    """The same as bytes, but for the last, which may get a cache mark."""
    betas: list[str]
    """What they need to be taken."""


def authorize(key: str, /) -> Mapping[str, str]:
    """The headers that carry the key."""
    return {"x-api-key": key}


def encoder() -> Encode:
    """An ``encode`` for one conversation, which writes each of its messages once."""
    return partial(encode, cache=EncodeCache())


def encode(
    request: Request, /, *, model: str, stream: bool, cache: EncodeCache | None = None
) -> Outgoing:
    """The request as the vendor wants it."""
    cache = cache or EncodeCache()
    options = request.options
    extra = {**mapping(options.get("extra"))}
    betas = extra.pop("betas", None)
    ttl = lifetime(options, TTLS, NAME)
    mark = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    refuse(options, NAME)
    turns = encode_messages(request, cache, mark)
    body: dict[str, Any] = {"model": model, **_lengths(request)}
    if _is_manual(body) and _is_unthought(turns.last):
        del body["thinking"]
    if stream:
        body["stream"] = True
    body |= {name: options[name] for name in _SAMPLING if options.get(name) is not None}
    if options.get("stop"):
        body["stop_sequences"] = list(sequence(options["stop"]))
    if options.get("user"):
        body["metadata"] = {"user_id": options["user"]}
    own = [dict(mapping(tool)) for tool in sequence(options.get("vendor_tools"))]
    ours = _ours(request, cache, mark)
    tools = [*own, *ours.tools]
    body |= _choice(request, tools, manual=_is_manual(body))
    container = _container(request)
    if container:
        body["container"] = container
    if tools:
        body["tools"] = [*own, *ours.sent]
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system}]
    if options.get("cache", True) and MARK not in extra:
        given = sum([MARK in tool for tool in tools])
        _mark(body, turns, mark, given=given, ours=bool(ours.tools))
    body["messages"] = [*turns.done, *turns.last]
    body |= extra
    # Last, so that a longer history only adds to the bytes of a shorter one.
    body["messages"] = body.pop("messages")
    needed = [*ours.betas, FILES_BETA] if turns.has_files else ours.betas
    return Outgoing(path=_PATH, body=as_bytes(body, NAME), headers=_headers(betas, needed))


def _headers(betas: object, needed: Sequence[str]) -> Mapping[str, str]:
    headers = {"content-type": "application/json", "anthropic-version": _VERSION}
    given = betas.split(",") if isinstance(betas, str) else sequence(betas)
    named = dict.fromkeys(word.strip() for word in (*given, *needed) if word.strip())
    if named:
        headers["anthropic-beta"] = ",".join(named)
    return headers


def _lengths(request: Request) -> dict[str, Any]:
    """How much to think and to write, and in which form."""
    thinking, config, limit = _thinking(request)
    if request.output is not None and request.output != ANY_OBJECT:
        schema = strict_schema(request.output, RULES, tool="output").schema
        config = {**config, "format": {"type": "json_schema", "schema": schema}}
    return {
        "max_tokens": limit if request.max_tokens is None else request.max_tokens,
        **({"thinking": thinking} if thinking else {}),
        **({"output_config": config} if config else {}),
    }


def _thinking(request: Request) -> tuple[JsonObject, JsonObject, int]:
    """The vendor's ``thinking`` and ``output_config``, and the limit that goes with them."""
    match request.options.get("reasoning"):
        case None:
            return {}, {}, DEFAULT_MAX_TOKENS
        case "none" | 0:
            return {"type": "disabled"}, {}, DEFAULT_MAX_TOKENS
        case str(word) if word in EFFORTS:
            limit = EFFORT_MAX_TOKENS.get(word, DEFAULT_MAX_TOKENS)
            return {"type": "adaptive"}, {"effort": EFFORTS[word]}, limit
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
    """Whether the last messages answer calls that no thought came before.

    "When `thinking` is enabled, a final `assistant` message must start with a thinking block":
    https://github.com/deepset-ai/haystack-core-integrations/issues/2146
    """
    if len(messages) < 2 or messages[-1]["content"][0].get("type") != "tool_result":  # noqa: PLR2004
        return False
    return messages[-2]["content"][0].get("type") not in THOUGHTS


def _ours(request: Request, cache: EncodeCache, mark: JsonObject) -> _Ours:
    specs, strict = request.specs, bool(request.options.get("strict"))
    output = request.output if strict and request.output != ANY_OBJECT else None
    more = {"eager_input_streaming": True} if request.options.get("eager") else {}
    # The mark is another object each time; what it says is not.
    given = (specs, strict, output, bool(more), request.options.get("cache_ttl"))
    return cache.made(
        f"{NAME}.tools", given, lambda: _marked(_tools(specs, output, strict=strict), specs, mark, more)
    )


def _marked(ours: _Ours, specs: Sequence[Spec], mark: JsonObject, more: JsonObject) -> _Ours:
    """The tools with what is asked for besides; the vendor's own are not streamed differently."""
    if not more and not any(spec.cache for spec in specs):
        return ours
    tools = [
        {
            **tool,
            **(more if "input_schema" in tool else {}),
            **({MARK: mark} if spec.cache else {}),
        }
        for tool, spec in zip(ours.tools, specs, strict=True)
    ]
    sent = [msgspec.Raw(as_bytes(tool, NAME)) for tool in tools[:-1]]
    return _Ours(tools=tools, sent=[*sent, *tools[-1:]], betas=ours.betas)


def _tools(specs: Sequence[Spec], output: JsonObject | None, *, strict: bool) -> _Ours:
    tools = [native_of(spec, NAME) or _tool(spec, strict=is_strict(spec, strict)) for spec in specs]
    pairs = zip(specs, tools, strict=True)
    _check_ceilings(
        [
            (spec, tool["input_schema"])
            for spec, tool in pairs
            if "input_schema" in tool and "strict" in tool
        ],
        output,
    )
    return _Ours(
        tools=tools,
        sent=[*[msgspec.Raw(as_bytes(tool, NAME)) for tool in tools[:-1]], *tools[-1:]],
        betas=[BETAS.get(native_of(spec, NAME).get("type", ""), "") for spec in specs],
    )


def _check_ceilings(tools: Sequence[tuple[Spec, JsonObject]], output: JsonObject | None) -> None:
    specs, schemas = [spec for spec, _ in tools], [schema for _, schema in tools]
    check_ceilings(specs, schemas, RULES)
    if output is not None:
        # The answer's schema counts towards the same ceilings, except that it is no tool.
        answer = Spec(name="output", description="", parameters=output)
        schema = strict_schema(output, RULES, tool="output").schema
        check_ceilings([*specs, answer], [*schemas, schema], replace(RULES, max_strict_tools=0))


def _tool(spec: Spec, *, strict: bool) -> dict[str, Any]:
    schema = spec.parameters
    if strict:
        schema = strict_schema(schema, RULES, tool=spec.name).schema
    return {
        "name": spec.name,
        **({"description": spec.description} if spec.description else {}),
        "input_schema": schema,
        **({"input_examples": list(spec.examples)} if spec.examples else {}),
        **({"strict": True} if strict else {}),
    }


def _choice(request: Request, tools: Sequence[Mapping[str, Any]], *, manual: bool) -> dict[str, Any]:
    match request.choice:
        case Named(name):
            choice: dict[str, Any] = {"type": "tool", "name": name}
            if all(tool.get("name") != name for tool in tools):
                raise EncodeError(NAME, f"there is no tool {name!r} to be called.", where="choice")
        case "required":
            choice = {"type": "any"}
            if not tools:
                raise EncodeError(NAME, "there is no tool to be called.", where="choice")
        case "none":
            choice = {"type": "none"}
        case _:
            choice = {"type": "auto"}
    if manual and choice["type"] in _FORCED:
        choice = {"type": "auto"}
    if request.options.get("parallel") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice} if tools and choice != {"type": "auto"} else {}


def _container(request: Request) -> str | None:
    """The container whose code waits for a result; the vendor wants it named."""
    last = next((message for message in reversed(request.messages) if isinstance(message, Reply)), None)
    if last is None:
        return None
    callers = [mapping(mapping(call.vendor.get(NAME)).get("caller")) for call in last.calls]
    if all(caller.get("type", "direct") == "direct" for caller in callers):
        return None
    container = mapping(mapping(last.vendor.get(NAME)).get("container")).get("id")
    return container if isinstance(container, str) else None


def _mark(body: dict[str, Any], turns: Turns, mark: JsonObject, *, given: int, ours: bool) -> None:
    """Put cache marks where the prompt is likely to be the same next time, the best places first.

    ``given`` of them are on the tools already, and any part's bag may hold more.
    """
    said = [(turn, "content") for turn in turns.last if turn["role"] == "user"]
    places: list[tuple[dict[str, Any], str]] = said[-1:]
    places += [(body, "system")] if "system" in body else []
    places += [(body, "tools")] if ours else []
    places += said[-2:-1]
    given += turns.marks + sum([marks_in(turn["content"]) for turn in turns.last])
    for holder, member in places[: max(MAX_MARKS - given, 0)]:
        *before, last = holder[member]
        if MARK not in last:
            holder[member] = [*before, {**last, MARK: mark}]
