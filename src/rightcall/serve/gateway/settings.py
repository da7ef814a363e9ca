"""What an operator says about a gateway, as values."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
DEFAULT_LISTEN = "127.0.0.1:9000"


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One place where a model is asked."""

    use: str
    """The model, as ``rc.connect`` takes it. A ``*`` in it stands for the name that the client asked
    for."""
    weight: Positive = 1.0
    """Its share of the conversations, beside the other places of the same model."""
    base_url: str | None = None
    key_env: str = ""
    """The variable of the environment that holds the vendor's key, where it is not the usual one."""
    key_file: str = ""
    """A file that holds it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    family: str | None = None
    """For local models: how it writes calls, where its template does not tell."""
    template: str | None = None


class Served(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model that clients ask for by a name."""

    places: tuple[Place, ...] = ()
    fallback: tuple[str, ...] = ()
    """Other served models, by name, that are asked in order where no place of this one can answer."""
    exact: bool = True
    """Pass requests of the upstream's own dialect through byte for byte. False reads and writes them
    anew, which mends what a careless upstream sends: repeated ids, missing ends."""
    cache_seconds: Annotated[float, Meta(ge=0)] = 0.0
    """Answer identical deterministic requests of one key from memory for so long; 0 for never."""
    input_price: float | None = None
    """US dollars for a million tokens, where the price tables do not know the model."""
    output_price: float | None = None
    tokens_per_day: Count | None = None
    """For all keys together, and where there are none; its fallback is asked where it is used up."""
    dollars_per_day: Positive | None = None
    rules: str = ""
    """A file of rules of trust: calls that they refuse become words in the reply."""
    tools: tuple[str, ...] = ()
    """Tools that are run here, as ``FILE.py:NAME`` or ``module:NAME``: clients get the final text."""
    manifests: tuple[str, ...] = ()
    mcp: str = ""
    """A file of MCP servers whose tools are run here."""
    instructions: str = ""
    """What an agent with tools is told first."""

    @property
    def has_budget(self) -> bool:
        """Whether only so much may be spent on it in a day."""
        return self.tokens_per_day is not None or self.dollars_per_day is not None

    @property
    def is_agent(self) -> bool:
        """Whether calls are run here, so that clients see only what came of them."""
        return bool(self.tools or self.manifests or self.mcp)


class Bounds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one client, and all of them together, may use of the gateway."""

    request_bytes: Count = 32 * 1024 * 1024
    header_bytes: Count = 64 * 1024
    header_seconds: Positive = 10.0
    """From a connection, or the first byte of its next request, to the end of the headers."""
    body_seconds: Positive = 60.0
    """From the headers to the end of the body."""
    exchange_seconds: Positive = 3600.0
    stalled_seconds: Positive = 120.0
    """How long a client may read nothing of what is there for it."""
    concurrency: Count = 2000
    """Exchanges at once."""
    waiting_bytes: Count = 256 * 1024 * 1024
    """Bytes of requests that are held at once."""
    quiet_seconds: Positive = 15.0
    """How long a stream says nothing before it says that it is still there."""
    shutdown_seconds: Positive = 60.0
    """How long streams may go on after the gateway was told to end."""


class Trying(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How patiently upstreams are tried."""

    rounds: Count = 2
    """How often all places are gone through."""
    longest_wait: Annotated[float, Meta(ge=0)] = 5.0
    """Seconds between two rounds at most. Who asks for more is told so, with ``retry-after``."""
    first_byte_seconds: Positive = 600.0
    between_seconds: Positive = 300.0


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All of it."""

    models: Mapping[str, Served] = field(default_factory=dict)
    """By the name that clients ask for; one with ``*`` stands for all names that fit."""
    listen: str = DEFAULT_LISTEN
    keys: str = ""
    """The file of keys."""
    spend: str = ""
    """Where spend is kept: a file of SQLite, or ``postgresql://...``."""
    journal: str = ""
    """Where every exchange is recorded."""
    origins: tuple[str, ...] = ()
    """Web pages that may call the gateway, such as ``https://chat.example.org``."""
    bounds: Bounds = Bounds()
    trying: Trying = Trying()

    def served(self, name: str) -> Served | None:
        """The model behind a name: the one of that very name, or the first pattern that fits it."""
        if (found := self.models.get(name)) is not None and "*" not in name:
            return found
        return next(
            (
                served
                for pattern, served in self.models.items()
                if "*" in pattern and fnmatchcase(name, pattern)
            ),
            None,
        )

    def files(self) -> tuple[Path, ...]:
        """The files besides their own that the settings name: rules, and keys of vendors."""
        named = [
            each
            for served in self.models.values()
            for each in (served.rules, *(place.key_file for place in served.places))
        ]
        return tuple(Path(each) for each in dict.fromkeys(named) if each)

    def names(self) -> tuple[str, ...]:
        """The names that can be listed."""
        return tuple(name for name in self.models if "*" not in name)
