"""Public names that load on first use, so that importing a package stays light."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__``: looks a name up in the module that is its home.

    Where the home's own last name is the one asked for, the module itself is meant.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"rightcall.{home}")
        found = module if home.rpartition(".")[2] == name else getattr(module, name)
        import_module(package).__dict__[name] = found
        return found

    return load
