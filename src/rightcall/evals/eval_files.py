"""Reads a file of cases: JSON Lines, a JSON array, YAML, or the Berkeley set's own format.

Errors name the file and the number of the case.

Files of tool definitions, from which distractor tools are drawn, may have any vendor's format, be the
result of an MCP server's ``tools/list``, or a list of servers that each have ``tools``.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from math import isfinite
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any

from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, parse
from rightcall.core.message import Transcript
from rightcall.core.tool import Spec
from rightcall.declare.definition import tool_defined
from rightcall.errors import DeclarationError, RightcallError, UsageError
from rightcall.evals import bfcl
from rightcall.evals.bfcl import fit_name
from rightcall.evals.judgement import NONE, Case, Expected
from rightcall.wire.history import from_messages

MOST_BYTES = 256 * 1024 * 1024
_YAML = (".yaml", ".yml")
_WAYS = ("tool", "tools", "one_of", "calls")
_MEMBERS = ("id", "question", *_WAYS, "arguments", "possible", "history", "system")
_CALL = ("tool", "one_of", "arguments", "possible")


def load_cases(path: str | PathLike[str]) -> tuple[Case, ...]:
    """The cases of a file. A case says what is asked and, in one of these ways, what is right.

    ``tool``: this one, or none with null; ``tools``: all of these; ``one_of``: any one of these;
    ``calls``: a list of calls, each with its own arguments. With ``tool`` and ``one_of`` may go
    ``arguments``, exact, or ``possible``, a list of right values for each argument.
    """
    file = Path(path)
    rows = _rows(file)
    if not rows:
        raise UsageError(f"{file}: there are no cases in it")
    if bfcl.is_bfcl(rows[0][1]):
        cases = bfcl.cases_of(file, [row for _, row in rows], _answers(file))
    else:
        cases = tuple(_read(place, row, number) for number, (place, row) in enumerate(rows, 1))
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise UsageError(f"{file}: two cases have the id {case.id!r}")
        seen.add(case.id)
    return cases


def parameters(path: str | PathLike[str]) -> list[Any]:
    """The cases of a file for ``pytest.mark.parametrize``, each under its own id."""
    pytest = import_module("pytest")
    return [pytest.param(case, id=case.id) for case in load_cases(path)]


def _answers(file: Path) -> Mapping[str, JsonObject]:
    """The right answers to the questions of a Berkeley file, by id: from the file beside it."""
    beside = file.parent / "possible_answer" / file.name
    if not beside.exists():
        return {}
    answers = {}
    for _, row in _rows(beside):
        answers[str(row.get("id"))] = row
    return answers


def _rows(file: Path) -> list[tuple[str, JsonObject]]:
    """Every case, with its location."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UsageError(f"{file} is larger than {MOST_BYTES:,} bytes")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8: {error}") from error
    if file.suffix.lower() in _YAML:
        return _list_rows(file, _yaml(file, text))
    if text.lstrip().startswith("["):
        return _list_rows(file, _json(str(file), text))
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{file}, line {number}"
            found.append((place, _object(place, _json(place, line))))
    return found


def _yaml(file: Path, text: str) -> JsonValue:
    try:
        yaml: Any = import_module("yaml")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{file}: YAML needs PyYAML: pip install pyyaml, or write the cases as JSON Lines"
        ) from error
    try:
        found: JsonValue = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{file}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{file}: nested too deep") from error
    # Refuse YAML values that JSON lacks, such as a date: no model can produce them.
    seen: set[int] = set()
    left = [found]
    while left:
        value = left.pop()
        if id(value) in seen:
            # An anchor may expand to very much, and refer to itself.
            continue
        if isinstance(value, list):
            seen.add(id(value))
            left += value
        elif isinstance(value, dict):
            seen.add(id(value))
            left += value.values()
            for name in value:
                if not isinstance(name, str):
                    raise UsageError(f"{file}: the name {name!r} is no text there; put it into quotes")
        elif not isinstance(value, str | int | float | None) or (
            isinstance(value, float) and not isfinite(value)
        ):
            raise UsageError(f"{file}: {value} is a {type(value).__name__} there; put it into quotes")
    return found


def _json(place: str, text: str) -> JsonValue:
    try:
        return parse(text)
    except JsonError as error:
        raise UsageError(f"{place}: {error}") from error


