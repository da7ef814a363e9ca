"""What is made on first use, so that importing a package stays fast: public names and patterns."""

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, AnyStr, Generic, cast


def index_homes(homes: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The home of each name, in the order of the names, from the names that each module is home to."""
    home_of = {}
    for home, names in homes.items():
        home_of.update(dict.fromkeys(names, home))
    return dict(sorted(home_of.items()))


def lazily(package: str, homes: Mapping[str, str], *, moved: str = "") -> None:
    """Give a package a ``__getattr__``, ``__dir__`` and ``__all__`` that import each name from its home.

    Type checkers read the names under ``if TYPE_CHECKING``, as ``from home import name as name``.

    If the home module has the name that is asked for and no attribute of that name, the module itself is
    returned. If an optional library is missing, the error says what to install. ``moved`` is the
    module with the table of names that have left the package, for the error that such a name raises.
    """
    held = vars(sys.modules[package])

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            where = import_module(f"rightcall.{moved}").MOVED.get(name) if moved else None
            if where is not None:
                raise AttributeError(f"rc.{name} is {where} now")
            # By these two Python adds the nearest name.
            words = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(words, name=name, obj=sys.modules[package])
        try:
            module = import_module(f"rightcall.{home}")
        except ModuleNotFoundError as error:
            from rightcall.core.optional_libraries import missing_extra  # noqa: PLC0415 - light until used

            if missing := missing_extra(error.name):
                raise missing from error
            raise
        is_home = home.rpartition(".")[2] == name
        held[name] = found = getattr(module, name, module) if is_home else getattr(module, name)
        return found

    # Set here, and not by an assignment in the package: for a module with a __getattr__ a type checker
    # accepts every misspelt name.
    held["__getattr__"] = load
    public = held.setdefault("__all__", list(homes))
    held["__dir__"] = lambda: sorted({*homes, *public})


class _Pattern(Generic[AnyStr]):
    """Stands for a compiled pattern; each method is looked up there once."""

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Python caches compiled patterns itself, so that a second method does not compile it again.
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns a regular expression that is compiled on first use. A wrong one raises when it is used.

    Compiling takes a hundred times as long as most searches, and a process never needs most patterns.
    """
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


def own_version() -> str:
    """The package's ``__version__``."""
    # Not from the installed metadata: an editable install keeps the version of the day it was made. And
    # importing the package from within would import everything that it offers.
    version: str = sys.modules["rightcall"].__version__
    return version
