"""Writes tools as the typed functions that a program calls, and such calls as tool arguments."""

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse
from keyword import iskeyword
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from pydantic_core import PydanticSerializationError, to_json

from rightcall.core.parts import Result
from rightcall.core.references import local_target
from rightcall.core.tool import Tool
from rightcall.declare.returns import WRAPPER, return_hint, returns_of
from rightcall.errors import DeclarationError
from rightcall.trust.facts import properties_of
from rightcall.trust.pieces import open_envelope

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DATES = {"date": "date", "date-time": "datetime"}
_LITERALS = (str, bool, int, type(None))
_TAKEN = frozenset({"Any", "Literal", "NotRequired", "TypedDict", *dir(builtins)})
_LONGEST_TOLD = 200
"""Characters of what is said of a class or a field, at most."""
_DEEPEST = 20
"""Levels of a schema that are annotated; below, anything is allowed: a schema may be recursive."""


class Annotations:
    """Writes the annotations of schemas, and collects the classes that they name, each once.

    What Python's types cannot express, as a pattern or a bound, is left to the gate, which validates
    every call.
    """

    def __init__(self, *, is_plan: bool = False) -> None:
        self.is_plan = is_plan
        """For a plan: a JSON object becomes a class with fields, and dates are dates."""
        self.classes: dict[str, str] = {}
        """The classes, by name, in the order in which they must be declared."""
        self._known: dict[int, str] = {}
        """The class name of each schema, by the schema's identity: a recursive schema has one class."""

    def of(self, schema: object, name: str, root: Mapping[str, Any], depth: int = 0) -> str:
        """The annotation of a schema's values; ``name`` is for its class, ``root`` holds the refs."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return "Any"
        if isinstance(ref := schema.get("$ref"), str):
            return self.of(
                local_target(root, ref), class_name(ref.rpartition("/")[2], name), root, depth + 1
            )
        # The values that a schema lists, where Python has literals for them.
        listed = schema.get("enum")
        if "const" in schema:
            listed = [schema["const"]]
        if listed and isinstance(listed, Sequence) and not isinstance(listed, str):
            if not set(map(type, listed)).issubset(_LITERALS):
                return "Any"
            return f"Literal[{', '.join(map(repr, listed))}]"
        for key in ("anyOf", "oneOf"):
            if isinstance(choices := schema.get(key), Sequence):
                return self._union(choices, name, root, depth)
        if isinstance(together := schema.get("allOf"), Sequence) and len(together) == 1:
            return self.of(together[0], name, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._union([{**schema, "type": each} for each in kind], name, root, depth)
        if kind == "array":
            return f"list[{self.of(schema.get('items'), f'{name}Item', root, depth + 1)}]"
        if kind == "object":
            return self._object(schema, name, root, depth)
        if self.is_plan and kind == "string" and schema.get("format") in _DATES:
            return _DATES[str(schema["format"])]
        return _PLAIN.get(str(kind), "Any")

    def _union(self, schemas: Sequence[Any], name: str, root: Mapping[str, Any], depth: int) -> str:
        names = _numbered_names(name)
        found = [self.of(each, own, root, depth + 1) for each, own in zip(schemas, names, strict=False)]
        if "Any" in found or not found:
            return "Any"
        return " | ".join(dict.fromkeys(found))

    def _object(self, schema: Mapping[str, Any], name: str, root: Mapping[str, Any], depth: int) -> str:
        members = schema.get("properties")
        if not isinstance(members, Mapping) or not members:
            values = schema.get("additionalProperties")
            return f"dict[str, {self.of(values, f'{name}Value', root, depth + 1)}]"
        if (known := self._known.get(id(schema))) is not None:
            return known
        title = schema.get("title")
        if self.is_plan and isinstance(title, str) and is_name(title):
            # The name of the type, which other tools may return as well.
            name = title
        taken = _TAKEN.union(self.classes)
        own = next(filterfalse(taken.__contains__, _numbered_names(name)))
        self._known[id(schema)] = own
        self.classes[own] = ""
        required = schema.get("required", ())
        lines = {}
        for key, value in members.items():
            lines[key] = self.of(value, own + class_name(key), root, depth + 1)
            if key in required:
                continue
            if self.is_plan:
                lines[key] += " | None"
            else:
                lines[key] = f"NotRequired[{lines[key]}]"
        # Inserted again at the end, so that the classes that it names are declared before it.
        del self.classes[own]
        if not self.is_plan:
            if all(map(is_name, lines)):
                body = "".join(f"    {key}: {hint}\n" for key, hint in lines.items())
                self.classes[own] = f"class {own}(TypedDict):\n{body}"
            else:
                body = ", ".join(f"{key!r}: {hint!r}" for key, hint in lines.items())
                self.classes[own] = f'{own} = TypedDict("{own}", {{{body}}})\n'
            return own
        body = _fields(lines, schema)
        # Each tool that returns a type has a schema of its own for it: alike ones share a class.
        for each in _numbered_names(name):
            declaration = f"class {each}:\n{body}"
            if each == own or self.classes.get(each) == declaration:
                break
        self._known[id(schema)] = each
        self.classes[each] = declaration
        return each


def _fields(members: Mapping[str, str], schema: Mapping[str, Any]) -> str:
    """The body of a class with fields, with what its author says of it and of them."""
    head = ""
    if words := _description_line(schema):
        head = f"    # {words}\n"
    lines = ""
    for key, hint in members.items():
        if not is_name(key):
            continue
        lines += f"    {key}: {hint}"
        if words := _description_line(schema["properties"][key]):
            lines += f"  # {words}"
        lines += "\n"
    if not lines:
        return "    pass"
    return head + lines


def _description_line(schema: object) -> str:
    words = _description(schema)
    if not isinstance(words, str):
        return ""
    line = " ".join(words.split())
    if len(line) <= _LONGEST_TOLD:
        return line
    return f"{line[: _LONGEST_TOLD - 1]}…"


def _description(schema: object) -> object:
    if isinstance(schema, Mapping):
        return schema.get("description")
    return None


def _numbered_names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}{number}"
        number += 1


def is_name(text: str) -> bool:
    """Whether it is a valid Python name."""
    return text.isidentifier() and not iskeyword(text)


def class_name(key: str, otherwise: str = "Value") -> str:
    """A class name for another name: ``user-id`` is ``UserId``."""
    name = ""
    for part in re.findall(r"[A-Za-z0-9]+", key):
        name += part[:1].upper() + part[1:]
    if not name:
        name = otherwise
    if name[:1].isdigit():
        return f"_{name}"
    return name


def result_text(result: Result) -> str:
    """The text of a result, without the envelope that untrusted text is in."""
    if result.source is None:
        return result.text
    return open_envelope(result.text)


_IMPORTS = "from typing import Any, Literal, NotRequired, TypedDict\n"

Gives: TypeAlias = Literal["text", "json", "any"]
"""How a program gets a tool's result: as text; as JSON; or as JSON if it parses, else as text."""


