"""Reads a file of cases: JSON Lines, a JSON array, YAML, or the Berkeley set's own format.

Errors name the file and the number of the case.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, parse
from rightcall.core.message import Transcript
from rightcall.errors import RightcallError, UsageError
from rightcall.evals import bfcl
from rightcall.evals.case import NONE, Case, Expected
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
    if bfcl.is_one(rows[0][1]):
        cases = bfcl.cases_of(file, [row for _, row in rows], _answers(file))
    else:
        cases = tuple(_read(place, row, number) for number, (place, row) in enumerate(rows, 1))
    _refuse_twins(file, cases)
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
    return {str(row.get("id")): row for _, row in _rows(beside)}


def _rows(file: Path) -> list[tuple[str, JsonObject]]:
    """Every case, with its location."""
    text = _text(file)
    if file.suffix.lower() in _YAML:
        return _listed(file, _yaml(file, text))
    if text.lstrip().startswith("["):
        return _listed(file, _json(str(file), text))
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{file}, line {number}"
            found.append((place, _object(place, _json(place, line))))
    return found


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UsageError(f"{file} is larger than {MOST_BYTES:,} bytes")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8: {error}") from error


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
    _refuse_unsayable(file, found)
    return found


def _refuse_unsayable(file: Path, found: Any) -> None:
    """Refuse YAML values that JSON lacks, such as a date: no model can produce them."""
    seen: set[int] = set()
    left = [found]
    while left:
        value = left.pop()
        if id(value) in seen:
            # An anchor may expand to very much, and refer to itself.
            continue
        if isinstance(value, dict | list):
            seen.add(id(value))
            left += value if isinstance(value, list) else value.values()
            for name in value if isinstance(value, dict) else ():
                if not isinstance(name, str):
                    raise UsageError(f"{file}: the name {name!r} is no text there; put it into quotes")
        elif not _is_json(value):
            raise UsageError(f"{file}: {value} is a {type(value).__name__} there; put it into quotes")


def _is_json(value: object) -> bool:
    return isfinite(value) if isinstance(value, float) else isinstance(value, str | int | None)


def _json(place: str, text: str) -> JsonValue:
    try:
        return parse(text)
    except JsonError as error:
        raise UsageError(f"{place}: {error}") from error


def _listed(file: Path, value: JsonValue) -> list[tuple[str, JsonObject]]:
    if not isinstance(value, list):
        raise UsageError(f"{file}: a file of cases holds a list of them")
    places = [f"{file}, case {number}" for number in range(1, len(value) + 1)]
    return [(place, _object(place, each)) for place, each in zip(places, value, strict=True)]


def _object(place: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise UsageError(f"{place}: a case is an object with a question")
    return value


def _read(place: str, row: JsonObject, number: int) -> Case:
    try:
        _refuse_unknown(row, _MEMBERS)
        return Case(
            id=_words(row, "id") or str(number),
            question=_question(row),
            calls=tuple(_calls(row)),
            history=_history(row.get("history")),
            system=_words(row, "system"),
        )
    except RightcallError as error:
        raise UsageError(f"{place}: {error}") from error


def _refuse_unknown(row: JsonObject, known: Sequence[str]) -> None:
    for name in row:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(known)}"
            raise UsageError(f"no {name!r} here; {hint}")


def _question(row: JsonObject) -> str:
    question = _words(row, "question")
    if not question.strip():
        raise UsageError('a case needs a "question"')
    return question


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
        yield _expected(row)
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
        yield _expected(call)


def _expected(row: JsonObject) -> Expected:
    names = row.get("one_of", [row.get("tool")])
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
        raise UsageError("a tool is given by its name, and one_of by a list of names")
    exact, possible = row.get("arguments"), row.get("possible")
    if exact is not None and possible is not None:
        raise UsageError("arguments are exact, or possible has lists of right values; not both")
    return Expected(
        names=tuple(map(str, names)),
        arguments=None if exact is None else _members("arguments", exact),
        possible=None if possible is None else _possible(possible),
    )


def _members(name: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise UsageError(f'"{name}" is an object')
    return value


def _possible(value: JsonValue) -> Mapping[str, tuple[JsonValue, ...]]:
    """The right values of each argument."""
    found = _members("possible", value)
    for name, values in found.items():
        if not isinstance(values, list):
            raise UsageError(f'"possible": {name} has a list of the values that are right')
    return {name: tuple(values) for name, values in found.items() if isinstance(values, list)}


def _history(value: JsonValue) -> Transcript:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise UsageError('"history" is a list of messages, as a vendor writes them')
    said = from_messages(list(value))
    if said.system:
        raise UsageError('a system message goes into "system"')
    return said.messages


def _refuse_twins(file: Path, cases: Sequence[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise UsageError(f"{file}: two cases have the id {case.id!r}")
        seen.add(case.id)
