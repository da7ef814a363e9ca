"""Public names that load on first use, so that importing a package stays light."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> None:
    """Give a package its ``__getattr__`` and ``__dir__``: each name is looked up in its home, a module.

    Where the home has the name that is asked for and holds nothing of that name, the home itself is
    meant. A user who lacks a library that is optional is told what to install.
    """
    held = vars(sys.modules[package])

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(f"rightcall.{home}")
        except ModuleNotFoundError as error:
            from rightcall.core.extras import missing_extra  # noqa: PLC0415 - light until used

            if missing := missing_extra(error.name):
                raise missing from error
            raise
        is_home = home.rpartition(".")[2] == name
        held[name] = found = getattr(module, name, module) if is_home else getattr(module, name)
        return found

    # Set from here, and not by an assignment in the package: a type checker that sees a module's
    # __getattr__ takes every misspelt name for one that it might give.
    held["__getattr__"] = load
    held["__dir__"] = lambda: sorted({*homes, *held.get("__all__", ())})
