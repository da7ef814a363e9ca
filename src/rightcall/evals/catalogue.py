"""Reads a file of tool definitions, and draws distractor tools from it.

Definitions may have any vendor's format, be the result of an MCP server's ``tools/list``, or a list of
servers that each have ``tools``.
"""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from random import Random

from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, parse
from rightcall.core.tool import Spec
from rightcall.declare.definition import tool_defined
from rightcall.errors import DeclarationError, UsageError
from rightcall.evals.bfcl import fitting

_DECLARATIONS = ("functionDeclarations", "function_declarations")


def load_catalogue(path: str | PathLike[str]) -> tuple[Spec, ...]:
    """Every definition of a file; of several with the same name, the first."""
    file = Path(path)
    try:
        value = parse(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (JsonError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
    found: dict[str, Spec] = {}
    for definition in _definitions(value):
        try:
            spec = _spec(definition)
        except DeclarationError as error:
            raise UsageError(f"{file}: {error}") from error
        found.setdefault(spec.name, spec)
    if not found:
        raise UsageError(f"{file}: there are no tool definitions in it")
    return tuple(found.values())


def with_distractors(
    tools: Sequence[Spec], size: int, catalogue: Sequence[Spec], *, seed: int = 0
) -> tuple[Spec, ...]:
    """These tools and distractors drawn from a catalogue, ``size`` in all, in random order.

    The same seed draws the same, and a larger draw contains the smaller one.
    """
    if size < len(tools):
        raise UsageError(f"{size} tools cannot hold the {len(tools)} that the questions are about")
    own = {tool.name for tool in tools}
    others = [spec for spec in catalogue if spec.name not in own]
    if size - len(tools) > len(others):
        raise UsageError(
            f"{size} tools take {size - len(tools)} others, and the catalogue has {len(others)}"
        )
    Random(seed).shuffle(others)  # noqa: S311 - to be the same again
    among = [*tools, *others[: size - len(tools)]]
    if size > len(tools):
        Random(f"{seed} {size}").shuffle(among)  # noqa: S311
    return tuple(among)


def _definitions(value: JsonValue) -> Iterator[JsonObject]:
    match value:
        case list():
            for each in value:
                yield from _definitions(each)
        case {"result": Mapping() as inner} | {"tools": list() as inner}:
            yield from _definitions(inner)
        case Mapping():
            declared = next((value[name] for name in _DECLARATIONS if name in value), None)
            if isinstance(declared, list):
                yield from _definitions(declared)
            else:
                yield value
        case _:
            raise UsageError("a file of definitions holds objects, or lists of them")


def _spec(definition: JsonObject) -> Spec:
    inner = definition.get("function", definition.get("toolSpec"))
    named = inner if isinstance(inner, Mapping) else definition
    name = named.get("name")
    if not isinstance(name, str):
        return tool_defined(definition).spec
    # Other protocols allow names that no model vendor accepts.
    return tool_defined(definition, name=fitting(name)).spec
