"""An operator's settings for a gateway, as values."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import fields

from rightcall.errors import UsageError
from rightcall.trust.rules_file import Mistake

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
    request_parts: Count = 100_000
    """Objects and arrays of a request, and their members and items after the first."""
    request_depth: Count = 100
    """How deep objects and arrays of a request may nest."""
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
    handle_bytes: Annotated[int, Meta(ge=0)] = 64 * 1024 * 1024
    """Bytes of thoughts that are kept for Chat's clients, which get handles of them; 0 keeps nothing."""
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

    def served_model(self, name: str) -> Served | None:
        """The model behind a name: the one of exactly that name, or the first pattern that matches."""
        if (found := self.models.get(name)) is not None and "*" not in name:
            return found
        for pattern, served in self.models.items():
            if "*" in pattern and fnmatchcase(name, pattern):
                return served
        return None

    def files(self) -> tuple[Path, ...]:
        """The files besides their own that the settings name: rules, and keys of vendors."""
        files = dict[Path, None]()
        for served in self.models.values():
            for name in (served.rules, *[place.key_file for place in served.places]):
                if name:
                    files[Path(name)] = None
        return tuple(files)

    def names(self) -> tuple[str, ...]:
        """The names that can be listed."""
        return tuple(name for name in self.models if "*" not in name)


_TABLES: Mapping[str, type[Struct]] = {"bounds": Bounds, "trying": Trying}
_AT = re.compile(r" - at `\$(.*)`")


def read_settings(path: Path) -> Settings:
    """The settings in a TOML file. Raises UsageError with everything that is wrong with it.

    ::

        listen = "127.0.0.1:9000"
        [models]
        fast = "openai:gpt-5-mini"
        [models.careful]
        places = [{ use = "anthropic:claude-opus-4-8" }, { use = "bedrock-anthropic:...", weight = 2 }]
        fallback = ["fast"]
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    settings, mistakes = parse_settings(text)
    if mistakes:
        lines = "\n".join(f"{path}:{each.line}: {each.words}" for each in mistakes)
        raise UsageError(f"the configuration cannot be used:\n{lines}")
    return settings


def parse_settings(text: str) -> tuple[Settings, tuple[Mistake, ...]]:
    """The settings in a TOML text, and all its mistakes; the settings are valid only without any."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = max(len(text.splitlines()), 1)
        if found := re.search(r"at line (\d+)", str(error)):
            line = int(found[1])
        return Settings(), (Mistake(line, f"not TOML: {error}"),)
    reader = _SettingsReader(text)
    settings = reader.settings(document)
    return settings, tuple(sorted(reader.mistakes, key=lambda each: each.line))


def with_models(settings: Settings, given: Sequence[str]) -> Settings:
    """The settings with the models of ``NAME=SPEC`` arguments, which take precedence over the file's."""
    models: dict[str, Served] = {}
    for each in given:
        name, sign, use = each.partition("=")
        if not sign or not name.strip() or not use.strip():
            raise UsageError(f"--model {each}: write NAME=SPEC, as fast=openai:gpt-5-mini")
        models[name.strip()] = msgspec.convert(_long_form(use.strip()), Served)
    return msgspec.structs.replace(settings, models={**models, **settings.models, **models})


def _long_form(given: object) -> object:
    """A model given in a short form, written out: a name, or one place beside the other members."""
    if isinstance(given, str):
        return {"places": [{"use": given}]}
    if isinstance(given, dict) and "use" in given and "places" not in given:
        names = {each.name for each in fields(Served)}
        place: dict[str, object] = {}
        served: dict[str, object] = {"places": [place]}
        for name, value in given.items():
            members = served if name in names else place
            members[name] = value
        return served
    return given


class _SettingsReader:
    """Reads a document table by table, so that one mistake does not hide the next."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self.mistakes: list[Mistake] = []

    def settings(self, document: Mapping[str, Any]) -> Settings:
        members = {each.name: each.type for each in fields(Settings)}
        values: dict[str, Any] = {}
        for name, value in document.items():
            if name == "models":
                values[name] = self._models(value)
            elif name in _TABLES:
                values[name] = self._convert_value((name,), value, _TABLES[name])
            elif name in members:
                values[name] = self._convert_value((name,), value, members[name])
            else:
                self._wrong((name,), f"there is no {name!r}; there is {', '.join(members)}")
        return Settings(**{name: value for name, value in values.items() if value is not None})

    def _models(self, given: object) -> Mapping[str, Served]:
        if not isinstance(given, dict):
            self._wrong(("models",), 'models is a table: [models], then NAME = "SPEC"')
            return {}
        found: dict[str, Served] = {}
        for name, value in given.items():
            served = self._convert_value(("models", name), _long_form(value), Served)
            if served is None:
                continue
            found[name] = served
            path = ("models", name)
            if not served.places:
                words = f'{name}: say what is asked: use = "PROVIDER:MODEL", or places = [...]'
                self._wrong(path, words)
            for other in served.fallback:
                if other not in given:
                    self._wrong((*path, "fallback"), f"fallback: no model {other!r} is served")
            for place in served.places:
                if "*" in place.use and not place.use.endswith((":*", "|*")):
                    words = f"{name}: {place.use!r}: a * stands for all of a model's name: PROVIDER:*"
                    self._wrong(path, words)
                elif "*" in place.use and "*" not in name:
                    words = f'{name}: {place.use!r} needs a name with *, such as [models."claude-*"]'
                    self._wrong(path, words)
        return found

    def _convert_value(self, path: tuple[str, ...], value: object, kind: Any) -> Any:
        """The value as the type it should have; None if it does not fit, with all mistakes noted."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            where = _AT.search(str(error))
            inner = re.findall(r"\.(\w+)", where[1]) if where else []
            words = _AT.sub("", str(error))
            member = re.search(r"unknown field `(\w+)`", words)
            named = (*inner, *([member[1]] if member else []))
            at = ".".join((*path, *inner))
            self._wrong((*path, *named), f"{at}: {words}")
        if isinstance(value, dict) and named and named[0] in value:
            # Find further mistakes: the conversion stops at the first.
            rest = {name: each for name, each in value.items() if name != named[0]}
            self._convert_value(path, rest, kind)
        return None

    def _wrong(self, path: tuple[str, ...], words: str) -> None:
        # The line of the last part of a path that can be found.
        line = 0
        for name in path:
            spelt = rf'(?:{re.escape(name)}|"{re.escape(name)}"|\'{re.escape(name)}\')'
            wanted = re.compile(rf"(?:^|[\[{{.,\s]){spelt}\s*(?:[\].=]|$)")
            for at in range(line, len(self._lines)):
                if wanted.search(self._lines[at]):
                    line = at
                    break
        self.mistakes.append(Mistake(line + 1, words))
