"""Parses the body of a Responses request: the messages, tools and settings.

Tools may come in groups, and as items of the input. Here every tool has one name: its own or, if two
groups use the same, prefixed with the group's. ``ClientRequest.forms`` maps it back.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from rightcall.core.jsontext import JsonObject
from rightcall.core.message import Reasoning, Reply
from rightcall.core.parts import Call
from rightcall.core.request import ClientRequest, Named, Request, ToolChoice
from rightcall.core.tool import Spec
from rightcall.errors import UsageError
from rightcall.wire.client_request import (
    TEXT_INPUT,
    RequestMembers,
    body_of,
    mend_messages,
    model_in,
    output_in,
    spec_of,
    without_absent,
)
from rightcall.wire.history import objects, string
from rightcall.wire.openai_responses.history import is_item, read
from rightcall.wire.openai_responses.tables import EFFORTS, NAME, OUTPUTS
from rightcall.wire.payload import mapping, present, sequence, text_in
from rightcall.wire.relay_tokens import restore_messages

_ADDED = "additional_tools"
"""The type of an input item that adds tools."""
_SEARCH = "tool_search"
_UNHEARD = ("include", "client_metadata", "prompt_cache_retention")
"""Members that can be ignored: encrypted reasoning is always included."""


def parse_request(
    body: bytes, /, *, path: str = "", query: str = "", headers: Mapping[str, str]
) -> ClientRequest:
    """Parse the request."""
    members = RequestMembers(body_of(body))
    if members.get("previous_response_id") or members.get("conversation"):
        raise UsageError(
            "previous_response_id: nothing is kept here; send the whole conversation as input, "
            "with store: false"
        )
    left: list[str] = []
    tools = _RequestTools(left)
    tools.take(members.get("tools") or [], "tools")
    items = list(_items(members.get("input"), tools, left))
    said = read(items)
    choice, specs = _choice(members.get("tool_choice"), tuple(tools.specs), left)
    text = RequestMembers(members.get("text"), "text.")
    form = mapping(text.get("format"))
    # The messages, with our names of the tools in calls.
    messages = restore_messages(said.messages, _token_of)
    if any(name != there for (_, there), name in tools.names.items()):
        messages = tuple(
            _rename_reply_calls(each, tools.names) if isinstance(each, Reply) else each
            for each in messages
        )
    request = Request(
        messages=mend_messages(messages, left),
        system="\n\n".join([each for each in (members.text("instructions"), said.system) if each]),
        specs=specs,
        choice=without_absent(choice, specs, left, "tool_choice"),
        output=output_in(form, form.get("schema"), "text.format", left),
        max_tokens=members.number("max_output_tokens"),
        options=_options(members, left),
    )
    members.get(*_UNHEARD)
    truncation = members.get("truncation")
    if truncation not in (None, "disabled"):
        # Where a conversation is too long, that is said, and nothing of it is dropped.
        left.append(f"truncation: {truncation}")
    left += text.left()
    named = {name.lower(): value.lower() for name, value in headers.items()}
    is_codex = "codex" in named.get("originator", "") + named.get("user-agent", "")
    return ClientRequest(
        request=request,
        model=model_in(members.get("model")),
        stream=members.get("stream") is True,
        client="codex" if is_codex else "",
        left_out=(*left, *members.left()),
        forms=tools.forms,
    )


def _token_of(part: Reasoning | Call) -> str:
    """The field of a part that may hold a token: the encrypted content of a thought."""
    if isinstance(part, Call):
        return ""
    found = mapping(part.vendor.get(NAME)).get("encrypted_content")
    return text_in(found)


def _items(given: Any, tools: "_RequestTools", left: list[str]) -> Iterator[JsonObject]:
    """The messages, calls and results of the input; tools in it are added to ``tools``."""
    if isinstance(given, str):
        yield {"type": "message", "role": "user", "content": given}
        return
    for where, item in objects(given, "input"):
        kind = item.get("type") or "message"
        if kind == _ADDED:
            tools.take(item.get("tools") or [], f"{where}.tools")
        elif not is_item(str(kind)):
            left.append(f"{where}: {kind}")
        else:
            if kind == OUTPUTS["tool_search_call"]:
                # The tools that a search found can be called from now on.
                tools.take(item.get("tools") or [], f"{where}.tools")
            yield item


class _RequestTools:
    """The tools of a request, from all places."""

    def __init__(self, left: list[str]) -> None:
        self.specs: list[Spec] = []
        self.forms: dict[str, JsonObject] = {}
        """The client's form of a tool's calls, by our name of the tool."""
        self.names: dict[tuple[str, str], str] = {}
        """Our name of a tool, by its group and the client's name."""
        self._left = left

    def take(self, given: Any, where: str, group: str = "") -> None:
        for place, tool in objects(given, where):
            kind = tool.get("type") or "function"
            match kind:
                case "namespace":
                    self.take(tool.get("tools") or [], f"{place}.tools", str(tool.get("name") or ""))
                case "function":
                    strict = None if tool.get("strict") else False
                    self._add(tool, "function_call", place, group, strict=strict)
                case "custom":
                    more = {"input": "text", "grammar": _grammar(mapping(tool.get("format")))}
                    described = {**tool, "parameters": TEXT_INPUT}
                    self._add(described, "custom_tool_call", place, group, **more)
                case "tool_search" if tool.get("execution") == "client":
                    self._add({**tool, "name": _SEARCH}, "tool_search_call", place, group)
                case _:
                    self._left.append(f"{place}: {kind}")

    def _add(self, tool: Mapping[str, Any], kind: str, where: str, group: str, **more: Any) -> None:
        given = string(tool, "name", where)
        if (group, given) in self.names:
            return
        name = f"{group}_{given}" if given in self.forms else given
        self.names[group, given] = name
        form = {"type": kind, "name": given, **({"namespace": group} if group else {})}
        self.forms[name] = form
        self.specs.append(spec_of(name, tool.get("description"), tool.get("parameters"), where, **more))


