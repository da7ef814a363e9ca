"""Tool definitions: approved ones into hashes in a file, later ones into differences.

A server can describe one tool while somebody looks and another one later. So approved tools are pinned
by hashes, one for each side of a tool, so that a change can be detected and named.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from rightcall.core.jsontext import JsonObject
from rightcall.errors import UsageError


class Hints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server's hints on its tool's effects; None for those it did not give."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class Definition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as its server lists it."""

    name: str
    title: str = ""
    description: str = ""
    parameters: JsonObject
    output: JsonObject | None = None
    """The schema of its structured results."""
    hints: Hints = Hints()


VERSION = 1
_LARGEST = 4 * 1024 * 1024

Side: TypeAlias = Literal["words", "parameters", "output", "hints"]
_SIDES: tuple[Side, ...] = ("words", "parameters", "output", "hints")


class Pin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hashes of one approved tool."""

    words: str
    """The hash of its title and its description."""
    parameters: str
    output: str
    hints: str


class Difference(Struct, frozen=True):
    """One tool that differs from what was approved."""

    tool: str
    sides: tuple[Side, ...]
    """The sides that changed; empty for a tool that was never approved."""

    def __str__(self) -> str:
        if not self.sides:
            return f"{self.tool} is new"
        return f"{self.tool}: its {' and '.join(self.sides)} changed"


class _PinFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    servers: dict[str, dict[str, Pin]] = field(default_factory=dict)


class Pins:
    """A file of approved definitions, by server and tool. ``rightcall mcp pin`` writes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def servers(self) -> Mapping[str, Mapping[str, Pin]]:
        """Everything that is pinned; empty if the file does not exist yet."""
        try:
            with self.path.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}") from error
        if len(data) > _LARGEST:
            raise UsageError(f"{self.path} is larger than {_LARGEST:,} bytes; it is no file of pins")
        try:
            content = msgspec.json.decode(data, type=_PinFile)
        except msgspec.DecodeError as error:
            raise UsageError(f"{self.path} is no file of pins: {error}") from error
        if content.version != VERSION:
            raise UsageError(f"{self.path} is of version {content.version}; this reads {VERSION}")
        return content.servers

    def differences(self, server: str, found: Iterable[Definition]) -> tuple[Difference, ...]:
        """A server's tools that differ from their pins. Raises UsageError for a server without pins."""
        approved = self.servers().get(server)
        if approved is None:
            raise UsageError(f"{self.path} holds no pins of {server!r}; approve it: rightcall mcp pin")
        differences = []
        # A tool that is gone is no danger; if it comes back, it must be unchanged.
        for definition in found:
            pinned = approved.get(definition.name)
            now = pin_of(definition)
            if pinned is None:
                differences.append(Difference(definition.name, ()))
            elif pinned != now:
                sides = [side for side in _SIDES if getattr(pinned, side) != getattr(now, side)]
                differences.append(Difference(definition.name, tuple(sides)))
        return tuple(differences)

    def approve(self, server: str, found: Iterable[Definition]) -> None:
        """Pin a server's tools as approved, in place of its earlier pins."""
        servers = {name: dict(pins) for name, pins in self.servers().items()}
        servers[server] = {each.name: pin_of(each) for each in found}
        content = msgspec.to_builtins(_PinFile(version=VERSION, servers=servers))
        # Written beside the file and renamed, so that a crash leaves the old or the new pins.
        path = self.path
        text = json.dumps(content, indent=2, sort_keys=True) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def pin_of(definition: Definition) -> Pin:
    """The hashes of a definition. The order of an object's members does not count."""
    return Pin(
        words=_hash([definition.title, definition.description]),
        parameters=_hash(definition.parameters),
        output=_hash(definition.output),
        hints=_hash(msgspec.to_builtins(definition.hints)),
    )


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
