"""A call as the model wrote it, and a checked call that may be run."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject, JsonValue, dump
from rightcall.core.tool import Tool

CallForm: TypeAlias = Literal["json", "text", "approval"]
"""What the arguments are: JSON; plain text, for a tool whose input is text; or ``approval``: a call that
the vendor itself runs once a person approves it. Only a vendor makes the last."""

TEXT_MEMBER = "input"
"""The key that holds a call's text for vendors that support only JSON."""


class Call(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, tag="call"):
    """A call as the model wrote it. The arguments stay the raw text."""

    id: str
    name: str
    arguments: str = ""
    truncated: bool = False
    """The reply stopped before this call was complete. Such a call is never run."""
    form: CallForm = "json"
    nulls: bool = False
    """The vendor's strict mode made the model write every optional member, so null means "left out"
    where the schema takes no null."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the vendor attached, by dialect; sent back unchanged to the same dialect."""

    @property
    def as_json(self) -> str:
        """The arguments as JSON text, if they are JSON."""
        return dump({TEXT_MEMBER: self.arguments}) if self.form == "text" else self.arguments


class Repair(Struct, frozen=True, gc=False, omit_defaults=True):
    """One lossless change that made arguments fit their schema, or a null that was removed.

    Only if the tool allows it, or if the vendor's strict mode demanded the null.
    """

    path: str
    before: JsonValue
    after: JsonValue
    removed: bool = False
    """The member was removed."""


class CheckedCall(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True, eq=False):
    """A call that passed the gate. Only ``check`` makes one; only this can be executed."""

    call: Call
    tool: Tool
    arguments: JsonObject
    """The validated arguments as JSON; for policies and the journal."""
    bound: Any
    """The arguments as the handler takes them: coerced Python values by parameter name, or, for a
    model used as a tool, the instance."""
    repairs: tuple[Repair, ...] = ()
