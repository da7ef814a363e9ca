"""The address of runs into the engine that stores them; each is an extra, loaded when it is named."""

from importlib import import_module
from typing import cast

from rightcall.core.extras import require
from rightcall.durable.engine import Engine
from rightcall.errors import UsageError

_DBOS = ("dbos_engine", "DbosEngine", ("dbos", "sqlalchemy", "psycopg"))
_ENGINES = {
    "sqlite": _DBOS,
    "postgresql": _DBOS,
    "postgres": _DBOS,
    "restate": ("restate_engine", "RestateEngine", ("restate",)),
}
"""By the scheme of an address: the adapter, and the libraries that it needs."""


def engine_at(address: str) -> Engine:
    """The engine of an address. Raises MissingExtra if its library is not installed."""
    address, (module, name, _) = _adapter(address)
    made = getattr(import_module(f"rightcall.durable.{module}"), name)(address)
    return cast("Engine", made)


def check_has_runs(address: str) -> None:
    """Raise UsageError if no runs are stored yet: for callers that read, and must create nothing."""
    address, adapter = _adapter(address)
    if adapter is not _DBOS:
        return  # A server of its own: it is running, or does not answer.
    if not import_module("rightcall.durable.database").has_runs(address):
        raise UsageError(
            f"there are no runs at {without_secrets(address)}: a worker, or the first submit, makes the "
            "database; is the address the app's?"
        )


def without_secrets(address: str) -> str:
    """An address without user name and password."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _adapter(address: str) -> tuple[str, tuple[str, str, tuple[str, ...]]]:
    """An address as libraries spell it, and the adapter of its scheme."""
    scheme, found, rest = address.partition("://")
    adapter = _ENGINES.get(scheme.partition("+")[0]) if found else None
    if adapter is None:
        raise UsageError(
            f"{address!r} names no engine that keeps runs; say sqlite:///runs.db, "
            "postgresql://user@host/database or restate://host:port"
        )
    for library in adapter[2]:
        require(library)
    return (f"postgresql://{rest}" if scheme == "postgres" else address), adapter
