"""The form by which a rightcall server asks for approval, as its client knows it again.

Anybody's server can send the same form. So knowing it means only that a yes is a yes: the words that
come with it are still an outsider's.
"""

from collections.abc import Mapping
from typing import Any

from rightcall.core.decision import Allow, Deny, FinalDecision
from rightcall.core.jsontext import JsonObject

FIELDS: Mapping[str, JsonObject] = {
    "allow": {"type": "boolean", "title": "Run it"},
    "reason": {"type": "string", "title": "Why not", "description": "For the model to read"},
}
REQUIRED = ("allow",)


def is_approval(form: JsonObject) -> bool:
    """Whether a form asks for a yes or a no, and why not, and for nothing else."""
    fields = form.get("properties")
    if not isinstance(fields, Mapping) or form.get("required") != list(REQUIRED):
        return False
    kinds = {
        name: field.get("type") if isinstance(field, Mapping) else None for name, field in fields.items()
    }
    return kinds == {name: field["type"] for name, field in FIELDS.items()}


def approval_content(decision: FinalDecision) -> dict[str, Any] | None:
    """What a plain yes, or a no with a reason, is in such a form; None for any other decision."""
    match decision:
        case Allow():
            return {"allow": True}
        case Deny(reason=reason) if reason:
            return {"allow": False, "reason": reason}
        case _:
            return None
