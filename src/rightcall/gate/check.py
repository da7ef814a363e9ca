"""Turns the raw text of a call into a checked call, or into the outcome that says why it does not pass.

Nothing here awaits, and no text makes it raise. Only what this module returns can be run.
"""

from rightcall.core.call import Call, CheckedCall
from rightcall.core.jsontext import JsonError, JsonObject, dump, kind_of, parse
from rightcall.core.outcome import Failed, Invalid, Truncated, UnknownTool
from rightcall.core.ports import Tools
from rightcall.core.problem import Problem, Valid
from rightcall.core.tool import Tool
from rightcall.core.tool_check import text_parameter
from rightcall.gate.failure import failed
from rightcall.gate.nearest import unknown
from rightcall.gate.vendor_call import vendor_call

Refused = Invalid | UnknownTool | Truncated | Failed
"""The outcomes of a call that does not pass; Failed only when a tool's own validator raised."""

LARGE = 64 * 1024
"""Characters of arguments above which a check is too slow for the event loop."""


def check(call: Call, tools: Tools) -> CheckedCall | Refused:
    """Check one call: find the tool, parse the arguments, validate them, report every problem."""
    if call.truncated:
        return Truncated()
    tool = vendor_call if call.form == "approval" else tools.get(call.name)
    if tool is None:
        return unknown(call.name, tools.names())
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
    """Whether a check is too slow for the event loop: large arguments, or a validator in a process."""
    if len(call.arguments) > LARGE:
        return True
    tool = tools.get(call.name)
    return tool is not None and tool.waits


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
