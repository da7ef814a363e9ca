"""Turns the raw text of a call into a checked call, or into the outcome that says why it does not pass.

Nothing here awaits, and no text makes it raise. Only what this module returns can be run.
"""

import difflib
from collections.abc import Sequence
from functools import cache

from rightcall.core.call import Call, CheckedCall
from rightcall.core.decision import APPROVED, VENDOR_CALL
from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonError, JsonObject, dump, kind_of, parse
from rightcall.core.outcome import Failed, Invalid, Truncated, UnknownTool
from rightcall.core.ports import Tools
from rightcall.core.problem import Problem, Valid
from rightcall.core.tool import Tool
from rightcall.core.tool_check import text_parameter
from rightcall.gate.failure import failed

Refused = Invalid | UnknownTool | Truncated | Failed
"""The outcomes of a call that does not pass; Failed only when a tool's own validator raised."""

LARGE = 64 * 1024
"""Characters of arguments above which a check is too slow for the event loop."""
_FEW = 30
"""Up to this many names are all listed for the model; of more, only the most similar ones."""
_CLOSE = 10
_NEAREST = 3
_LONGEST_NAME = 100
_COMPARED = 40
"""The most names that are compared letter by letter: hundreds would take as long as running a tool."""


def _approve(server: str, tool: str, arguments: object) -> str:  # noqa: ARG001 - what was asked
    return APPROVED


@cache
def _vendor_call() -> Tool:
    """Stands for a call which the vendor itself runs once a person has approved it.

    It is in no toolbox and no model is told of it. Running it means yes, and the dialect sends that to
    the vendor; any other outcome means no.
    """
    return Tool(
        VENDOR_CALL,
        "Let the vendor call a tool of a server that it is connected to.",
        {
            "type": "object",
            "properties": {"server": {"type": "string"}, "tool": {"type": "string"}, "arguments": {}},
            "required": ["server", "tool", "arguments"],
        },
        _approve,
        approval=True,
        facts=Facts(
            untrusted=False,
            private=False,
            reach="outside",
            dangers=("money", "deletes", "credentials"),
            targets=("server", "tool"),
        ),
    )


def check(call: Call, tools: Tools) -> CheckedCall | Refused:
    """Check one call: find the tool, parse the arguments, validate them, report every problem."""
    if call.truncated:
        return Truncated()
    tool = _vendor_call() if call.form == "approval" else tools.get(call.name)
    if tool is None:
        return _unknown(call.name, tools.names())
    text = call.arguments
    if len(text) * 4 > tool.limits.max_arguments_bytes:
        size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        if size > tool.limits.max_arguments_bytes:
            return _too_long(size, tool)
    if call.form == "text" or not text or text.isspace():
        text = _as_json(call, tool)
    try:
        value = parse(text)
    except JsonError as error:
        return Invalid((Problem("$", f"not valid JSON: {error}"),))
    if not isinstance(value, dict):
        problem = f"the arguments must be one JSON object, not {kind_of(value)}"
        return Invalid((Problem("$", problem),))
    try:
        if call.nulls and "null" in text and (found := _without_nulls(call, tool, value)) is not None:
            return found
        verdict = tool.validate(text, value)
        if isinstance(verdict, Valid):
            return CheckedCall(call=call, tool=tool, arguments=value, bound=verdict.bound)
        return _mended(call, tool, value) or Invalid(verdict)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a validator is the developer's code, and may panic
        return failed(error, tool)


def _as_json(call: Call, tool: Tool) -> str:
    """Returns the arguments as JSON, for a call whose arguments are plain text or empty."""
    if call.form == "text" and (name := text_parameter(tool.parameters)) is not None:
        return dump({name: call.arguments})
    # Vendors send an empty string for a call without arguments; the schema says whether that is valid.
    return call.arguments if call.arguments.strip() else "{}"


def takes_long(call: Call, tools: Tools) -> bool:
    """Whether a check is too slow for the event loop.

    The arguments are large, the validator is in another process, or it is not loaded yet.
    """
    if len(call.arguments) > LARGE:
        return True
    tool = tools.get(call.name)
    return tool is not None and (tool.waits or tool.loads_for(call.arguments))


def _without_nulls(call: Call, tool: Tool, value: JsonObject) -> CheckedCall | None:
    """Returns the call without the nulls that a strict schema forced, if that makes it valid."""
    from rightcall.gate.repair import without_nulls  # noqa: PLC0415 - light until used

    value, repairs = without_nulls(value, tool.schema)
    verdict = tool.validate(dump(value), value) if repairs else ()
    if not isinstance(verdict, Valid):
        return None
    return CheckedCall(call=call, tool=tool, arguments=value, bound=verdict.bound, repairs=repairs)


def _mended(call: Call, tool: Tool, value: JsonObject) -> CheckedCall | None:
    """Returns the call with its arguments repaired, if its tool allows that and it makes them valid."""
    # A repair validates against the schema many times, so that must not take long.
    if not tool.repair or tool.waits:
        return None
    from rightcall.gate.repair import repair  # noqa: PLC0415 - light until used

    value, repairs = repair(value, tool.schema)
    verdict = tool.validate(dump(value), value)
    if not isinstance(verdict, Valid):
        return None
    return CheckedCall(call=call, tool=tool, arguments=value, bound=verdict.bound, repairs=repairs)


def _too_long(size: int, tool: Tool) -> Invalid:
    limit = tool.limits.max_arguments_bytes
    return Invalid((Problem("$", f"{size:,} bytes of arguments are too many; at most {limit:,}"),))


def _unknown(name: str, names: Sequence[str]) -> UnknownTool:
    """Returns the outcome for a name that no tool has."""
    available = tuple(names)
    folded = {_fold(each): each for each in available}
    whole = _fold(name[:_LONGEST_NAME])
    # Models prefix names with namespaces of their own: functions.search, default_api:search.
    tail = _fold(name.replace(":", ".").rpartition(".")[2][:_LONGEST_NAME])
    exact = [tail] if tail in folded else []
    among = list(folded) if len(folded) <= _COMPARED else _alike(whole, list(folded))[:_COMPARED]
    similar = [each for text in (whole, tail) for each in difflib.get_close_matches(text, among)]
    nearest = list(dict.fromkeys(exact + similar))
    close = [] if len(available) <= _FEW else list(dict.fromkeys(nearest + among))[:_CLOSE]
    return UnknownTool(
        name,
        tuple(folded[each] for each in nearest[:_NEAREST]),
        available,
        close=tuple(folded[each] for each in close),
    )


def _alike(name: str, names: Sequence[str]) -> list[str]:
    """Returns the names sorted by how many pairs of letters they share with this one, the most first."""
    pairs = {name[at : at + 2] for at in range(len(name) - 1)}

    def unlike(other: str) -> float:
        own = {other[at : at + 2] for at in range(len(other) - 1)}
        return -2 * len(own & pairs) / (len(own) + len(pairs) + 1)

    return sorted(names, key=unlike)


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")
