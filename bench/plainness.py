"""How plain the source reads, counted: sizes, names, density, files that are crumbs.

Every figure is read off the syntax trees; nothing is imported or run. ``house.py`` prints these figures
and holds them to what is recorded.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

PARTICIPLE = re.compile(r"[a-z]+(ed|en|own|aid|old|ept|elt|ade|one|ound)")
GERUND = re.compile(r"[a-z]+(ed|ing|en|own|aid|ept|ade)")
NOT_PARTICIPLES = frozenset(
    [
        "accept",
        "alone",
        "around",
        "between",
        "children",
        "disown",
        "embed",
        "even",
        "feed",
        "fold",
        "golden",
        "happen",
        "hold",
        "listen",
        "need",
        "often",
        "open",
        "round",
        "screen",
        "seed",
        "shorten",
        "speed",
        "then",
        "token",
        "unknown",
        "warden",
        "when",
    ]
)
"""Words that end like a participle and are none."""
CRUMB_LINES = 100
"""A module shorter than this, which only its neighbour imports, is probably a part of that neighbour."""


@dataclass
class Module:
    """One file of the tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")


@dataclass
class Plainness:
    """What was counted in a tree."""

    files: int = 0
    lines: int = 0
    functions: int = 0
    imports_inside_functions: int = 0
    participle_functions: list[str] = field(default_factory=list)
    """Functions named by a bare participle, each with its place."""
    participle_modules: list[str] = field(default_factory=list)
    repeated_classes: dict[str, list[str]] = field(default_factory=dict)
    """Class names that stand more than once, with their places."""
    crumbs: list[str] = field(default_factory=list)
    comprehensions: int = 0
    conditional_expressions: int = 0
    tuple_assignments: int = 0
    """Statements like ``a, b = x, y``."""
    comment_lines: int = 0

    def per_thousand_lines(self, count: int) -> float:
        return round(1000 * count / max(self.lines, 1), 1)


def read_modules(root: Path, without: tuple[str, ...]) -> Iterator[Module]:
    """Yield every module below the root that is not in a folder that is left out."""
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if any(relative.as_posix().startswith(f"{folder}/") for folder in without):
            continue
        name = ".".join((root.name, *relative.with_suffix("").parts)).removesuffix(".__init__")
        text = path.read_text()
        yield Module(name, relative, text, ast.parse(text))


def is_participle(function_name: str) -> bool:
    """Whether a function's name is nothing but a participle: ``told``, ``_kept``."""
    if function_name.startswith("__"):
        return False
    word = function_name.lstrip("_")
    return PARTICIPLE.fullmatch(word) is not None and word not in NOT_PARTICIPLES


def count_module(module: Module, found: Plainness, classes: dict[str, list[str]]) -> None:
    """Add one module's figures."""
    found.files += 1
    found.lines += module.lines
    found.comment_lines += sum(line.lstrip().startswith("#") for line in module.text.splitlines())
    if GERUND.fullmatch(module.path.stem) and module.path.stem not in NOT_PARTICIPLES:
        found.participle_modules.append(module.path.as_posix())
    inner_imports: set[ast.AST] = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.functions += 1
                if is_participle(node.name):
                    found.participle_functions.append(f"{module.path}:{node.lineno} {node.name}")
                inner_imports |= imports_inside(node)
            case ast.ClassDef():
                classes[node.name].append(f"{module.path}:{node.lineno}")
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                found.comprehensions += 1
            case ast.IfExp():
                found.conditional_expressions += 1
            case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Tuple()):
                found.tuple_assignments += 1
            case _:
                pass
    found.imports_inside_functions += len(inner_imports)


def imports_inside(function: Function) -> set[ast.AST]:
    """Returns the import statements inside of a function."""
    return {node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)}


def importers_of(modules: list[Module]) -> dict[str, set[str]]:
    """Returns, for each module, the modules that import it or from it."""
    names = {module.name for module in modules}
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                imported = whole if whole in names else node.module
                if imported in names and imported != module.name:
                    importers[imported].add(module.name)
    return importers


def find_crumbs(modules: list[Module]) -> list[str]:
    """Returns the short modules that only a module of the same folder imports."""
    importers = importers_of(modules)
    crumbs = []
    for module in modules:
        if module.lines >= CRUMB_LINES or len(importers[module.name]) != 1:
            continue
        (importer,) = importers[module.name]
        if importer.rpartition(".")[0] == module.name.rpartition(".")[0]:
            crumbs.append(module.path.as_posix())
    return crumbs


def measure(root: Path, without: tuple[str, ...] = ()) -> Plainness:
    """Count the tree below the root."""
    modules = list(read_modules(root, without))
    classes: dict[str, list[str]] = defaultdict(list)
    found = Plainness()
    for module in modules:
        count_module(module, found, classes)
    found.repeated_classes = {name: places for name, places in classes.items() if len(places) > 1}
    found.crumbs = find_crumbs(modules)
    return found
