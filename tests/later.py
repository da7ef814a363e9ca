"""Modules of others that take long to import: seconds that only who runs such a test should spend."""

from importlib import import_module
from typing import Any


class Later:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            # pytest looks at everything that a file of tests holds.
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
