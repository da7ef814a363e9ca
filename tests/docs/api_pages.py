"""The pages of the API: for each public module its names, how stable each is, and their docstrings.

The docstrings are put in when the site is built, by mkdocstrings, which reads the source.
"""

import ast
import inspect
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from docs.declared import first_paragraph, plain, words_below
from docs.marked import DOCS, table
from rightcall import errors

FOLDER = DOCS / "api"
STABILITY: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "stability.toml").read_text()
)
LEVELS = ("stable", "provisional")


def module_named(path: str) -> ModuleType:
    """A public module; some are known by another name than the one they are imported from."""
    home, _, name = path.rpartition(".")
    shown = getattr(import_module(home), "__all__", ()) if home else ()
    found = getattr(import_module(home), name) if name in shown else import_module(path)
    assert isinstance(found, ModuleType)
    return found


def public_names(path: str) -> list[str]:
    """The names of a public module. One without a list has those that it defines itself."""
    module = module_named(path)
    if listed := getattr(module, "__all__", None):
        return sorted(listed)
    own = [name for name, value in vars(module).items() if _is_own(value, module)]
    return sorted(name for name in own if not name.startswith("_"))


def _is_own(value: Any, module: ModuleType) -> bool:
    if inspect.isclass(value):
        return value.__module__ == module.__name__
    return value in (getattr(module, "ErrorKind", None), getattr(module, "Outcome", None))


def stability(path: str, name: str) -> str:
    """How stable a name is."""
    return next(level for level in LEVELS if name in STABILITY[path][level])


def pages() -> Iterator[tuple[Path, str]]:
    """Every page of the API, and what is on it."""
    rows = [(f"[`{path}`]({file_of(path)})", first_paragraph(module_named(path))) for path in STABILITY]
    yield FOLDER / "index.md", INDEX + table(("module", "what it has"), rows)
    for path in STABILITY:
        yield FOLDER / file_of(path), page(path)


def file_of(path: str) -> str:
    """The file of a module's page."""
    return "package.md" if path == "rightcall" else f"{path.removeprefix('rightcall.')}.md"


INDEX = """# API

Every public name, by module. What is not here is not public, whatever its import path.
`import rightcall as rc` has most of it. [Stability](../reference/stability.md) says what may change.

"""


def page(path: str) -> str:
    """The page of a module: a table of its names, and a place for the docstring of each."""
    names = {name: getattr(module_named(path), name) for name in public_names(path)}
    rows = [
        (f"`{name}`", kind(value), stability(path, name), about(path, name, value))
        for name, value in names.items()
    ]
    shown = [f"::: {path}.{name}" for name, value in names.items() if not isinstance(value, ModuleType)]
    head = table(("name", "what", "stability", "about"), rows)
    return f"# `{path}`\n\n{first_paragraph(module_named(path))}\n\n{head}\n" + "\n\n".join(shown) + "\n"


def kind(value: Any) -> str:
    """What a name stands for, in a word."""
    if isinstance(value, ModuleType):
        return "module"
    if inspect.isclass(value):
        return "error" if issubclass(value, errors.RightcallError) else "class"
    return "function" if inspect.isroutine(value) else "value or type"


def about(path: str, name: str, value: Any) -> str:
    """What a name is for: its docstring, or the words below it."""
    if kind(value) == "value or type":
        module = module_named(path)
        said = [words_below(home).get(name, "") for home in (module, *_homes(module, name))]
        return plain(next(filter(None, said), "").partition("\n\n")[0])
    return first_paragraph(value)


def _homes(module: ModuleType, name: str) -> Iterator[ModuleType]:
    """The modules from which one imports a name, for itself or for type checkers."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and name in [each.name for each in node.names]:
            assert node.module is not None
            yield import_module(node.module)
