"""Facts that the author of a tool states about it, for trust rules."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.options import TypeCheckedMeta

Effect: TypeAlias = Literal["pure", "read", "idempotent", "write"]
"""Whether a call is safe to run again: no effect and the same result (pure), no effect (read), the same
end state (idempotent), or a second act (write)."""

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
    """Whether people other than the user, developer or operator may have written what it returns; or the
    fields they may have written. Other fields are then trusted."""
    names: bool | tuple[str, ...] = ()
    """The fields with names that others chose and the system knows: of files, channels, people; or True
    for every text. They are untrusted, but each, as a whole, vouches for what it names."""
    identity: tuple[str, ...] | None = None
    """The fields that say who sent, wrote, shared or joined. The sender chooses their values, so they
    are untrusted. None: the fields with such names (``sender``, ``cc``, ``participants``, ``owner``,
    …). (): the user chose all of them, as in sent mail."""
    directory: bool = False
    """It looks up what the user or the operator entered, such as contacts. The people in it are trusted,
    and none of its fields counts as ``identity``."""
    private: bool | tuple[str, ...] | None = None
    """Whether it returns data that not everyone may see; or the fields that are."""
    reach: Reach | None = None
    """What it touches: nothing, the user's own data, or the world outside."""
    dangers: tuple[Danger, ...] | None = None
    """Whether it moves money, deletes or touches credentials; () if it does none of these."""
    targets: tuple[str, ...] | None = None
    """The parameters that say who, where or which account; () when none does."""
    content: tuple[str, ...] | None = None
    """The parameters whose text is sent to the targets. None: all that are not targets. Parameters in
    neither are harmless."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kind of parameters and fields, by name; ``"*"`` for fields that are not listed. A value
    vouches only for its own kind. The default comes from the schema's format, from the name, or else
    from the form of the value."""
    sources: tuple[str, ...] | None = None
    """The targets from which something is taken; it goes into the others. A value that the user named as
    one does not vouch for the other. None: those with such names (``source``, ``from_account``, …)."""
    bounded: tuple[str, ...] | None = None
    """The parameters that may not exceed what was asked for: each amount was named, or is at most the
    largest that the user or a trusted result named. None: the amounts of a tool that acts."""
    widens: Mapping[str, tuple[str, ...]] | None = None
    """By parameter: the choices that give others more access; the user must have named them. None: those
    with such names (``public``, ``everyone``, ``admin``, ``owner``, ``write``, …)."""
    asked_by: tuple[str, ...] = ()
    """Other words by which a user asks for it, in any language, as patterns: ``("fly", "storn*")``. A
    dangerous call on a record needs such a word, or the verb in the tool's name, or one that means the
    same."""
    allowed_when: tuple[Mapping[str, str], ...] = ()
    """What the house allows: the trusted record that a call names must fit one of these. By field: a
    pattern (``"pending*"``) or a bound (``"<= 100"``, ``">= 2026-01-01"``); a parameter of the same name
    says what the field becomes. (): anything."""
    finds_by: tuple[str, ...] = ()
    """The untrusted fields that decide what it finds: whoever writes there can change what is found."""
    what: str = ""
    """What its result is, in a few words that the model reads beside untrusted text: ``"a mail from an
    unknown sender"``."""
    derived: bool = False
    """What it returns is made from its arguments, as with a pure tool or a model's answer: it vouches
    for no more than they do."""
    level: Level | None = None
    """How much untrusted text may influence a planned call (rc.Plan). None: ``choice`` if it has
    dangers, ``named`` if it reaches outside, else ``data``."""
