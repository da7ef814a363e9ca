"""The tools that need no gate: they touch nothing of the user's and nothing outside."""

from toolwright.builtin.calculate.tool import calculate
from toolwright.builtin.clock import datetime
from toolwright.core.tool import Tool


def default_tools() -> tuple[Tool, ...]:
    """What a model is given when nobody says which tools it may use: arithmetic, and the time."""
    return (calculate(), datetime())
