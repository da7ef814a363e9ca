"""Parses the body of a Messages request: the messages, tools and settings."""

from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.message import Reasoning
from rightcall.core.parts import Call
from rightcall.core.request import ClientRequest, Named, Request, ToolChoice
from rightcall.core.tool import Spec
from rightcall.wire.anthropic.history import read
from rightcall.wire.anthropic.tables import EFFORTS, NAME
from rightcall.wire.client_request import (
    RequestMembers,
    body_of,
    mend_messages,
    model_in,
    output_in,
    spec_of,
    strings,
    without_absent,
)
from rightcall.wire.history import objects, string
from rightcall.wire.payload import mapping, number_in, present, text_in
from rightcall.wire.relay_tokens import restore_messages

_OURS = ("name", "type", "description", "input_schema", "strict", "input_examples", "cache_control")
_SHOWN = ("text", "image", "document")
"""The types of blocks that a result may hold in every dialect."""
_HINTS = frozenset(["eager_input_streaming", "defer_loading", "allowed_callers"])
"""Members of a tool that say how to send it, and do not change the tool itself."""


def parse_request(
    body: bytes, /, *, path: str = "", query: str = "", headers: Mapping[str, str]
) -> ClientRequest:
    """Parse the request."""
    members = RequestMembers(body_of(body))
    left: list[str] = []
    said = read(_turns(members.get("messages"), left))
    system = [_system(members.get("system")), said.system]
    specs = _specs(members.get("tools"), left)
    choice = mapping(members.get("tool_choice"))
    config = RequestMembers(members.get("output_config"), "output_config.")
    form = mapping(config.get("format") or members.get("output_format"))
    request = Request(
        messages=mend_messages(restore_messages(said.messages, _token_of), left),
        system="\n\n".join([text for text in system if text]),
        specs=specs,
        choice=without_absent(_choice(choice, left), specs, left, "tool_choice"),
        output=output_in(form, form.get("schema"), "output_config.format", left),
        max_tokens=members.number("max_tokens"),
        options=_options(members, config, parallel=_parallel(choice)),
    )
    # Cache marks are only for this vendor; others cache without them.
    members.get("cache_control")
    return ClientRequest(
        request=request,
        model=model_in(members.get("model")),
        stream=members.get("stream") is True,
        left_out=(*left, *config.left(), *members.left()),
    )


def _token_of(part: Reasoning | Call) -> str:
    """The field of a part that may hold a token: a signature, or the data of a redacted thought."""
    if isinstance(part, Call):
        return ""
    bag = mapping(part.vendor.get(NAME))
    found = bag.get("signature") or bag.get("data")
    return text_in(found)


def _turns(given: Any, left: list[str]) -> list[Any]:
    """The messages, with consecutive messages of the model joined, as the vendor accepts them."""
    found: list[Any] = []
    for where, turn in objects(given, "messages"):
        # Newer clients put settings on each message.
        left += [f"{where}.{name}" for name in turn if name not in ("role", "content")]
        role = turn.get("role")
        content = [*_blocks(turn.get("content"), f"{where}.content", left)]
        if role == "assistant" and found and found[-1]["role"] == role:
            content = [*found.pop()["content"], *content]
        found.append({"role": role, "content": content})
    return found


def _blocks(content: Any, where: str, left: list[str]) -> Iterator[Any]:
    """The blocks of a message; blocks of a result that only this vendor knows become text."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for place, block in objects(content, where):
        inner = block.get("content")
        if block.get("type") == "search_result":
            yield _search_result_text(block, place, left)
            continue
        if block.get("type") != "tool_result" or not isinstance(inner, list):
            yield block
            continue
        parts = [_result_block(each, at, left) for at, each in objects(inner, f"{place}.content")]
        yield {**block, "content": parts}


def _result_block(block: JsonObject, where: str, left: list[str]) -> JsonObject:
    if block.get("type") in _SHOWN:
        return block
    if block.get("type") == "search_result":
        return _search_result_text(block, where, left)
    left.append(f"{where}: {block.get('type')}")
    return {"type": "text", "text": dump(block)}


def _search_result_text(block: JsonObject, where: str, left: list[str]) -> JsonObject:
    """A client's search result as text: every model can read it, but only Claude cites it."""
    texts = [part.get("text") for _, part in objects(block.get("content"), f"{where}.content")]
    told = [block.get("title"), block.get("source"), *texts]
    if mapping(block.get("citations")).get("enabled") is True:
        left.append(f"{where}.citations: the search_result is told as text")
    return {"type": "text", "text": "\n".join([each for each in told if isinstance(each, str) and each])}


def _system(given: Any) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    return "\n\n".join([string(block, "text", where) for where, block in objects(given, "system")])


def _options(
    members: RequestMembers, config: RequestMembers, *, parallel: bool | None
) -> dict[str, Any]:
    """The settings that every dialect knows, under our names."""
    options: dict[str, Any] = {
        "temperature": members.number("temperature"),
        "top_p": members.number("top_p"),
        "stop": strings(members.get("stop_sequences")) or None,
        "user": RequestMembers(members.get("metadata"), "metadata.").text("user_id"),
        "parallel": parallel,
        "reasoning": _reasoning(mapping(members.get("thinking")), config),
    }
    return present(options)


def _reasoning(thinking: Mapping[str, Any], config: RequestMembers) -> str | int | None:
    """The reasoning option: a token budget or an effort level."""
    match thinking.get("type"):
        case "enabled":
            budget = thinking.get("budget_tokens")
            return number_in(budget)
        case "adaptive":
            effort = config.get("effort")
            if isinstance(effort, str) and effort in EFFORTS:
                return effort
            return None
        case "disabled" | "between_tools":
            return "none"
        case _:
            return None


def _specs(given: Any, left: list[str]) -> tuple[Spec, ...]:
    found = []
    for where, tool in objects(given or [], "tools"):
        kind = tool.get("type") or "custom"
        if kind != "custom" and "input_schema" not in tool:
            left.append(f"{where}: {kind}")
            continue
        left += [f"{where}.{name}" for name in tool if name not in _OURS and name not in _HINTS]
        examples = tool.get("input_examples")
        found.append(
            spec_of(
                tool.get("name"),
                tool.get("description"),
                tool.get("input_schema"),
                where,
                strict=None if tool.get("strict") else False,
                examples=tuple(examples) if isinstance(examples, list) else (),
                cache="cache_control" in tool,
            )
        )
    return tuple(found)


def _choice(given: Mapping[str, Any], left: list[str]) -> ToolChoice:
    match given.get("type", "auto"):
        case "auto":
            return "auto"
        case "any":
            return "required"
        case "none":
            return "none"
        case "tool":
            return Named(string(given, "name", "tool_choice"))
        case kind:
            left.append(f"tool_choice: {kind}")
            return "auto"


def _parallel(choice: Mapping[str, Any]) -> bool | None:
    if choice.get("disable_parallel_tool_use") is True:
        return False
    return None
