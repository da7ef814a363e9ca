"""What classes and modules say of their names: the fields, their defaults, and the words below each."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from msgspec import Struct

MISSING: Any = inspect.Parameter.empty


class Field(NamedTuple):
    """A name with its type as it is written, its default, and what is said of it."""

    name: str
    kind: str
    default: Any
    words: str


def fields(owner: type) -> dict[str, Field]:
    """The fields that a class declares itself, by name."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(tree, ast.ClassDef)
    return {field.name: field for field in _annotated(tree.body, vars(sys.modules[owner.__module__]))}


def words_below(module: ModuleType) -> dict[str, str]:
    """By name: the text below an assignment of a module's."""
    found = {}
    for node, after in pairwise(ast.parse(inspect.getsource(module)).body):
        named = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(named, ast.Name):
            found[named.id] = _words(after)
    return found


def meanings(text: str) -> dict[str, str]:
    """A docstring's list of ``word``: what it means."""
    items = re.split(r"^- ", inspect.cleandoc(text), flags=re.MULTILINE)[1:]
    pairs = (item.split("\n\n")[0].partition(":") for item in items)
    return {word.strip("` "): _sentence(plain(rest)) for word, _, rest in pairs}


def first_paragraph(thing: object) -> str:
    """What a docstring says first."""
    return plain(inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0])


def plain(text: str) -> str:
    """On one line, with code as Markdown has it."""
    return " ".join(text.replace("``", "`").split())


def code(value: object) -> str:
    """A default as a cell of a table."""
    if value is MISSING:
        return ""
    if isinstance(value, Struct) and value == type(value)():
        return f"`{type(value).__name__}()`"
    name = getattr(value, "__name__", None) or repr(value)
    return "none" if name.startswith("<") else f"`{name}`"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _annotated(body: list[ast.stmt], names: Mapping[str, Any]) -> Iterator[Field]:
    for node, after in pairwise([*body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = _kind(node.annotation, names)
            if not kind.startswith("ClassVar"):
                yield Field(node.target.id, kind, _default(node.value, names), _words(after))


def _kind(annotation: ast.expr, names: Mapping[str, Any]) -> str:
    """The type as it is written; in place of a name for a few words, the words."""
    text = ast.unparse(annotation).strip("'")

    def spelt(found: re.Match[str]) -> str:
        value = names.get(found[0])
        return " | ".join(map(repr, get_args(value))) if get_origin(value) is Literal else found[0]

    text = re.sub(r"Literal\[([^]]+)\]", lambda found: found[1].replace(", ", " | "), text)
    return re.sub(r"\b[A-Z]\w+\b(?!')", spelt, text)


def _default(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    if node is None:
        return MISSING
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
        (factory,) = [each.value for each in node.keywords if each.arg == "default_factory"]
        return eval(ast.unparse(factory), dict(names))()
    return eval(ast.unparse(node), dict(names))


def _words(node: ast.stmt) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return inspect.cleandoc(node.value.value) if is_text and isinstance(node.value.value, str) else ""
