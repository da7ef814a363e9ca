"""Limits of a tool: time, retries, rate, concurrency, sizes."""

from collections.abc import Mapping
from typing import Any, TypedDict

from msgspec import Struct
from msgspec.structs import asdict

from rightcall.core.options import TypeCheckedMeta
from rightcall.errors import UsageError

_MORE_THAN_NONE = (
    "timeout",
    "concurrency",
    "max_output_bytes",
    "max_failure_bytes",
    "max_arguments_bytes",
)


class Limits(Struct, frozen=True, kw_only=True, metaclass=TypeCheckedMeta):
    """Limits of a tool: time, retries, rate, concurrency, sizes. Every tool has limits by default."""

    timeout: float = 60.0
    """Seconds for one call, including retries and the waits between them."""
    retries: int = 0
    """How often a call is retried, after a failure marked ``retryable`` or listed in ``retry_on``."""
    retry_on: type[Exception] | tuple[type[Exception], ...] = ()
    """Exceptions after which a call is retried. Listing one states that a call that raised it may be
    made again, whatever the tool's effect is."""
    backoff: float = 0.5
    """Seconds before the first retry; doubled before each further one."""
    rate: tuple[int, float] | None = None
    """At most this many calls in this many seconds, in this process: ``(5, 60)``. A call beyond it
    waits."""
    concurrency: int | None = None
    """How many calls of this tool may run at once, in this process. None: only the limit of each run
    applies."""
    max_output_bytes: int = 64 * 1024
    """Text beyond it is cut in the middle, with a marker that says so."""
    max_failure_bytes: int = 2048
    """The same for a failure's message, and for the problems of a call."""
    max_media_bytes: int = 5 * 1024 * 1024
    """A larger image or file is left out, with a note that says so."""
    max_arguments_bytes: int = 1024 * 1024
    """Longer arguments are refused without parsing."""

    def __post_init__(self) -> None:
        for name in _MORE_THAN_NONE:
            value = getattr(self, name)
            is_unlimited = value is None and name == "concurrency"
            if not is_unlimited and not value > 0:
                raise UsageError(f"limits: {name} must be more than 0, not {value!r}")
        for name in ("retries", "backoff", "max_media_bytes"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"limits: {name} must not be negative")
        if self.rate is not None and not _is_rate(self.rate):
            raise UsageError("limits: rate must be (calls, seconds), each more than 0")
        named: tuple[object, ...] = (self.retry_on,)
        if isinstance(self.retry_on, tuple):
            named = self.retry_on
        for each in named:
            if not isinstance(each, type) or not issubclass(each, Exception):
                raise UsageError(f"limits: retry_on takes classes of exceptions, and not {each!r}")
        if named and not self.retries:
            raise UsageError("limits: retry_on needs to know how often; add retries=3, or so")


_NO_LIMITS = Limits()


class LimitOptions(TypedDict, total=False):
    """The same limits as options, for functions that also take them one by one."""

    timeout: float
    retries: int
    retry_on: type[Exception] | tuple[type[Exception], ...]
    backoff: float
    rate: tuple[int, float] | None
    concurrency: int | None
    max_output_bytes: int
    max_failure_bytes: int
    max_media_bytes: int
    max_arguments_bytes: int


LIMITS: frozenset[str] = frozenset(LimitOptions.__annotations__)


def with_limits(options: Mapping[str, Any], base: Limits | None = None) -> dict[str, Any]:
    """Returns the options with limits that were given one by one moved into ``limits``.

    ``base`` are the limits that the options change. A limit that is given twice is refused, because it
    is unclear which one is meant.
    """
    settings = dict(options)
    flat = {name: settings.pop(name) for name in options if name in LIMITS}
    if not flat:
        return settings
    limits = settings.get("limits")
    if limits is not None:
        for name in flat:
            if getattr(limits, name) != getattr(_NO_LIMITS, name):
                raise UsageError(f"{name} is given twice: by itself and in limits; say it once")
    # Made anew, and not copied with changes: copies are not checked.
    settings["limits"] = Limits(**{**asdict(limits or base or _NO_LIMITS), **flat})
    return settings


def _is_rate(rate: object) -> bool:
    numbers = rate if isinstance(rate, tuple | list) else ()
    if len(numbers) != 2 or not all(isinstance(each, int | float) for each in numbers):  # noqa: PLR2004
        return False
    return bool(numbers[0] >= 1 and numbers[1] > 0)
