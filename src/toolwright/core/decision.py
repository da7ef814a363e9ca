"""What a policy or a person says to a proposed call."""

from typing import TypeAlias

from msgspec import Struct

from toolwright.core.jsontext import JsonObject


class Allow(Struct, frozen=True, gc=False, omit_defaults=True, tag="allow"):
    """Run it."""


class Deny(Struct, frozen=True, gc=False, omit_defaults=True, tag="deny"):
    """Do not run it; the reason is for the model."""

    reason: str = ""


class Ask(Struct, frozen=True, gc=False, omit_defaults=True, tag="ask"):
    """A person must decide; the reason is for them."""

    reason: str = ""


class Rewrite(Struct, frozen=True, gc=False, omit_defaults=True, tag="rewrite"):
    """Run it with these arguments instead. They are checked as the model's own would be."""

    arguments: JsonObject


class Answer(Struct, frozen=True, gc=False, omit_defaults=True, tag="answer"):
    """Do not run it; this is its result."""

    text: str


Decision: TypeAlias = Allow | Deny | Ask | Rewrite | Answer
FinalDecision: TypeAlias = Allow | Deny | Rewrite | Answer


class Proposal(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A call that waits for a person."""

    call_id: str
    name: str
    arguments: JsonObject
    reason: str = ""
