"""Decisions of a policy or a person about a call."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.options import NameCheckedMeta

Origin: TypeAlias = Literal[
    "user", "developer", "operator", "stated", "trusted", "listed", "unfit", "untrusted", "nowhere"
]
"""Where a value was seen: typed by the user or the developer, allowed by the operator, stated as an
intent, in the record that the user typed the name of (``trusted``); listed by a system, which vouches
for reading only; typed, but as something else (``unfit``); in untrusted text; or nowhere, so the model
made it up."""

Scope: TypeAlias = Literal["once", "run", "target"]
"""What an approval covers: this call; every call of the tool in this run; every call of the tool in this
run with the same targets."""


class Evidence(Struct, frozen=True, gc=False, omit_defaults=True):
    """One value in a call's arguments, and where it was seen."""

    path: str
    """Its path in the arguments."""
    value: str
    origin: Origin
    source: str = ""
    """Where it was seen, by name, if there is one: the tool, for example."""

    @property
    def is_vouched(self) -> bool:
        """Whether the user, the developer, the operator or a record that was typed named the value."""
        return self.origin not in ("listed", "unfit", "untrusted", "nowhere")


class Allow(Struct, frozen=True, gc=False, omit_defaults=True, tag="allow", metaclass=NameCheckedMeta):
    """Run the call."""

    scope: Scope = "once"
    """What the approval covers, when a person decides under trust rules."""


class Deny(Struct, frozen=True, gc=False, omit_defaults=True, tag="deny", metaclass=NameCheckedMeta):
    """Do not run the call; the model reads the reason."""

    reason: str = ""
    then: str = ""
    """What the model should do instead. The agent sends it as a separate message, after the results."""


class Ask(Struct, frozen=True, gc=False, omit_defaults=True, tag="ask", metaclass=NameCheckedMeta):
    """A person must decide; they read the reason."""

    reason: str = ""


class Rewrite(
    Struct, frozen=True, gc=False, omit_defaults=True, tag="rewrite", metaclass=NameCheckedMeta
):
    """Run the call with these arguments instead. They are checked like the model's own."""

    arguments: JsonObject


class Answer(Struct, frozen=True, gc=False, omit_defaults=True, tag="answer", metaclass=NameCheckedMeta):
    """Do not run the call; this text is its result."""

    text: str


Decision: TypeAlias = Allow | Deny | Ask | Rewrite | Answer
"""A policy's decision about a checked call."""
FinalDecision: TypeAlias = Allow | Deny | Rewrite | Answer
"""A decision that asks nobody any more."""


class Approval(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A person's answer that covers more than one call."""

    tool: str
    """The tool; empty for any."""
    targets: tuple[str, ...] | None = None
    """The values that the answer is about; None for any."""
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same by parameter: approving a payment from one account to another does not approve the
    reverse."""
    most: Mapping[str, float] = field(default_factory=dict)
    """By parameter: the amounts that were shown; no later call may exceed them."""
    refused: bool = False
    """Whether the answer was no."""
    is_for_task: bool = False
    """Whether it is about all values that the task's intents rest on."""


VENDOR_CALL = "mcp_approval_request"
"""The name of a call that the vendor itself would run, on a server that it is connected to."""

PLAN_CALL = "carry_out_plan"
"""The name of the call that shows a plan to a person, to approve all of it at once."""

LATER_CALL = ".later"
"""What follows a call's id in the id under which its answer is given, if its tool answers later: the id
of the call itself may have been decided about, before it ran."""

APPROVED = "approved"
"""What such a call returns once a person has approved it; anything else means no."""

# Every reason of the library itself for not running a call, worded for the model.
NOBODY_TO_ASK = "a person must approve it, and there is nobody to ask"
REFUSED_BEFORE = "a person has refused this in this run, and what was refused stays refused"
CLIENT_CANNOT_ASK = "a person must approve it, and the client has no way to ask one"
UNCHANGEABLE = "the vendor runs it as it was written: it can be allowed or denied, not changed"
NOT_RECORDED = "secrets in its arguments were not recorded. Make the call again if it is needed."


def nobody_answered(failure: str) -> str:
    """The client should have asked a person, and that failed."""
    return f"a person must approve it, and nobody did. {failure}"


def busy(calls: int) -> str:
    """A server is running as many calls as it accepts."""
    return f"{calls} calls are under way already. Try again later."