class StubFunction(Struct, frozen=True, kw_only=True, eq=False):
    """A tool as a function that a program calls."""

    tool: str
    parameters: Mapping[str, str]
    """By Python name: each parameter's name in the schema, in the stub's order."""
    gives: Gives
    stub: str
    """The declaration that the model and the type checker read."""

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """The arguments of a call as JSON. Raises TypeError with the message that Python would use."""
        names = list(self.parameters)
        if len(args) > len(names):
            raise TypeError(f"{self.tool}() takes {len(names)} arguments but {len(args)} were given")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"{self.tool}() got multiple values for argument {name!r}")
            given[name] = value
        # Unknown parameters are passed on as they are: the gate refuses them with its own message.
        named = {self.parameters.get(name, name): value for name, value in given.items()}
        try:
            return to_json(named, inf_nan_mode="null").decode()
        except (PydanticSerializationError, UnicodeError) as error:
            raise TypeError(f"an argument of {self.tool}() is no JSON: {error}") from None

    def value(self, result: Result) -> Any:
        """The value that a call returns to the program. Raises ValueError if it cannot be parsed."""
        text = result_text(result)
        if self.gives == "text":
            return text
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError):
            if self.gives == "any":
                return text
            raise ValueError(
                f"what {self.tool} returned is no whole JSON; it may have been too long and cut"
            ) from None


