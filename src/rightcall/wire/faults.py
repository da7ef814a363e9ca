"""Tells the model what the vendor found wrong with its output.

Such a reply is not a lost connection: the same request would produce the same fault. With the fault
described, the model can correct itself. The vendor's message may quote the model's output, and is cut.
"""

from rightcall.core.jsontext import shorten

_LONGEST = 500


def malformed_call(told: str = "") -> str:
    """The message for a call that could not be parsed."""
    return (
        f"Your last reply held a tool call that could not be read{_because(told)}. Make the call again, "
        "with its arguments as one JSON object, or give your answer."
    )


def unexpected_call(told: str = "") -> str:
    """The message for a call of a tool that does not exist."""
    return (
        f"Your last reply called a tool that does not exist{_because(told)}. Call only tools that you "
        "were given, or give your answer."
    )


def too_many_calls(told: str = "") -> str:
    """The message for more consecutive calls than the vendor runs."""
    return (
        f"Your last reply made too many tool calls{_because(told)}. Make fewer at a time, or give your "
        "answer with what you have."
    )


def malformed_reply(told: str = "") -> str:
    """The message for a reply that could not be parsed."""
    return f"Your last reply could not be read{_because(told)}. Give it again."


def _because(told: str) -> str:
    return f": {shorten(told.strip().rstrip('.'), _LONGEST)}" if told.strip() else ""
