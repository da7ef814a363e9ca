"""Tools from a Python file: ``path.py`` for all it declares, ``path.py:name`` for one thing in it."""

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from toolwright.core.tool import Tool
from toolwright.declare.function import FunctionTool
from toolwright.declare.toolbox import Toolbox
from toolwright.errors import ToolwrightError, UsageError


def load_tools(place: str) -> Toolbox:
    """The tools at a place: whatever the file declared with ``@tool``, ``Tool`` or ``Toolbox``."""
    path, colon, name = place.partition(":")
    module = _import(Path(path))
    if colon:
        if not hasattr(module, name):
            raise UsageError(f"{path} has no {name!r}")
        return Toolbox(getattr(module, name))
    found = {id(tool): tool for value in vars(module).values() for tool in _tools_in(value)}
    if not found:
        raise UsageError(f"{path} declares no tools; decorate a function with @tw.tool")
    return Toolbox(list(found.values()))


def _tools_in(value: object) -> list[Tool]:
    if isinstance(value, Toolbox):
        return list(value)
    if isinstance(value, Tool) and not (isinstance(value, FunctionTool) and value.unbound):
        return [value]
    return []


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    # A file called json.py must not become everybody's json.
    name = path.stem if path.stem not in sys.modules else f"{path.stem} from {path.resolve()}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except ToolwrightError:
        raise
    except Exception as error:
        raise UsageError(f"{path} cannot be loaded:\n{traceback.format_exc().rstrip()}") from error
    finally:
        sys.path.pop(0)
    return module
