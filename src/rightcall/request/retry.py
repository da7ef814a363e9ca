"""When a request is retried, and after how many seconds."""

from msgspec import Struct

from rightcall.core.options import TypeCheckedMeta
from rightcall.errors import RightcallError, TransportError, VendorError


class Retry(Struct, frozen=True, kw_only=True, gc=False, metaclass=TypeCheckedMeta):
    """How often a request is retried, and how long the waits may be."""

    attempts: int = 4
    """Attempts in total."""
    base: float = 0.5
    """Seconds before the first retry; doubled before each further one."""
    longest: float = 60.0
    """If a vendor asks for a longer wait, the request is not retried."""

    def delay(self, error: RightcallError, tried: int, luck: float) -> float | None:
        """Returns the seconds to wait after so many tries, or None to give up.

        ``luck`` between 0 and 1 spreads the retries of many clients; the wait that a vendor asks for is
        the least.
        """
        if not isinstance(error, TransportError | VendorError) or not error.retryable:
            return None
        if tried >= self.attempts:
            return None
        wait = min(self.base * 2.0 ** (tried - 1), self.longest) * (0.5 + luck / 2)
        if not isinstance(error, VendorError) or error.retry_after is None:
            return wait
        if not error.retry_after <= self.longest:
            # This also refuses NaN, with which a sleep would never end.
            return None
        return max(error.retry_after, 0.0) + self.base * luck
