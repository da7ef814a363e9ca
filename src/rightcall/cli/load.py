"""Tools and models from a Python file: ``path.py`` for all it declares, ``path.py:name`` for one."""

import sys
import traceback
from contextlib import redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from rightcall.core.ports import Model
from rightcall.core.tool import Tool
from rightcall.declare.function import FunctionTool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError, UsageError


def load_tools(place: str) -> Toolbox:
    """The tools at a place: whatever the file declared with ``@tool``, ``Tool`` or ``Toolbox``."""
    path, name = split(place)
    module = _import(Path(path))
    if name:
        return Toolbox(_named(module, path, name))
    found = {id(tool): tool for value in vars(module).values() for tool in _tools_in(value)}
    if not found:
        raise UsageError(f"{path} declares no tools; decorate a function with @rc.tool")
    return Toolbox(list(found.values()))


def load_model(place: str) -> Model:
    """The model at a place: an object with a ``profile`` and a ``stream``."""
    path, name = split(place)
    if not name:
        raise UsageError(f"{place}: say which model in it, as {place}:NAME")
    found = _named(_import(Path(path)), path, name)
    if isinstance(found, type) or not (
        hasattr(found, "profile") and callable(getattr(found, "stream", 0))
    ):
        raise UsageError(f"{place} is not a model: one has a profile and a stream(request)")
    model: Model = found
    return model


def is_place(text: str) -> bool:
    """Whether this is meant as a Python file, or as something in one."""
    return split(text)[0].endswith(".py")


def split(place: str) -> tuple[str, str]:
    """The path, and the name after its last colon; a name has no dots, slashes or drive letters."""
    path, _, name = place.rpartition(":")
    return (path, name) if name.isidentifier() and path else (place, "")


def _named(module: ModuleType, path: str, name: str) -> Any:
    if not hasattr(module, name):
        raise UsageError(f"{path} has no {name!r}")
    return getattr(module, name)


def _tools_in(value: object) -> list[Tool]:
    if isinstance(value, Toolbox):
        return list(value)
    if isinstance(value, Tool) and not (isinstance(value, FunctionTool) and value.unbound):
        return [value]
    return []


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    # A file called json.py must not become everybody's json; one that is named twice is loaded once.
    names = (path.stem, f"{path.stem} from {path.resolve()}")
    for module in map(sys.modules.get, names):
        if module is not None and getattr(module, "__file__", None) == str(path.resolve()):
            return module
    name = names[path.stem in sys.modules]
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        # What a file prints while it loads is no part of a command's output.
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except RightcallError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{path} cannot be loaded:\n{traceback.format_exc().rstrip()}") from error
    finally:
        sys.path.pop(0)
    return module
