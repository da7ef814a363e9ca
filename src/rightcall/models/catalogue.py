"""Which names are local models, and their files.

The names that a user has given are stored in ``models.json`` in the XDG configuration directory, which a
person may read and edit.
"""

import os
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from rightcall.errors import UsageError
from rightcall.models.providers import PROVIDERS

EMBEDDED = "embedded"
"""The name of the model that comes with rightcall; it is reserved."""
SERVERS = ("llamacpp-raw", "vllm-raw")
"""Servers that are sent raw text, with a URL: ``llamacpp-raw:http://localhost:8080``."""
_PLACE = "local"

VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_GGUF = b"GGUF"
"""The first bytes of every GGUF file."""


class CatalogueEntry(Struct, frozen=True, kw_only=True):
    """A model with a name."""

    name: str
    path: Path

    @property
    def size(self) -> int | None:
        """The file's size in bytes; None if it no longer exists."""
        try:
            return self.path.stat().st_size
        except OSError:
            return None


class _CatalogueModel(Struct, frozen=True):
    path: str


class _CatalogueFile(Struct, frozen=True, kw_only=True):
    version: int = VERSION
    models: dict[str, _CatalogueModel] = {}


def is_local(name: str) -> bool:
    """Whether a name is a model on this machine, or a server of raw completions."""
    place, colon, rest = name.partition(":")
    return not colon or place in {_PLACE, *SERVERS} or (rest.endswith(".gguf") and "//" not in rest)


def file_of(name: str) -> Path:
    """The file of the embedded model, of a named model, or at the path given as the name."""
    name = name.removeprefix(f"{_PLACE}:")
    if name == EMBEDDED:
        from rightcall.local.engines.llamacpp import embedded_path  # noqa: PLC0415 - light until used

        return embedded_path()
    if name.endswith(".gguf"):
        return Path(name).expanduser()
    known = path_of(name)
    if known is None:
        # As other libraries write it.
        place, slash, model = name.partition("/")
        maker = {"gpt": "openai", "claude": "anthropic", "gemini": "gemini"}.get(name.partition("-")[0])
        meant = ""
        if slash and place in PROVIDERS:
            meant = f", as in {f'{place}:{model}'!r}"
        elif maker:
            meant = f", as in {f'{maker}:{name}'!r}"
        names = [EMBEDDED, *[entry.name for entry in entries()]]
        raise UsageError(
            f"{name!r} is no local model: there is {', '.join(names)}, and any file that ends in .gguf; "
            f"a model elsewhere is provider:model{meant}"
        )
    return known


def place() -> Path:
    """The file that stores the names."""
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # The XDG specification says to ignore a relative path.
    if not home.is_absolute():
        home = Path.home() / ".config"
    return home / "rightcall" / "models.json"


def entries() -> tuple[CatalogueEntry, ...]:
    """All named models, sorted by name."""
    return tuple(
        CatalogueEntry(name=name, path=Path(record.path))
        for name, record in sorted(_read().models.items())
    )


def path_of(name: str) -> Path | None:
    """The file of the model with that name; None if there is none."""
    record = _read().models.get(name)
    if record is None:
        return None
    return Path(record.path)


def add(name: str, path: str | os.PathLike[str]) -> CatalogueEntry:
    """Give a GGUF file a name. The file is not moved."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a model's name: letters, digits, dots, dashes and underscores, "
            "at most 64, a letter or digit first"
        )
    if name == EMBEDDED:
        raise UsageError(f"{name!r} is the name of the model that comes with rightcall")
    known = _read()
    if name in known.models:
        raise UsageError(f"{name!r} is the name of {known.models[name].path}; remove it first")
    # Links are not resolved: caches of models are full of them, and their targets have meaningless
    # names.
    file = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100
    try:
        with file.open("rb") as opened:
            start = opened.read(len(_GGUF))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if start != _GGUF:
        raise UsageError(f"{file} is not a GGUF file: it does not begin with GGUF")
    _write({**known.models, name: _CatalogueModel(str(file))})
    return CatalogueEntry(name=name, path=file)


def remove(name: str) -> CatalogueEntry:
    """Remove a name. The model's file stays."""
    if name == EMBEDDED:
        raise UsageError(f"{name!r} comes with rightcall and cannot be removed")
    models = dict(_read().models)
    record = models.pop(name, None)
    if record is None:
        raise UsageError(f"no model is called {name!r}; there is {', '.join(sorted(models)) or 'none'}")
    _write(models)
    return CatalogueEntry(name=name, path=Path(record.path))


def _read() -> _CatalogueFile:
    file = place()
    try:
        known = msgspec.json.decode(file.read_bytes(), type=_CatalogueFile)
    except FileNotFoundError:
        return _CatalogueFile()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not a list of models ({error}); fix it or delete it") from error
    if known.version != VERSION:
        raise UsageError(f"{file} has version {known.version}, and this rightcall knows {VERSION}")
    return known


def _write(models: dict[str, _CatalogueModel]) -> None:
    """Replace the file atomically, so that a reader never sees half of it."""
    file = place()
    text = msgspec.json.format(msgspec.json.encode(_CatalogueFile(models=models)), indent=2)
    try:
        from tempfile import NamedTemporaryFile  # noqa: PLC0415 - light until used

        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, prefix=file.name, delete=False) as fresh:
            fresh.write(text + b"\n")
            fresh.flush()
            os.fsync(fresh.fileno())
        try:
            Path(fresh.name).replace(file)
        except OSError:
            Path(fresh.name).unlink()
            raise
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
