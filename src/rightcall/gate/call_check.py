"""Turns the raw text of a call into a checked call, or into the outcome that says why it does not pass.

Nothing here awaits, and no text makes it raise. Only what this module returns can be run.
"""

import difflib
from collections.abc import Collection, Sequence
from functools import cache

from rightcall.core.decision import APPROVED, VENDOR_CALL
from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonError, JsonObject, dump, kind_of, parse
from rightcall.core.outcome import Failed, Invalid, NotOffered, Truncated, UnknownTool
from rightcall.core.parts import Call
from rightcall.core.ports import Tools
from rightcall.core.problem import Problem, Valid
from rightcall.core.tool import CheckedCall, Tool, text_parameter
from rightcall.gate.render import failure_from_exception

Refused = Invalid | UnknownTool | NotOffered | Truncated | Failed
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
        lambda server, tool, arguments: APPROVED,  # noqa: ARG005 - the question's members
        approval=True,
        facts=Facts(
            untrusted=False,
            private=False,
            reach="outside",
            dangers=("money", "deletes", "credentials"),
            targets=("server", "tool"),
        ),
    )


def check(call: Call, tools: Tools, offer: Collection[str] | None = None) -> CheckedCall | Refused:
    """Check one call: find the tool, parse the arguments, validate them, report every problem.

    ``offer`` holds the only tools that may be called; None for all.
    """
    if call.truncated:
        return Truncated()
    tool = _vendor_call() if call.form == "approval" else tools.get(call.name)
    if tool is None:
        return _unknown(call.name, tools.names() if offer is None else tuple(offer))
    if offer is not None and call.name not in offer and not (offer and call.form == "approval"):
        # What the vendor would run itself is in no toolbox: only an offer of nothing excludes it.
        return NotOffered(tuple(offer))
    text = call.arguments
    if len(text) * 4 > tool.limits.max_arguments_bytes:
        if text.isascii():
            size = len(text)
        else:
            size = len(text.encode(errors="surrogatepass"))
        most = tool.limits.max_arguments_bytes
        if size > most:
            problem = f"{size:,} bytes of arguments are too many; at most {most:,}"
            return Invalid((Problem("$", problem),))
    if call.form == "text" and (name := text_parameter(tool.parameters)) is not None:
        text = dump({name: text})
    elif not text or text.isspace():
        # Vendors send an empty string for a call without arguments; the schema says whether that is
        # valid.
        text = "{}"
    try:
        value = parse(text)
    except JsonError as error:
        return Invalid((Problem("$", f"not valid JSON: {error}"),))
    if not isinstance(value, dict):
        problem = f"the arguments must be one JSON object, not {kind_of(value)}"
        return Invalid((Problem("$", problem),))
    try:
        if call.nulls and "null" in text:
            repaired = _repair(call, tool, value, nulls_only=True)
            if repaired is not None:
                return repaired
        verdict = tool.validate(text, value)
        if isinstance(verdict, Valid):
            return CheckedCall(call=call, tool=tool, arguments=value, bound=verdict.bound)
        if not tool.repair or tool.waits:
            # A repair validates against the schema many times, so that must not take long.
            return Invalid(verdict)
        return _repair(call, tool, value, nulls_only=False) or Invalid(verdict)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a validator is the developer's code, and may panic
        return failure_from_exception(error, tool)


def takes_long(call: Call, tools: Tools) -> bool:
    """Whether a check is too slow for the event loop.

    The arguments are large, the validator is in another process, or it is not loaded yet.
    """
    if len(call.arguments) > LARGE:
        return True
    tool = tools.get(call.name)
    return tool is not None and (tool.waits or tool.loads_for(call.arguments))


def _repair(call: Call, tool: Tool, value: JsonObject, *, nulls_only: bool) -> CheckedCall | None:
    """Returns the call with its arguments repaired, if that makes them valid.

    With ``nulls_only`` only the nulls go that a strict schema forced.
    """
    from rightcall.gate.repair import repair, without_nulls  # noqa: PLC0415 - light until used

    change = without_nulls if nulls_only else repair
    value, repairs = change(value, tool.schema)
    verdict = tool.validate(dump(value), value) if repairs else ()
    if not isinstance(verdict, Valid):
        return None
    return CheckedCall(call=call, tool=tool, arguments=value, bound=verdict.bound, repairs=repairs)


def _unknown(name: str, names: Sequence[str]) -> UnknownTool:
    """Returns the outcome for a name that no tool has."""
    available = tuple(names)
    folded = {_fold(each): each for each in available}
    whole = _fold(name[:_LONGEST_NAME])
    # Models prefix names with namespaces of their own: functions.search, default_api:search.
    tail = _fold(name.replace(":", ".").rpartition(".")[2][:_LONGEST_NAME])
    exact = [tail] if tail in folded else []
    among = list(folded)
    if len(among) > _COMPARED:
        # Those that share the most pairs of letters with it.
        pairs = _letter_pairs(whole)

        def unlike(other: str) -> float:
            own = _letter_pairs(other)
            return -2 * len(own & pairs) / (len(own) + len(pairs) + 1)

        among = sorted(among, key=unlike)[:_COMPARED]
    similar = [each for text in (whole, tail) for each in difflib.get_close_matches(text, among)]
    nearest = list(dict.fromkeys(exact + similar))
    close = []
    if len(available) > _FEW:
        close = list(dict.fromkeys(nearest + among))[:_CLOSE]
    return UnknownTool(
        name,
        tuple(folded[each] for each in nearest[:_NEAREST]),
        available,
        close=tuple(folded[each] for each in close),
    )


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


def _letter_pairs(name: str) -> set[str]:
    return {name[at : at + 2] for at in range(len(name) - 1)}
