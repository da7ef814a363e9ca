"""Reads the Berkeley Function Calling Leaderboard's files into cases.

Each question has its own functions. The right answers are in ``possible_answer/``, in a file of the same
name; the files of irrelevance have none, since nothing is to be called, nor has that of relevance, where
any call is right. Questions that go on over several turns need the functions to run: they are refused.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.message import User
from rightcall.core.tool import Spec
from rightcall.errors import RightcallError, UsageError
from rightcall.evals.judgement import ANY, Case, Expected
from rightcall.wire.history import from_messages

_TYPES: Mapping[str, str | None] = {
    **dict.fromkeys(("dict", "HashMap", "Hashtable"), "object"),
    **dict.fromkeys(("float", "double", "Float"), "number"),
    **dict.fromkeys(("long", "short", "byte", "Bigint"), "integer"),
    **dict.fromkeys(("tuple", "list", "Array", "ArrayList", "Set", "Queue", "Stack"), "array"),
    **dict.fromkeys(("String", "char"), "string"),
    "Boolean": "boolean",
    "any": None,
}
"""Its type names, which are Python's, Java's and JavaScript's, as JSON Schema's; None for any."""
_SCHEMA_TYPES = frozenset(("object", "number", "integer", "array", "string", "boolean", "null"))
_KEPT = ("description", "enum", "default", "required", "format", "minimum", "maximum", "pattern")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def is_bfcl(row: JsonObject) -> bool:
    """Whether a row is a question of the Berkeley set."""
    return isinstance(row.get("question"), list) and ("function" in row or "involved_classes" in row)


def cases_of(
    file: Path, rows: Sequence[JsonObject], answers: Mapping[str, JsonObject]
) -> tuple[Case, ...]:
    """The cases of a file, given the right answers by id."""
    wants_none = "irrelevance" in file.name
    wants_any = "relevance" in file.name
    cases = []
    for row in rows:
        name = str(row.get("id"))
        try:
            question = row.get("question")
            if "involved_classes" in row or not isinstance(question, list) or len(question) != 1:
                raise UsageError(
                    "its functions are to be run, over several turns, and an eval runs nothing"
                )
            calls: tuple[Expected, ...] = ()
            if name in answers:
                truth = answers[name].get("ground_truth")
                if not isinstance(truth, list):
                    raise UsageError("ground_truth is a list of calls")
                calls = tuple(_parse_expected(each) for each in truth)
            elif wants_any and not wants_none:
                calls = (Expected(names=(ANY,)),)
            elif not wants_none:
                raise UsageError(f"no answer in possible_answer/{file.name} beside it")
            cases.append(_case(row, name, calls))
        except RightcallError as error:
            raise UsageError(f"{file}, {name}: {error}") from error
    return tuple(cases)


def _case(row: JsonObject, name: str, calls: tuple[Expected, ...]) -> Case:
    question = row.get("question")
    turn = question[0] if isinstance(question, list) else None
    if not isinstance(turn, list) or not turn:
        raise UsageError("it asks nothing")
    said = from_messages(turn, "openai_chat")
    if not said.messages or not isinstance(last := said.messages[-1], User):
        raise UsageError("the last message of a question is the user's")
    functions = row.get("function")
    if not isinstance(functions, list):
        raise UsageError("its functions are a list")
    return Case(
        id=name,
        question=last.text,
        calls=calls,
        history=said.messages[:-1],
        system=said.system,
        tools=tuple(_spec(each) for each in functions),
    )


def _parse_expected(call: JsonValue) -> Expected:
    if not isinstance(call, Mapping) or len(call) != 1:
        raise UsageError("each right call is an object of one function")
    ((name, values),) = call.items()
    if not isinstance(values, Mapping):
        raise UsageError(f"{name}: its arguments are an object")
    possible: dict[str, tuple[JsonValue, ...]] = {}
    for each, value in values.items():
        if isinstance(value, list):
            possible[each] = tuple(value)
        else:
            possible[each] = (value,)
    return Expected(names=(fit_name(name),), possible=possible)


def fit_name(name: str) -> str:
    """A name that every vendor accepts: the set's own harness also writes ``_`` for the dots."""
    fit = _UNFIT.sub("_", name)[:64]
    if fit[:1].isalpha() or fit[:1] == "_":
        return fit
    return f"_{fit}"[:64]


def _spec(function: JsonValue) -> Spec:
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise UsageError("a function is an object with a name")
    parameters = schema(function.get("parameters", {}))
    return Spec(
        name=fit_name(str(function["name"])),
        description=str(function.get("description", "")),
        parameters={"type": "object", "properties": {}, **parameters},
    )


def schema(given: JsonValue) -> JsonObject:
    """Its schema as JSON Schema: type names are translated, and unknown keywords dropped."""
    if not isinstance(given, Mapping):
        raise UsageError("a schema is an object")
    found: dict[str, JsonValue] = {name: given[name] for name in _KEPT if name in given}
    if found.get("required") is not None and not isinstance(found["required"], list):
        # Some mark the parameter itself as required, in addition to the list above it.
        del found["required"]
    kind = given.get("type")
    if isinstance(kind, str) and (known := _TYPES.get(kind, kind)) in _SCHEMA_TYPES:
        found["type"] = known
    properties = given.get("properties")
    if isinstance(properties, Mapping):
        found["properties"] = {name: schema(each) for name, each in properties.items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(given.get(inner), Mapping):
            found[inner] = schema(given[inner])
    return found
