"""Where a server is: a URL, or a local program that may be started.

The rules for programs are those of a manifest: no shell, no variable that was not named, and no program
that somebody else could have put there. Only the lookup by name is added, because other programs' files
say ``npx`` and ``uvx``; it is done once, here, in our own ``PATH``.
"""

import ipaddress
import os
import re
import shutil
import stat
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

from rightcall.core.jsontext import JsonError, kind_of, parse
from rightcall.core.options import NameCheckedMeta, check_keywords
from rightcall.core.secret_formats import redact_formats
from rightcall.errors import UsageError
from rightcall.platforms import user_name

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "USER")
"""Variables of our environment that a program gets unless more are named: what most need, no secrets."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Stdio(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A program that speaks MCP over its standard input and output. No shell is used."""

    command: str
    """The program: an absolute path, or a name that is looked up in our own ``PATH``."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set for it."""
    inherit: tuple[str, ...] = INHERITED
    """Variables that it gets from our environment. It gets no others of ours."""
    directory: str | None = None
    """Where it runs; an absolute path, our own current directory unless given."""

    def __post_init__(self) -> None:
        for text in (self.command, *self.arguments, *self.environment.values()):
            if "\0" in text:
                raise UsageError("a server's command: no program can be given a NUL character")
        for name in (*self.environment, *self.inherit):
            if not _VARIABLE.fullmatch(name):
                raise UsageError(f"a server's environment: {name!r} is not the name of a variable")
        if self.directory is not None and not Path(self.directory).is_absolute():
            raise UsageError(f"a server's directory must be absolute, not {self.directory!r}")

    def __repr__(self) -> str:
        shown = [redact_formats(text) for text in (self.command, *self.arguments)]
        return f"Stdio({shown}{_names('environment', self.environment)})"


class Login(Struct, frozen=True, kw_only=True, eq=False, metaclass=NameCheckedMeta):
    """A person's login at a server, by OAuth in a browser. It is kept for the next time."""

    client_id: str = ""
    """Of a client that you registered; unless given, one is registered at the first login."""
    client_secret: str = ""
    client_metadata_url: str | None = None
    """Where you publish a client id metadata document, for servers that take one."""
    port: int = 0
    """Of the address on this machine that the browser returns to; any free one unless given."""
    interactive: bool = True
    """False: only a kept login is used and refreshed; nobody is asked."""
    browser: Callable[[str], object] | None = None
    """Opens the page, and returns whether it could; Python's ``webbrowser`` unless given."""
    paste: Callable[[str], Awaitable[str]] | None = None
    """Shows the page's address instead, and returns the address to which the browser was sent."""
    timeout: float = 300.0
    """Seconds that a person has."""
    folder: str | os.PathLike[str] | None = None
    """Where logins are kept: ``rightcall/mcp-logins`` in the user's configuration unless given."""


class ClientCredentials(Struct, frozen=True, kw_only=True, eq=False, metaclass=NameCheckedMeta):
    """A program's own login at a server: by a secret, or by a signature."""

    issuer: str
    """The authorization server. No other is sent what proves who you are."""
    client_id: str
    client_secret: str = ""
    private_key: str = ""
    """In PEM, instead of a secret."""
    algorithm: str = "RS256"
    """By which it signs."""
    scope: str = ""

    def __post_init__(self) -> None:
        if bool(self.client_secret) == bool(self.private_key):
            raise UsageError("client credentials are a client_secret or a private_key")

    def __repr__(self) -> str:
        return f"ClientCredentials(issuer={self.issuer!r}, client_id={self.client_id!r}, …)"


