"""Facts that the author of a tool states about it, for trust rules."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.options import TypeCheckedMeta

Effect: TypeAlias = Literal["pure", "read", "idempotent", "write"]
"""Whether a call is safe to run again: no effect and the same result (pure), no effect (read), the same
end state (idempotent), or a second act (write)."""

EFFECT_FREE = frozenset(["pure", "read"])
"""The effects of tools whose calls may be cut off, run in vain, or run again, as they change nothing."""

Reach: TypeAlias = Literal["nothing", "user", "outside"]
"""What a tool touches: nothing, the user's own data, or the world outside."""

Danger: TypeAlias = Literal["money", "deletes", "credentials"]
"""What makes a tool worse than its reach says: it moves money, deletes, or touches credentials."""

Kind: TypeAlias = Literal[
    "address", "account", "web", "path", "record", "person", "channel", "amount", "date", "free"
]
"""What a value is: a mail address or telephone number, an account, a link or host, a file or folder, the
identifier of something stored, a person's name, a channel, an amount or count, a day or time, or any
other words."""


Level: TypeAlias = Literal["data", "named", "choice"]
"""How much untrusted text may influence a planned call: no target is made of it (data); it did not
choose the targets either, and decides whether the call is made only if the plan wrote out all targets
(named); or it decides nothing at all (choice)."""


class Facts(Struct, frozen=True, kw_only=True, repr_omit_defaults=True, metaclass=TypeCheckedMeta):
    """The risks of a tool, for trust rules. A fact that is None is unknown; rules then assume the worst.

    A field is named by its key, at any depth of the returned value, or by the end of its path:
    ``"body"``, ``"author.name"``. Everything below it is included.
    """

    untrusted: bool | tuple[str, ...] | None = None
    """Whether outsiders may have written what it returns, or the fields that they may have written:
    ``untrusted=("subject", "body")``."""
    identity: tuple[str, ...] | None = None
    """The fields in which somebody says who they are. None: those with such names (``sender``, ``cc``,
    …). The user's own contacts have none: ``identity=()``."""
    private: bool | tuple[str, ...] | None = None
    """Whether it returns what not everybody may see, or the fields that hold it: ``private=True``."""
    reach: Reach | None = None
    """What it touches: the world outside, the user's own data, or nothing that matters:
    ``reach="outside"``."""
    dangers: tuple[Danger, ...] | None = None
    """What makes a call of it worse than another: ``dangers=("money",)``."""
    targets: tuple[str, ...] | None = None
    """The parameters that say who, where or which; () when none does: ``targets=("to", "cc")``."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kind of parameters and fields whose name does not show it: ``kinds={"code": "account"}``."""
    what: str = ""
    """What its result is, for the model to read beside outsiders' text: ``what="a stranger's mail"``."""
    level: Level | None = None
    """How much outsiders may decide about a planned call (rc.Plan): ``level="choice"``. None: by its
    dangers and its reach."""
