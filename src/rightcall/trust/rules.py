"""What an application says about trust, in one value."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.decision import Grant
from rightcall.errors import UsageError
from rightcall.trust.policy import Rule

Screen: TypeAlias = Callable[[str], Awaitable[bool]]
"""Says whether a text that outsiders wrote looks like an attempt to give orders."""


class Rules(Struct, frozen=True, kw_only=True):
    """The rules of an agent. As they are, they already hold when the model is hijacked.

    Once text that outsiders could have written has been read, a call that does something needs all that
    says who or where to be vouched for: by the user, the developer, ``vouched``, or a trusted result.
    """

    vouched: tuple[str, ...] = ()
    """The operator's allowlist: values, or patterns such as ``*@example.com``."""
    grant: Grant | Literal["model"] | None = None
    """What a request may do. ``"model"``: the model is asked, before it has read anything."""
    policy: tuple[Rule, ...] | None = None
    """Ordered rules for every call, also before outsiders have spoken. Where there are any, a call that
    does something and fits none of them is denied."""
    otherwise: Literal["ask", "deny"] = "ask"
    """What becomes of a call that the rules do not let pass."""
    secrets: bool = True
    """Look for keys and passwords in what goes outside."""
    screen: Screen | None = None
    """Looks at every untrusted result, and labels those that look like an attack."""

    def __post_init__(self) -> None:
        given: object = self.vouched
        if isinstance(given, str):
            raise UsageError(f"vouched takes several values; write ({given!r},)")
