"""Imports public names on first use, so that importing a package stays fast."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> None:
    """Give a package a ``__getattr__`` and ``__dir__`` that import each name from its home module.

    If the home module has the name that is asked for and no attribute of that name, the module itself is
    returned. If an optional library is missing, the error says what to install.
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

    # Set here, and not by an assignment in the package: for a module with a __getattr__ a type checker
    # accepts every misspelt name.
    held["__getattr__"] = load
    held["__dir__"] = lambda: sorted({*homes, *held.get("__all__", ())})
