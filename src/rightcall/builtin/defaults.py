"""The tools that need no gate: they touch nothing of the user's and nothing outside."""

from rightcall.builtin.calculator import calculate
from rightcall.builtin.clock import datetime
from rightcall.core.tool import Tool


def default_tools() -> tuple[Tool, ...]:
    """What a model is given when nobody says which tools it may use: arithmetic, and the time."""
    return (calculate(), datetime())
