"""A coroutine into its value, from code that cannot await: also where an event loop already runs.

One event loop in one daemon thread serves every such call, so that connections outlive a run.
"""

from collections.abc import Coroutine
from typing import Any, TypeVar

from rightcall.background import Background

T = TypeVar("T")

_background = Background("run_sync")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine. Interrupting the wait cancels it."""
    return _background.run(coroutine)
