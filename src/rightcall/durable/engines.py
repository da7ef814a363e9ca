"""The address of runs into the engine that keeps them; each is an extra, and loaded when it is named."""

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
    """The engine of an address. Raises MissingExtra where its library is not installed."""
    scheme, found, rest = address.partition("://")
    adapter = _ENGINES.get(scheme.partition("+")[0]) if found else None
    if adapter is None:
        raise UsageError(
            f"{address!r} names no engine that keeps runs; say sqlite:///runs.db, "
            "postgresql://user@host/database or restate://host:port"
        )
    module, name, needed = adapter
    for library in needed:
        require(library)
    if scheme == "postgres":
        address = f"postgresql://{rest}"
    made = getattr(import_module(f"rightcall.durable.{module}"), name)(address)
    return cast("Engine", made)
