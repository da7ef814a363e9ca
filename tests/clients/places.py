"""Where the clients are, and at which versions: one folder for each table of clients.toml."""

import os
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
HOME = Path(os.environ.get("RIGHTCALL_CLIENTS", HERE.parents[1] / ".clients")).absolute()
PINNED: dict[str, dict[str, dict[str, str]]] = tomllib.loads((HERE / "clients.toml").read_text())
MISSING = "not-here.txt"
"""In a client's folder: why it could not be installed."""


def folder(kind: str, name: str) -> Path:
    return HOME / f"{kind}-{name}"


NODE = folder("npm", "node") / "node_modules" / "node" / "bin"
"""The folder of the node that everything of npm's runs on."""


def absence(kind: str, name: str) -> str | None:
    """Why this client cannot be driven here, in words; None where it can."""
    place = folder(kind, name)
    if (place / MISSING).exists():
        return f"{name} could not be installed: {(place / MISSING).read_text()}"
    return (
        None
        if (place / ".ready").exists()
        else f"{name} is not installed: make test WHAT=clients installs it"
    )


def program(kind: str, name: str, command: str) -> str:
    """The path of a command that a client's folder holds."""
    place = folder(kind, name)
    return str(place / "node_modules" / ".bin" / command if kind == "npm" else place / "bin" / command)