def _list_rows(file: Path, value: JsonValue) -> list[tuple[str, JsonObject]]:
    if not isinstance(value, list):
        raise UsageError(f"{file}: a file of cases holds a list of them")
    rows = []
    for number, each in enumerate(value, 1):
        place = f"{file}, case {number}"
        rows.append((place, _object(place, each)))
    return rows


def _object(place: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise UsageError(f"{place}: a case is an object with a question")
    return value


def _read(place: str, row: JsonObject, number: int) -> Case:
    try:
        _refuse_unknown(row, _MEMBERS)
        question = _words(row, "question")
        if not question.strip():
            raise UsageError('a case needs a "question"')
        return Case(
            id=_words(row, "id") or str(number),
            question=question,
            calls=tuple(_calls(row)),
            history=_history(row.get("history")),
            system=_words(row, "system"),
        )
    except RightcallError as error:
        raise UsageError(f"{place}: {error}") from error


def _refuse_unknown(row: JsonObject, known: Sequence[str]) -> None:
    for name in row:
        if name not in known:
            hint = f"there is {', '.join(known)}"
            if near := get_close_matches(str(name), known, n=1):
                hint = f"did you mean {near[0]!r}?"
            raise UsageError(f"no {name!r} here; {hint}")


def _words(row: JsonObject, name: str) -> str:
    value = row.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool) and name == "id":
        return str(value)
    if not isinstance(value, str):
        raise UsageError(f'"{name}" is text')
    return value


def _calls(row: JsonObject) -> Iterator[Expected]:
    ways = [way for way in _WAYS if way in row]
    if len(ways) != 1:
        raise UsageError(f"say what is right by exactly one of {', '.join(_WAYS)}; null for no tool")
    value = row[ways[0]]
    if value is None or value in (NONE, []):
        if {"arguments", "possible"} & row.keys():
            raise UsageError("no tool takes no arguments")
        return
    if ways[0] in ("tool", "one_of"):
        yield _parse_expected(row)
        return
    if not isinstance(value, list):
        raise UsageError(f'"{ways[0]}" is a list')
    if {"arguments", "possible"} & row.keys():
        raise UsageError('arguments of several calls go into "calls", each beside its tool')
    for each in value:
        call = {"tool": each} if ways[0] == "tools" else each
        if not isinstance(call, Mapping):
            raise UsageError('each of "calls" is an object with a tool')
        _refuse_unknown(call, _CALL)
        yield _parse_expected(call)


def _parse_expected(row: JsonObject) -> Expected:
    names = row.get("one_of", [row.get("tool")])
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
        raise UsageError("a tool is given by its name, and one_of by a list of names")
    exact = row.get("arguments")
    possible = row.get("possible")
    if exact is not None and possible is not None:
        raise UsageError("arguments are exact, or possible has lists of right values; not both")
    right = tuple(map(str, names))
    if exact is not None:
        return Expected(names=right, arguments=_members("arguments", exact))
    if possible is None:
        return Expected(names=right)
    lists = {}
    for name, values in _members("possible", possible).items():
        if not isinstance(values, list):
            raise UsageError(f'"possible": {name} has a list of the values that are right')
        lists[name] = tuple(values)
    return Expected(names=right, possible=lists)


def _members(name: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise UsageError(f'"{name}" is an object')
    return value


def _history(value: JsonValue) -> Transcript:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise UsageError('"history" is a list of messages, as a vendor writes them')
    said = from_messages(list(value))
    if said.system:
        raise UsageError('a system message goes into "system"')
    return said.messages


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
    specs: dict[str, Spec] = {}
    for definition in _definitions(value):
        inner = definition.get("function", definition.get("toolSpec"))
        if not isinstance(inner, Mapping):
            inner = definition
        fitted: dict[str, Any] = {}
        name = inner.get("name")
        if isinstance(name, str):
            # Other protocols allow names that no model vendor accepts.
            fitted["name"] = fit_name(name)
        try:
            spec = tool_defined(definition, **fitted).spec
        except DeclarationError as error:
            raise UsageError(f"{file}: {error}") from error
        specs.setdefault(spec.name, spec)
    if not specs:
        raise UsageError(f"{file}: there are no tool definitions in it")
    return tuple(specs.values())


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
