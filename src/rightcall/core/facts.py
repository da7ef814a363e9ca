"""What the author of a tool says about it: what it does, whose words it returns, what its values are."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from rightcall.core.options import Worded

Effect: TypeAlias = Literal["pure", "read", "idempotent", "write"]
"""What running a call again would mean: nothing ever (pure), nothing but a fresh look (read), the same
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
"""What is asked of a planned call: that no target is outsiders' free words (data); also that they did
not choose it, and decided whether the call is made only where the plan wrote all targets out (named); or
that they chose and decided nothing at all (choice)."""


class Facts(Struct, frozen=True, kw_only=True, repr_omit_defaults=True, metaclass=Worded):
    """What is known of a tool's dangers. None: nobody said, and rules must take that for the worst.

    A field is named by its key, wherever it is in what the tool returns, or by the end of the path to
    it: ``"body"``, ``"author.name"``. Everything below it is meant, too.
    """

    untrusted: bool | tuple[str, ...] | None = None
    """Whether outsiders could have written what it returns; or the fields they could have written, and
    the others are the system's own word."""
    names: bool | tuple[str, ...] = ()
    """The fields with names that outsiders chose and the system knows: of files, of channels, of people;
    or True for every text. They count as untrusted, but each, as a whole, vouches for what it names."""
    identity: tuple[str, ...] | None = None
    """The fields that say who sent, wrote, shared or joined. Whoever gets in touch chooses what stands
    there, so that they count as untrusted. None: those that are named so (``sender``, ``cc``,
    ``participants``, ``owner``, …); () where the user chose all of them, as in sent mail."""
    directory: bool = False
    """It looks up what the user or the operator entered, such as contacts: the people in it are known,
    and none of its fields is an outsider's identity."""
    private: bool | tuple[str, ...] | None = None
    """Whether it returns data that not everyone may see; or the fields that are."""
    reach: Reach | None = None
    """What it touches: nothing, the user's own data, or the world outside."""
    dangers: tuple[Danger, ...] | None = None
    """What else it does: moves money, deletes, touches credentials; () when it does nothing of it."""
    targets: tuple[str, ...] | None = None
    """The parameters that say who, where or which account; () when none does."""
    content: tuple[str, ...] | None = None
    """The parameters whose text travels to the targets. None: all that are no targets. Those in neither
    are harmless."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What parameters and fields hold, by name; ``"*"`` for the fields that are not named. A value
    vouches only for its own kind. What is not said follows from the schema's format and from the name,
    and else from how the value itself looks."""
    sources: tuple[str, ...] | None = None
    """The targets from which something is taken; into the others it goes. What the user named as one is
    not vouched for as the other. None: those that are named so (``source``, ``from_account``, …)."""
    bounded: tuple[str, ...] | None = None
    """The parameters that may be no more than what was asked for: each amount was named, or is at most
    the largest that the user or a trusted result named. None: the amounts of a tool that does
    something."""
    widens: Mapping[str, tuple[str, ...]] | None = None
    """By parameter: the choices that give others more access, which the user must have named. None:
    those that are called so (``public``, ``everyone``, ``admin``, ``owner``, ``write``, …)."""
    finds_by: tuple[str, ...] = ()
    """The fields that decide what it finds, where outsiders could have written them: who writes into one
    can have something else found."""
    what: str = ""
    """What its result is, in a few words that the model reads beside those of outsiders: ``"a mail from
    an unknown sender"``."""
    derived: bool = False
    """What it returns is made of its arguments, as a model's answer is and a pure tool's: it vouches for
    no more than they do."""
    level: Level | None = None
    """How much of a planned call outsiders may have decided (rc.Plan). None: ``choice`` where it has
    dangers, ``named`` where it reaches outside, else ``data``."""
