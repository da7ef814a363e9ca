"""A tool as a manifest declares it: values."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.core.tool import Effect, Facts
from rightcall.process.command import Isolation


class Literally(Struct, frozen=True):
    """An argument that is always the same."""

    text: str


class Placeholder(Struct, frozen=True):
    """An argument that the model fills in, or several for an array; none when it is left out."""

    name: str
    guarded: bool = False
    """Whether ``--`` stands before it, after which a program takes nothing for an option."""


class Group(Struct, frozen=True):
    """Arguments that come and go together: a flag and its value. Once for every item of an array."""

    before: tuple[str, ...]
    placeholder: Placeholder
    after: tuple[str, ...] = ()


Element: TypeAlias = Literally | Placeholder | Group


class Parameter(Struct, frozen=True, kw_only=True):
    """What a manifest needs to know of a parameter beside its schema."""

    types: frozenset[str]
    """The JSON types of its values; of its items, when it is an array."""
    is_array: bool = False
    required: bool = False
    listed: frozenset[str] | None = None
    """All values it can have, as arguments, when the operator has listed them."""


class Entry(Struct, frozen=True, kw_only=True):
    """One tool: a program, what the model may say to it, and its bounds."""

    name: str
    description: str
    command: str
    argv: tuple[Element, ...] = ()
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    known: Mapping[str, Parameter] = field(default_factory=dict)
    timeout_ms: int = 30_000
    max_output_bytes: int = 64 * 1024
    max_processes: int = 128
    cwd: str = "/"
    env_passthrough: tuple[str, ...] = ()
    stderr: Literal["merge", "discard"] = "merge"
    treat_nonzero_exit_as_error: bool = True
    effect: Effect = "write"
    approval: bool = False
    facts: Facts = Facts(untrusted=True)
    isolation: Isolation | None = None
