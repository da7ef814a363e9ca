"""The files in which Claude Desktop, VS Code, Cursor and others list their servers into targets.

``{"mcpServers": {name: {...}}}`` is the form of Claude Desktop, Cursor and most others; VS Code writes
``{"servers": {...}}``, in a file of its own or under ``mcp`` in its settings, with comments and trailing
commas (JSONC). References to the environment (``${env:NAME}``) are filled in; values that only a person
or an editor knows (``${input:…}``) must be given.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rightcall.core.jsontext import JsonError, kind_of, parse
from rightcall.core.options import checked
from rightcall.errors import UsageError
from rightcall.mcp.client.endpoints import Endpoint, Http, Stdio, refuse_unsafe

_LARGEST = 1024 * 1024
_TABLES = ("mcpServers", "servers")
# Strings are matched first, so that text in them that looks like a comment is kept.
_JSONC = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")


@checked("rc.mcp.load_config")
def load_config(
    path: str | os.PathLike[str],
    *,
    inputs: Mapping[str, str] | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> dict[str, Endpoint]:
    """The servers of a file, by name, without those that it disables. Raises UsageError.

    ``inputs`` are the values of ``${input:…}``; ``workspace`` is the value of ``${workspaceFolder}``,
    and where programs run unless their entry says otherwise.
    """
    file = Path(path).expanduser()
    reader = _ConfigFile(file, inputs or {}, None if workspace is None else Path(workspace).absolute())
    return {
        name: reader.target(name, entry)
        for name, entry in _table(file).items()
        if not (isinstance(entry, Mapping) and entry.get("disabled") is True)
    }


def _table(file: Path) -> Mapping[str, Any]:
    """The table of servers in a file."""
    try:
        content = parse(_without_comments(_read(file)))
    except JsonError as error:
        raise UsageError(f"{file} is not JSON: {error}") from error
    found: Any = content
    if isinstance(found, Mapping) and isinstance(found.get("mcp"), Mapping):
        found = found["mcp"]
    for key in _TABLES:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            table: Mapping[str, Any] = found[key]
            return table
    raise UsageError(f'{file} lists no servers: it has neither "mcpServers" nor "servers"')


def _read(file: Path) -> str:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise UsageError(f"{file} is not a regular file")
        # The file names the programs that are run.
        refuse_unsafe(file)
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise UsageError(f"{file} is larger than {_LARGEST:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8") from error


def _without_comments(text: str) -> str:
    return _JSONC.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)


class _ConfigFile:
    """Reads the entries of one file."""

    def __init__(self, file: Path, inputs: Mapping[str, str], workspace: Path | None) -> None:
        self._file = file
        self._inputs = inputs
        self._directory = None if workspace is None else str(workspace)
        place = workspace or Path.cwd()
        self._places = {
            "workspaceFolder": str(place),
            "workspaceFolderBasename": place.name,
            "userHome": str(Path.home()),
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    def target(self, name: str, entry: object) -> Endpoint:
        """One server."""
        if not isinstance(entry, Mapping):
            raise self._wrong(name, "", f"must be an object, not {kind_of(entry)}")
        kind = entry.get("type", "")
        url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
        if url is not None and "command" not in entry:
            headers = self._texts(name, entry, "headers")
            transport: Literal["http", "sse"] = "sse" if kind == "sse" else "http"
            return Http(url=self._text(name, "url", url), transport=transport, headers=headers)
        return self._stdio(name, entry)

    def _stdio(self, name: str, entry: Mapping[str, Any]) -> Stdio:
        if "command" not in entry:
            raise self._wrong(name, "", "has neither a command nor a url")
        arguments = entry.get("args", [])
        if not isinstance(arguments, list):
            raise self._wrong(name, "args", f"must be an array, not {kind_of(arguments)}")
        directory = entry.get("cwd")
        set_here = self._texts(name, entry, "env")
        if (file := entry.get("envFile")) is not None:
            set_here = self._variables(name, self._text(name, "envFile", file)) | set_here
        return Stdio(
            command=self._text(name, "command", entry["command"]),
            arguments=tuple(self._text(name, "args", each) for each in arguments),
            environment=set_here,
            directory=self._directory if directory is None else self._text(name, "cwd", directory),
        )

    def _variables(self, name: str, path: str) -> dict[str, str]:
        """The lines NAME=value of a file."""
        pairs = (
            line.strip().removeprefix("export ").partition("=")
            for line in _read(Path(path)).splitlines()
        )
        return {
            key.strip(): self._text(name, "envFile", value.strip().strip("\"'"))
            for key, sign, value in pairs
            if sign and not key.startswith("#")
        }

    def _texts(self, name: str, entry: Mapping[str, Any], field: str) -> dict[str, str]:
        given = entry.get(field, {})
        if not isinstance(given, Mapping):
            raise self._wrong(name, field, f"must be an object, not {kind_of(given)}")
        return {key: self._text(name, f"{field}.{key}", value) for key, value in given.items()}

    def _text(self, name: str, field: str, value: object) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self._wrong(name, field, f"must be a string, not {kind_of(value)}")
        return _VARIABLE.sub(lambda found: self._fill_in(name, field, found[1]), value)

    def _fill_in(self, name: str, field: str, variable: str) -> str:
        kind, _, rest = variable.partition(":")
        if variable in self._places:
            return self._places[variable]
        if kind == "env" and rest in os.environ:
            return os.environ[rest]
        if kind == "input" and rest in self._inputs:
            return self._inputs[rest]
        if kind == "input":
            raise self._wrong(name, field, f"needs the input {rest!r}; pass inputs={{{rest!r}: …}}")
        raise self._wrong(name, field, f"${{{variable}}} stands for nothing here")

    def _wrong(self, name: str, field: str, what: str) -> UsageError:
        place = f"{name}.{field}" if field else name
        return UsageError(f"{self._file}: the server {place}: {what}")
