"""What a running tool may know about its own call."""

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec import Struct

from rightcall.core.progress import CallProgress
from rightcall.core.usage import Usage

D = TypeVar("D")


def ignore(_: object) -> None:
    """Take something and do nothing with it."""


class Context(Struct, Generic[D], frozen=True, kw_only=True, eq=False):
    """Annotate a parameter with it, and the runtime fills it in; the model never sees it.

    ``Context[Database]`` says what ``dependencies`` holds.
    """

    call_id: str
    tool: str
    attempt: int = 1
    """1 for the first try, more after a retryable failure."""
    key: str = ""
    """Stays the same over every attempt at this call: an idempotency key for the outside world."""
    dependencies: D
    """Whatever the caller passed for tools to share: a client, a database, the current user."""
    is_cancelled: Callable[[], bool] = bool
    """True once nobody waits for this call any more. A function in a thread cannot be interrupted;
    one that loops should ask."""
    spend: Callable[[Usage], None] = ignore
    """Tell the run what this call spends on models, so that its budget counts it."""
    tell: Callable[[CallProgress], None] = ignore
    """Takes what ``progress`` says."""

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Say how far the call is: so much done, of so much, and with what. From any thread."""
        self.tell(CallProgress(self.call_id, done, total, text))
