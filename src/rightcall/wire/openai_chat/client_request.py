"""Parses the body of a Chat Completions request: the messages, tools and settings."""

from collections.abc import Mapping
from typing import Any

from rightcall.core.message import Reasoning
from rightcall.core.parts import Call
from rightcall.core.request import ClientRequest, Named, Request, ToolChoice
from rightcall.core.tool import Spec
from rightcall.wire.client_request import (
    TEXT_INPUT,
    RequestMembers,
    body_of,
    mend_messages,
    model_in,
    output_in,
    spec_of,
    strings,
    without_absent,
)
from rightcall.wire.history import objects
from rightcall.wire.openai_chat.history import read
from rightcall.wire.openai_chat.tables import EFFORTS
from rightcall.wire.payload import mapping, present, sequence
from rightcall.wire.relay_tokens import restore_messages


def parse_request(
    body: bytes, /, *, path: str = "", query: str = "", headers: Mapping[str, str]
) -> ClientRequest:
    """Parse the request."""
    members = RequestMembers(body_of(body))
    left: list[str] = []
    messages = members.get("messages")
    said = read([item for _, item in objects(messages, "messages")])
    # ``functions`` is the older form of tools.
    older = objects(members.get("functions") or [], "functions")
    given = [*objects(members.get("tools") or [], "tools")]
    given += [(where, {"type": "function", "function": each}) for where, each in older]
    found = []
    for where, tool in given:
        kind = tool.get("type", "function")
        inner = mapping(tool.get(str(kind)))
        name = inner.get("name")
        description = inner.get("description")
        if kind == "function":
            strict = None if inner.get("strict") else False
            found.append(spec_of(name, description, inner.get("parameters"), where, strict=strict))
        elif kind == "custom":
            more = {"input": "text", "grammar": _grammar(mapping(inner.get("format")))}
            found.append(spec_of(name, description, TEXT_INPUT, where, **more))
        else:
            left.append(f"{where}: {kind}")
    specs = tuple(found)
    choice, specs = _choice(members.get("tool_choice", "function_call"), specs, left)
    options = _options(members, left)
    form = mapping(members.get("response_format"))
    request = Request(
        messages=mend_messages(restore_messages(said.messages, _token_of), left),
        system=said.system,
        specs=specs,
        choice=without_absent(choice, specs, left, "tool_choice"),
        output=output_in(form, mapping(form.get("json_schema")).get("schema"), "response_format", left),
        max_tokens=members.number("max_completion_tokens", "max_tokens"),
        options=options,
    )
    if members.get("n") not in (None, 1):
        left.append("n: one answer is given")
    streaming = mapping(members.get("stream_options"))
    return ClientRequest(
        request=request,
        model=model_in(members.get("model")),
        stream=members.get("stream") is True,
        usage=streaming.get("include_usage") is True,
        left_out=(*left, *members.left()),
    )


def _token_of(_part: Reasoning | Call) -> str:
    """No field: only a call's id is sure to come back."""
    return ""


def _options(members: RequestMembers, left: list[str]) -> dict[str, Any]:
    """The settings that every dialect knows, under our names."""
    options: dict[str, Any] = {
        "temperature": members.number("temperature"),
        "top_p": members.number("top_p"),
        "seed": members.number("seed"),
        "stop": strings(members.get("stop")) or None,
        "parallel": members.flag("parallel_tool_calls"),
        "user": members.text("safety_identifier", "user"),
        "cache_key": members.text("prompt_cache_key"),
        "reasoning": _reasoning(members, left),
    }
    most = members.get("top_logprobs")
    if members.get("logprobs") is True:
        if isinstance(most, int) and most:
            options["logprobs"] = most
        else:
            options["logprobs"] = True
    return present(options)


def _reasoning(members: RequestMembers, left: list[str]) -> str | int | None:
    """The reasoning option: OpenAI's level, or OpenRouter's object."""
    effort = members.get("reasoning_effort")
    given = mapping(members.get("reasoning"))
    effort = effort or given.get("effort") or given.get("max_tokens")
    if isinstance(effort, str) and effort in EFFORTS:
        return effort
    if effort is None or (isinstance(effort, int) and effort is not True):
        return effort
    left.append(f"reasoning_effort: {effort}")
    return None


def _grammar(form: Mapping[str, Any]) -> dict[str, str]:
    inner = mapping(form.get("grammar"))
    syntax = inner.get("syntax")
    definition = inner.get("definition")
    if isinstance(syntax, str) and isinstance(definition, str):
        return {syntax: definition}
    return {}


def _choice(given: Any, specs: tuple[Spec, ...], left: list[str]) -> tuple[ToolChoice, tuple[Spec, ...]]:
    if given in ("auto", "none", "required", None):
        return given or "auto", specs
    said = mapping(given)
    kind = said.get("type", "function")
    if kind == "allowed_tools":
        allowed = mapping(said.get("allowed_tools"))
        tools = [mapping(each) for each in sequence(allowed.get("tools"))]
        names = [mapping(tool.get(str(tool.get("type")))).get("name") for tool in tools]
        mode: ToolChoice = "auto"
        if allowed.get("mode") == "required":
            mode = "required"
        return mode, tuple(spec for spec in specs if spec.name in names)
    name = mapping(said.get(str(kind))).get("name") or said.get("name")
    if isinstance(name, str):
        return Named(name), specs
    left.append(f"tool_choice: {kind}")
    return "auto", specs
