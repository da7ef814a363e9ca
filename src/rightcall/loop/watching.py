"""Which run a call is part of, so that a run inside it is held to what its parent knows."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from rightcall.trust.guard import Guard

_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)


def guard_above() -> Guard | None:
    """The guard of the run that this code is called from, if it has one."""
    return _guard.get()


_UNWATCHED = nullcontext()


def watched_by(guard: Guard | None) -> AbstractContextManager[None]:
    """What runs in here is part of that guard's run; without one, of whatever run is around it."""
    return _UNWATCHED if guard is None else _watched(guard)


@contextmanager
def _watched(guard: Guard) -> Iterator[None]:
    token = _guard.set(guard)
    try:
        yield
    finally:
        _guard.reset(token)