class Http(Struct, frozen=True, kw_only=True, metaclass=NameCheckedMeta):
    """A URL that speaks MCP over HTTP."""

    url: str
    transport: Literal["http", "sse"] = "http"
    """``sse`` is the older transport, with a stream of events that stays open."""
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: Any = None
    """``"oauth"``, a ``Login`` or ``ClientCredentials``; or an ``httpx2.Auth`` of your own."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            shown = redact_formats(self.url)
            raise UsageError(f"a server's address begins with https:// or http://, not {shown!r}")
        known = isinstance(self.auth, Login | ClientCredentials) or hasattr(self.auth, "async_auth_flow")
        if self.auth not in (None, "oauth") and not known:
            raise UsageError(
                f'auth: there is "oauth", Login(...), ClientCredentials(...) or an httpx2.Auth, '
                f"not {type(self.auth).__name__}"
            )

    def __repr__(self) -> str:
        auth = ", auth=…" if self.auth is not None else ""
        old = ", sse" if self.transport == "sse" else ""
        return f"Http({redact_formats(self.url)!r}{old}{_names('headers', self.headers)}{auth})"

    @property
    def is_exposed(self) -> bool:
        """Whether our secrets would be sent over a network unencrypted."""
        parts = urlsplit(self.url)
        if parts.scheme != "http" or not (self.headers or self.auth):
            return False
        host = parts.hostname or ""
        try:
            return not ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host != "localhost" and not host.endswith(".localhost")


def _names(what: str, values: Mapping[str, str]) -> str:
    """The names that are set, without their values, which may be secrets."""
    if values:
        return f", {what}={', '.join(values)}"
    return ""


Endpoint: TypeAlias = Stdio | Http
Given: TypeAlias = Endpoint | str | Sequence[str]


def endpoint_of(given: Given) -> Endpoint:
    """The target; a string is a URL, a list a program and its arguments."""
    if isinstance(given, Stdio | Http):
        return given
    if isinstance(given, str):
        if "://" not in given:
            raise UsageError(
                f"{given!r} is no address; a program is a list: connect({given.split() or [given]!r}), "
                "and a file of servers is read with load_config"
            )
        return Http(url=given)
    command, *arguments = given or [""]
    if not command:
        raise UsageError("connect needs a program to start, or an address")
    return Stdio(command=command, arguments=tuple(arguments))


def program_of(target: Stdio) -> str:
    """The absolute path of the program. Raises UsageError if there is none, or none to trust."""
    command = target.command
    if "/" in command and not Path(command).is_absolute():
        raise UsageError(f"the command {command!r} must be an absolute path, or a name without slashes")
    found = shutil.which(command)
    if found is None or not Path(found).is_absolute():
        raise UsageError(
            f"there is no program {command!r} that could be run; install it, or name another"
        )
    refuse_unsafe(Path(found))
    return found


def refuse_unsafe(path: Path) -> None:
    """Raise UsageError if somebody else can write a file, or replace it or a folder on its path.

    Windows says who may write by lists that Python does not read, so nothing is checked there.
    """
    if sys.platform == "win32":
        return
    target = path.resolve()
    for place in dict.fromkeys([target, *target.parents, *path.absolute().parents]):
        status = place.stat()
        if status.st_uid not in {0, os.geteuid()}:
            owner = user_name(status.st_uid)
            raise UsageError(f"{place} belongs to {owner}, neither you nor root; {path} is not trusted")
        # In a sticky directory, such as /tmp, nobody can replace somebody else's files.
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_mode & stat.S_IWOTH and not sticky:
            raise UsageError(f"anyone may write {place}; {path} is not trusted. Run chmod o-w {place}")


def environment_of(target: Stdio) -> dict[str, str]:
    """The program's whole environment: inherited and set variables."""
    inherited = {name: os.environ[name] for name in target.inherit if name in os.environ}
    return inherited | dict(target.environment)


def directory_of(target: Stdio) -> str:
    """Where the program runs. Raises UsageError if there is no such directory."""
    place = target.directory or str(Path.cwd())
    if not Path(place).is_dir():
        raise UsageError(f"a server's directory: there is no {place}")
    return place


_LARGEST = 1024 * 1024
_TABLES = ("mcpServers", "servers")
# Strings are matched first, so that text in them that looks like a comment is kept.
_JSONC = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")


