"""The files in which people keep their MCP servers: which there are, and how one is added or removed."""

import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rightcall.cli import OK
from rightcall.core.sanitize import printable
from rightcall.core.secret_formats import redact_formats
from rightcall.errors import UsageError
from rightcall.mcp.client.endpoints import Endpoint, endpoint_of, read_entries

DEFAULT = ".mcp.json"
"""What Claude Code, and others by now, read in a project's folder."""


def known_files() -> Mapping[str, Path]:
    """By a short name: where other programs keep their servers."""
    home = Path.home()
    desktop = home / ".config/Claude"
    if sys.platform == "darwin":
        desktop = home / "Library/Application Support/Claude"
    elif sys.platform == "win32":
        desktop = Path(os.environ.get("APPDATA", str(home))) / "Claude"
    return {
        "project": Path(DEFAULT),
        "cursor": Path(".cursor/mcp.json"),
        "vscode": Path(".vscode/mcp.json"),
        "claude": desktop / "claude_desktop_config.json",
        "cursor-user": home / ".cursor/mcp.json",
    }


def known_servers() -> Iterator[tuple[Path, str, Endpoint | UsageError]]:
    """Every server that this folder and this user have, and the file that lists it.

    An entry or a file that cannot be read is its error, and does not affect the others.
    """
    for file in known_files().values():
        if file.exists():
            try:
                entries = read_entries(file, workspace=Path.cwd())
            except UsageError as error:
                entries = {str(file): error}
            for name, target in entries.items():
                yield file, name, target


def no_server(word: str, listed: Iterable[str], place: str = "") -> UsageError:
    """The error for a word that is the name of no server, with those there are and the nearest."""
    names = list(listed)
    where = f"{place} has no server" if place else "no server"
    near = get_close_matches(word, names, n=1)
    meant = f"; did you mean {near[0]}?" if near else ";"
    return UsageError(f"{where} {word!r}{meant} there is {', '.join(names) or 'none'}")


def check_name(name: str) -> None:
    """Raise UsageError for a name that could not be told from other text where it is shown."""
    if not name.strip() or not name.isprintable() or "/" in name:
        raise UsageError(f"a server's name has no slashes and no control characters: {name!r}")


def _file_of(given: str) -> Path:
    """The file that ``--file`` names: a program's, by its name, or a path."""
    known = known_files()
    if not given or given in known:
        return known[given or "project"]
    file = Path(given).expanduser()
    if file.suffix or file.exists() or os.sep in given or "/" in given:
        return file
    near = get_close_matches(given, known, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"--file: there is no file {given!r}; {meant}There is {', '.join(known)}, or a path: ./{given}"
    )


def run(options: Namespace) -> int:
    """Add a server, or remove one."""
    file = _file_of(options.file)
    content = _read(file)
    key = _key_of(file, content)
    servers = content.setdefault(key, {})
    name: str = options.name
    if options.action == "remove":
        if name not in servers:
            raise no_server(name, servers, str(file))
        del servers[name]
        done = f"{name}: removed from {file}"
    else:
        check_name(name)
        if name in servers and not options.replace:
            raise UsageError(f"{file} has a server {name!r} already; --replace changes it")
        servers[name] = _entry(options)
        done = f"{name}: added to {file}"
    _write(file, content)
    print(printable(done))
    return OK


def _entry(options: Namespace) -> dict[str, Any]:
    """The entry of a server, as all of these programs read it."""
    words: list[str] = options.target
    headers = dict(_split(each, ":", "--header 'Name: value'") for each in options.headers)
    environment = dict(_split(each, "=", "--env NAME=value") for each in options.environment)
    if "://" in words[0]:
        if len(words) > 1 or environment:
            raise UsageError("an address has no arguments and no environment")
        endpoint_of(words[0])
        _warn_of_secrets([*headers.values(), words[0]])
        entry: dict[str, Any] = {"type": "sse" if options.sse else "http", "url": words[0]}
        if headers:
            entry["headers"] = headers
        if options.oauth:
            entry["auth"] = "oauth"
        return entry
    if headers or options.sse or options.oauth:
        raise UsageError("headers, --sse and --oauth are for addresses; a program has --env")
    _warn_of_secrets([*words, *environment.values()])
    entry = {"command": words[0], "args": words[1:]}
    if environment:
        entry["env"] = environment
    return entry


def _split(text: str, sign: str, form: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise UsageError(f"{redact_formats(text)!r}: write {form}")
    return name.strip(), value.strip()


def _warn_of_secrets(texts: list[str]) -> None:
    if any(redact_formats(text) != text for text in texts):
        print(
            "rightcall: that looks like a secret, and is in the file now; ${NAME} in its place takes it "
            "from the environment",
            file=sys.stderr,
        )


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    try:
        content = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(
            f"{file} is not plain JSON ({error}). Comments would be lost: edit it by hand"
        ) from error
    if not isinstance(content, dict):
        raise UsageError(f"{file} holds no object")
    return content


def _key_of(file: Path, content: dict[str, Any]) -> str:
    """The member that holds the servers: what is there, or what the file's program reads."""
    for key in ("mcpServers", "servers"):
        if isinstance(content.get(key), dict):
            return key
    return "servers" if file.parent.name == ".vscode" else "mcpServers"


def _write(file: Path, content: dict[str, Any]) -> None:
    """Write a file beside it and rename that, so that a crash leaves the old or the new one."""
    try:
        # Environments and headers may hold secrets, so a new file is only the user's.
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
        place = file.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as fresh:
                json.dump(content, fresh, indent=2, ensure_ascii=False)
                fresh.write("\n")
            Path(name).chmod(mode)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
