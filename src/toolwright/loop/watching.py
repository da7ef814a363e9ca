"""Which run a call is part of, so that a run inside it is held to what its parent knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from toolwright.trust.guard import Guard

_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)


def guard_above() -> Guard | None:
    """The guard of the run that this code is called from, if it has one."""
    return _guard.get()


@contextmanager
def watched_by(guard: Guard | None) -> Iterator[None]:
    """What runs in here is part of that guard's run."""
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)