@check_keywords("rc.mcp.load_config")
def load_config(
    path: str | os.PathLike[str],
    *,
    inputs: Mapping[str, str] | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> dict[str, Endpoint]:
    """The servers of a file, by name, without those that it disables. Raises UsageError.

    ``inputs`` are the values of ``${input:…}``; ``workspace`` is the value of ``${workspaceFolder}``,
    and where programs run unless their entry says otherwise.

    Claude Desktop, VS Code, Cursor and others have such files. ``{"mcpServers": {name: {...}}}`` is the
    form of Claude Desktop, Cursor and most others; VS Code writes ``{"servers": {...}}``, in a file of
    its own or under ``mcp`` in its settings, with comments and trailing commas (JSONC). References to
    the environment (``${env:NAME}``) are filled in; values that only a person or an editor knows
    (``${input:…}``) must be given.
    """
    servers: dict[str, Endpoint] = {}
    for name, target in read_entries(path, inputs=inputs, workspace=workspace).items():
        if isinstance(target, UsageError):
            raise target
        servers[name] = target
    return servers


def read_entries(
    path: str | os.PathLike[str],
    *,
    inputs: Mapping[str, str] | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> dict[str, Endpoint | UsageError]:
    """The servers of a file, or what is wrong with the entry of one. Raises UsageError for the file."""
    file = Path(path).expanduser()
    reader = _ConfigFile(file, inputs or {}, None if workspace is None else Path(workspace).absolute())
    found: dict[str, Endpoint | UsageError] = {}
    for name, entry in _table(file).items():
        if isinstance(entry, Mapping) and entry.get("disabled") is True:
            continue
        try:
            found[name] = reader.target(name, entry)
        except UsageError as error:
            found[name] = error
    return found


def _table(file: Path) -> Mapping[str, Any]:
    try:
        content = parse(_JSONC.sub(lambda found: found[0] if found[0][0] == '"' else " ", _read(file)))
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
        if not isinstance(entry, Mapping):
            raise self._wrong(name, "", f"must be an object, not {kind_of(entry)}")
        kind = entry.get("type", "")
        url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
        if url is not None and "command" not in entry:
            headers = self._texts(name, entry, "headers")
            transport: Literal["http", "sse"] = "sse" if kind == "sse" else "http"
            return Http(
                url=self._text(name, "url", url),
                transport=transport,
                headers=headers,
                auth=self._login(name, entry),
            )
        if "command" not in entry:
            near = [each for key in ("command", "url") for each in get_close_matches(key, entry, n=1)]
            meant = f"; is {near[0]!r} misspelt?" if near else ""
            raise self._wrong(name, "", f"has neither a command nor a url{meant}")
        arguments = entry.get("args", [])
        if not isinstance(arguments, list):
            raise self._wrong(name, "args", f"must be an array, not {kind_of(arguments)}")
        directory = entry.get("cwd")
        set_here = self._texts(name, entry, "env")
        if (file := entry.get("envFile")) is not None:
            # The lines NAME=value of a file.
            variables = {}
            for line in _read(Path(self._text(name, "envFile", file))).splitlines():
                key, sign, value = line.strip().removeprefix("export ").partition("=")
                if sign and not key.startswith("#"):
                    variables[key.strip()] = self._text(name, "envFile", value.strip().strip("\"'"))
            set_here = variables | set_here
        return Stdio(
            command=self._text(name, "command", entry["command"]),
            arguments=tuple(self._text(name, "args", each) for each in arguments),
            environment=set_here,
            directory=self._directory if directory is None else self._text(name, "cwd", directory),
        )

    def _login(self, name: str, entry: Mapping[str, Any]) -> Login | None:
        """How to log in, if the entry says it: ``auth`` as others write it, ``oauth`` as Claude does."""
        about = entry.get("oauth", {})
        if not isinstance(about, Mapping):
            raise self._wrong(name, "oauth", f"must be an object, not {kind_of(about)}")
        if entry.get("auth") != "oauth" and "oauth" not in entry:
            return None
        port = about.get("callbackPort", 0)
        if not isinstance(port, int):
            raise self._wrong(name, "oauth.callbackPort", f"must be a number, not {kind_of(port)}")
        client_id = about.get("clientId", "")
        return Login(client_id=self._text(name, "oauth.clientId", client_id), port=port)

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
        return _REFERENCE.sub(lambda found: self._fill_in(name, field, found[1]), value)

    def _fill_in(self, name: str, field: str, variable: str) -> str:
        kind, colon, rest = variable.partition(":")
        if variable in self._places:
            return self._places[variable]
        if _VARIABLE.fullmatch(kind) and (not colon or rest.startswith("-")):
            # As Claude Code writes it, with an optional value for a variable that is not set.
            found = os.environ.get(kind) or rest.removeprefix("-")
            if found or colon:
                return found
            raise self._wrong(name, field, f"the environment has no {kind}")
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
