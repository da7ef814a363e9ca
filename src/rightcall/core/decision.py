"""What a policy or a person says to a proposed call."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.options import Spelt
from rightcall.errors import UsageError

Origin: TypeAlias = Literal[
    "user", "developer", "operator", "trusted", "listed", "unfit", "untrusted", "nowhere"
]
"""Where a value was seen: in the words of the user, of the developer or of the operator; in a result
that its tool vouches for; listed in one, where nobody said that it is the one; named by one of them, but
as something else, for less, or as what is not to be; in text that outsiders could have written; or
nowhere, so the model's own."""

Scope: TypeAlias = Literal["once", "run", "target"]
"""How far a person's yes goes: this call; every call of the tool in this run; every call of the tool in
this run with the same targets."""


class Evidence(Struct, frozen=True, gc=False, omit_defaults=True):
    """One value in a call's arguments, and where it was seen."""

    path: str
    """Where it stands in the arguments."""
    value: str
    origin: Origin
    source: str = ""
    """Whose words it was seen in, by name, where there is one."""

    @property
    def is_vouched(self) -> bool:
        """Whether somebody who may be relied on has named the value."""
        return self.origin not in ("listed", "unfit", "untrusted", "nowhere")


class Allow(Struct, frozen=True, gc=False, omit_defaults=True, tag="allow", metaclass=Spelt):
    """Run it."""

    scope: Scope = "once"
    """How far the yes goes, where a person says it and rules of trust are in force."""


class Deny(Struct, frozen=True, gc=False, omit_defaults=True, tag="deny", metaclass=Spelt):
    """Do not run it; the reason is for the model."""

    reason: str = ""
    then: str = ""
    """What the model is to do instead. An agent says it in a turn of its own: results give no orders."""


class Ask(Struct, frozen=True, gc=False, omit_defaults=True, tag="ask", metaclass=Spelt):
    """A person must decide; the reason is for them."""

    reason: str = ""


class Rewrite(Struct, frozen=True, gc=False, omit_defaults=True, tag="rewrite", metaclass=Spelt):
    """Run it with these arguments instead. They are checked as the model's own would be."""

    arguments: JsonObject


class Answer(Struct, frozen=True, gc=False, omit_defaults=True, tag="answer", metaclass=Spelt):
    """Do not run it; this is its result."""

    text: str


Decision: TypeAlias = Allow | Deny | Ask | Rewrite | Answer
"""What a policy says of a checked call."""
FinalDecision: TypeAlias = Allow | Deny | Rewrite | Answer
"""What is decided in the end, when nobody is asked any more."""


class Proposal(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A call that waits for a person."""

    call_id: str
    name: str
    arguments: JsonObject
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    """What in it nobody has vouched for, and where that was seen."""
    agent: str = ""
    """The agent whose call it is, where that is one that the run handed a task to: ``writer``, or
    ``writer/checker`` for one that it in turn handed a task to."""


class Approval(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A person's yes that goes beyond one call."""

    tool: str
    targets: tuple[str, ...] | None = None
    """The values that the yes is for; None for any."""
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same by parameter: a yes to a payment from one account to another is none to the way back."""
    most: Mapping[str, float] = field(default_factory=dict)
    """By parameter: the amounts that were shown, and that no later call may exceed."""


class Grant(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, metaclass=Spelt):
    """What a request may do, fixed while nobody but the user and the developer has spoken."""

    tools: tuple[str, ...] = ()
    """The consequential tools and those that read private data, by name or pattern (``calendar_*``)."""
    targets: tuple[str, ...] = ()
    """Values, or patterns of values, that the application vouches for."""

    def __post_init__(self) -> None:
        for name in ("tools", "targets"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"a grant's {name} are several; write ({getattr(self, name)!r},)")


VENDOR_CALL = "mcp_approval_request"
"""The name of a call that the vendor itself would run, at a server that it is connected to."""

PLAN_CALL = "carry_out_plan"
"""The name of the call that shows a plan to a person, for one yes to all of it."""

APPROVED = "approved"
"""What such a call returns once a person has said yes; nothing else is a yes."""

# Every reason that the library itself gives for not running a call, in words for the model.
NOBODY_TO_ASK = "a person must approve it, and there is nobody to ask"
CLIENT_CANNOT_ASK = "a person must approve it, and the client has no way to ask one"
UNCHANGEABLE = "the vendor runs it as it was written: it can be allowed or denied, not changed"
NOT_RECORDED = "secrets in its arguments were not recorded. Make the call again if it is needed."


def nobody_answered(failure: str) -> str:
    """The client was to ask a person, and that failed."""
    return f"a person must approve it, and nobody did. {failure}"


def busy(calls: int) -> str:
    """A server has so many calls under way that it takes no more."""
    return f"{calls} calls are under way already. Try again later."