def _rename_reply_calls(reply: Reply, names: Mapping[tuple[str, str], str]) -> Reply:
    def of(call: Call) -> Call:
        group = mapping(call.vendor.get(NAME)).get("namespace")
        return replace(call, name=names.get((str(group or ""), call.name), call.name))

    return replace(reply, content=tuple(of(p) if isinstance(p, Call) else p for p in reply.content))


def _grammar(form: Mapping[str, Any]) -> dict[str, str]:
    syntax = form.get("syntax")
    definition = form.get("definition")
    if isinstance(syntax, str) and isinstance(definition, str):
        return {syntax: definition}
    return {}


def _options(members: RequestMembers, left: list[str]) -> dict[str, Any]:
    """The settings that every dialect knows, under our names."""
    reasoning = RequestMembers(members.get("reasoning"), "reasoning.")
    effort = reasoning.get("effort")
    if effort is not None and not (isinstance(effort, str) and effort in EFFORTS):
        left.append(f"reasoning.effort: {effort}")
        effort = None
    # A summary is what other vendors show of thoughts anyway.
    reasoning.get("summary", "generate_summary")
    left += reasoning.left()
    options: dict[str, Any] = {
        "temperature": members.number("temperature"),
        "top_p": members.number("top_p"),
        "parallel": members.flag("parallel_tool_calls"),
        "user": members.text("safety_identifier", "user"),
        "cache_key": members.text("prompt_cache_key"),
        "reasoning": effort,
        "logprobs": members.number("top_logprobs") or None,
    }
    return present(options)


def _choice(given: Any, specs: tuple[Spec, ...], left: list[str]) -> tuple[ToolChoice, tuple[Spec, ...]]:
    if given in ("auto", "none", "required", None):
        return given or "auto", specs
    said = mapping(given)
    kind = said.get("type")
    if kind == "allowed_tools":
        names = [mapping(tool).get("name") for tool in sequence(said.get("tools"))]
        mode: ToolChoice = "auto"
        if said.get("mode") == "required":
            mode = "required"
        return mode, tuple(spec for spec in specs if spec.name in names)
    if isinstance(name := said.get("name"), str):
        return Named(name), specs
    left.append(f"tool_choice: {kind}")
    return "auto", specs
