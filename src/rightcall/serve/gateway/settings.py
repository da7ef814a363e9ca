"""An operator's settings for a gateway, as values."""

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
    """Its share of the conversations, relative to the other places of the same model."""
    base_url: str | None = None
    key_env: str = ""
    """The environment variable with the vendor's key, if it is not the usual one."""
    key_file: str = ""
    """A file with the key."""
    headers: Mapping[str, str] = field(default_factory=dict)
    family: str | None = None
    """For local models: how it writes calls, if its template does not show that."""
    template: str | None = None


class Served(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model that clients ask for by a name."""

    places: tuple[Place, ...] = ()
    fallback: tuple[str, ...] = ()
    """Other served models, by name, that are asked in order if no place of this one can answer."""
    exact: bool = True
    """Pass requests of the upstream's own dialect through byte for byte. False parses and rewrites them,
    which repairs what a careless upstream sends: repeated ids, missing ends."""
    cache_seconds: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds for which identical deterministic requests of a key are answered from memory; 0: never."""
    input_price: float | None = None
    """US dollars for a million tokens, if the price tables do not know the model."""
    output_price: float | None = None
    tokens_per_day: Count | None = None
    """For all keys together, also if there are none; its fallback is asked when the limit is used up."""
    dollars_per_day: Positive | None = None
    rules: str = ""
    """A file of rules of trust: refused calls become text in the reply."""
    tools: tuple[str, ...] = ()
    """Tools that are run here, as ``FILE.py:NAME`` or ``module:NAME``: clients get the final text."""
    manifests: tuple[str, ...] = ()
    mcp: str = ""
    """A file of MCP servers whose tools are run here."""
    instructions: str = ""
    """The instructions of an agent with tools."""

    @property
    def has_budget(self) -> bool:
        """Whether it has a daily limit of tokens or dollars."""
        return self.tokens_per_day is not None or self.dollars_per_day is not None

    @property
    def is_agent(self) -> bool:
        """Whether calls are run here, so that clients see only the outcome."""
        return bool(self.tools or self.manifests or self.mcp)


class Bounds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of one client, and of all of them together."""

    request_bytes: Count = 32 * 1024 * 1024
    header_bytes: Count = 64 * 1024
    header_seconds: Positive = 10.0
    """From a connection, or the first byte of its next request, to the end of the headers."""
    body_seconds: Positive = 60.0
    """From the headers to the end of the body."""
    exchange_seconds: Positive = 3600.0
    stalled_seconds: Positive = 120.0
    """Seconds after which a client that reads nothing is disconnected."""
    concurrency: Count = 2000
    """Exchanges at once."""
    waiting_bytes: Count = 256 * 1024 * 1024
    """Bytes of requests that are held at once."""
    quiet_seconds: Positive = 15.0
    """Seconds without output after which a stream sends a keep-alive."""
    shutdown_seconds: Positive = 60.0
    """Seconds that streams may go on after the gateway was told to end."""


class Trying(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How upstreams are retried."""

    rounds: Count = 2
    """How often all places are tried."""
    longest_wait: Annotated[float, Meta(ge=0)] = 5.0
    """Seconds between two rounds at most. If a vendor asks for more, the client gets ``retry-after``."""
    first_byte_seconds: Positive = 600.0
    between_seconds: Positive = 300.0


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All settings of a gateway."""

    models: Mapping[str, Served] = field(default_factory=dict)
    """By the name that clients ask for; one with ``*`` stands for all names that match."""
    listen: str = DEFAULT_LISTEN
    keys: str = ""
    """The file of keys."""
    spend: str = ""
    """Where spend is stored: an SQLite file, or ``postgresql://...``."""
    journal: str = ""
    """Where every exchange is recorded."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may call the gateway, such as ``https://chat.example.org``."""
    bounds: Bounds = Bounds()
    trying: Trying = Trying()

    def served(self, name: str) -> Served | None:
        """The model behind a name: the one of exactly that name, or the first pattern that matches."""
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