class Stubs(Struct, frozen=True, eq=False):
    """The functions of a program, by name, and the classes that their signatures name."""

    functions: Mapping[str, StubFunction]
    classes: tuple[str, ...]

    @property
    def source(self) -> str:
        """All declarations, as the type checker reads them."""
        return f"{_IMPORTS}\n{self.declarations}"

    @property
    def declarations(self) -> str:
        """All declarations, as the model reads them."""
        return "\n".join([*self.classes, *(each.stub for each in self.functions.values())])


def stubs_of(tools: Iterable[Tool], *, is_plan: bool = False) -> Stubs:
    """The functions for some tools. Raises DeclarationError where two would have the same name.

    ``is_plan``: for a plan, where functions are called without ``await`` and their results have fields.
    """
    annotations = Annotations(is_plan=is_plan)
    functions = dict[str, StubFunction]()
    for tool in tools:
        name = _python_name(tool.name)
        if hasattr(builtins, name):
            # Monty would call its own function of that name.
            name += "_"
        if name in functions:
            raise DeclarationError(
                tool.name,
                f"in a program it would be {name}(), and so would {functions[name].tool}.",
                where="name",
                fix="Rename one of them.",
            )
        functions[name] = _function(tool, name, annotations)
    return Stubs(functions, tuple(annotations.classes.values()))


def _function(tool: Tool, name: str, annotations: Annotations) -> StubFunction:
    schema: Mapping[str, Any] = tool.parameters
    known = properties_of(tool.parameters)
    required = schema.get("required") or ()
    ordered = sorted(known, key=lambda key: key not in required)
    parameters: dict[str, str] = {}
    stem = class_name(tool.name)
    signature = []
    for key in ordered:
        own = _python_name(key)
        while own in parameters:
            own += "_"
        parameters[own] = key
        hint = annotations.of(known[key], stem + class_name(key), schema)
        parameter = f"{own}: {hint}"
        if key not in required:
            value = "..."
            if isinstance(known[key], Mapping):
                default = known[key].get("default", ())
                if type(default) in (str, int, float, bool):
                    value = repr(default)
            parameter += f" = {value}"
        signature.append(parameter)
    if schema.get("additionalProperties") not in (None, False):
        signature.append(
            f"**more: {annotations.of(schema['additionalProperties'], f'{stem}More', schema)}"
        )
    gives, returned = _return_type(tool, stem, annotations)
    head = f"def {name}({', '.join(signature)}) -> {returned}:"
    if not annotations.is_plan:
        head = f"async {head}"
    stub = f'{head}\n    """{_doc(tool, parameters, known)}"""\n'
    return StubFunction(tool=tool.name, parameters=parameters, gives=gives, stub=stub)


def _return_type(tool: Tool, stem: str, annotations: Annotations) -> tuple[Gives, str]:
    if return_hint(tool) is str:
        return "text", "str"
    returns = returns_of(tool)
    if returns is None:
        return "any", "Any"
    whole: Mapping[str, Any] = returns.schema
    schema = whole
    if returns.wrapped:
        schema = whole["properties"][WRAPPER]
    gives: Gives = "json"
    if _may_be_text(schema):
        # It is parsed as JSON where that works, and is text otherwise.
        gives = "any"
    return gives, annotations.of(schema, f"{stem}Result", whole)


def _may_be_text(schema: Mapping[str, Any]) -> bool:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return any(isinstance(each, Mapping) and _may_be_text(each) for each in options)
    return schema.get("type") == "string"


def _doc(tool: Tool, parameters: Mapping[str, str], known: Mapping[str, Any]) -> str:
    lines = tool.description.strip().splitlines() or [tool.name]
    for own, key in parameters.items():
        words = _description(known[key])
        if words:
            lines.append(f"{own}: {' '.join(str(words).split())}")
    text = "\n    ".join(map(str.rstrip, lines))
    # It is put between triple quotes, which it must not close.
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    return text


def _python_name(name: str) -> str:
    own = "".join(each if each.isalnum() or each == "_" else "_" for each in name)
    if own[:1].isdigit() or not own:
        own = f"_{own}"
    if is_name(own) and not keyword.issoftkeyword(own):
        return own
    return f"{own}_"
