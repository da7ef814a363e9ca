"""What a vendor found wrong with what its model wrote, in words for the model.

Such a reply did not break off on its way: asked for the same again, the model would write the same.
Told what was wrong, it can do better. The vendor's words may repeat what the model wrote, and are cut.
"""

from rightcall.core.jsontext import shorten

_LONGEST = 500


def malformed_call(told: str = "") -> str:
    """A call that could not be read."""
    return (
        f"Your last reply held a tool call that could not be read{_because(told)}. Make the call again, "
        "with its arguments as one JSON object, or give your answer."
    )


def unexpected_call(told: str = "") -> str:
    """A call of a tool that there is not."""
    return (
        f"Your last reply called a tool that does not exist{_because(told)}. Call only tools that you "
        "were given, or give your answer."
    )


def too_many_calls(told: str = "") -> str:
    """More calls, one after another, than the vendor runs."""
    return (
        f"Your last reply made too many tool calls{_because(told)}. Make fewer at a time, or give your "
        "answer with what you have."
    )


def malformed_reply(told: str = "") -> str:
    """A reply that could not be read."""
    return f"Your last reply could not be read{_because(told)}. Give it again."


def _because(told: str) -> str:
    return f": {shorten(told.strip().rstrip('.'), _LONGEST)}" if told.strip() else ""
