"""Tools into the typed async functions that a program calls, and such calls into tool arguments."""

import builtins
import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from pydantic_core import PydanticSerializationError, to_json

from rightcall.core.parts import Result
from rightcall.core.tool import Tool
from rightcall.declare.returns import WRAPPER, return_hint, returns_of
from rightcall.errors import DeclarationError
from rightcall.programs.annotation import Annotations, class_name, is_name
from rightcall.trust.pieces import opened

_IMPORTS = "from typing import Any, Literal, NotRequired, TypedDict\n"

Gives: TypeAlias = Literal["text", "json", "any"]
"""How a program gets a tool's result: as text; as JSON; or as JSON if it parses, else as text."""


class Function(Struct, frozen=True, kw_only=True, eq=False):
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
        text = result.text if result.source is None else opened(result.text)
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

    functions: Mapping[str, Function]
    classes: tuple[str, ...]

    @property
    def source(self) -> str:
        """All declarations, as the type checker reads them."""
        return "\n".join([_IMPORTS, *self.classes, *(each.stub for each in self.functions.values())])

    @property
    def shown(self) -> str:
        """All declarations, as the model reads them."""
        return "\n".join([*self.classes, *(each.stub for each in self.functions.values())])


def stubs_of(tools: Iterable[Tool], *, is_plan: bool = False) -> Stubs:
    """The functions for some tools. Raises DeclarationError where two would have the same name.

    ``is_plan``: for a plan, where functions are called without ``await`` and their results have fields.
    """
    annotations, functions = Annotations(is_plan=is_plan), dict[str, Function]()
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


def _function(tool: Tool, name: str, annotations: Annotations) -> Function:
    schema: Mapping[str, Any] = tool.parameters
    members = schema.get("properties")
    known: Mapping[str, Any] = members if isinstance(members, Mapping) else {}
    required = schema.get("required") or ()
    ordered = sorted(known, key=lambda key: key not in required)
    parameters: dict[str, str] = {}
    for key in ordered:
        own = _python_name(key)
        while own in parameters:
            own += "_"
        parameters[own] = key
    stem = class_name(tool.name)
    signature = []
    for own, key in parameters.items():
        hint = annotations.of(known[key], stem + class_name(key), schema)
        signature.append(f"{own}: {hint}" + ("" if key in required else f" = {_default(known[key])}"))
    if schema.get("additionalProperties") not in (None, False):
        signature.append(
            f"**more: {annotations.of(schema['additionalProperties'], f'{stem}More', schema)}"
        )
    gives, returned = _returned(tool, stem, annotations)
    head = f"{'' if annotations.is_plan else 'async '}def {name}({', '.join(signature)}) -> {returned}:"
    stub = f'{head}\n    """{_doc(tool, parameters, known)}"""\n'
    return Function(tool=tool.name, parameters=parameters, gives=gives, stub=stub)


def _returned(tool: Tool, stem: str, annotations: Annotations) -> tuple[Gives, str]:
    if return_hint(tool) is str:
        return "text", "str"
    returns = returns_of(tool)
    if returns is None:
        return "any", "Any"
    whole: Mapping[str, Any] = returns.schema
    schema = whole["properties"][WRAPPER] if returns.wrapped else whole
    # A value that may be a text is parsed as JSON where that works, and is text otherwise.
    gives: Gives = "any" if _may_be_text(schema) else "json"
    return gives, annotations.of(schema, f"{stem}Result", whole)


def _may_be_text(schema: Mapping[str, Any]) -> bool:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return any(isinstance(each, Mapping) and _may_be_text(each) for each in options)
    return schema.get("type") == "string"


def _default(schema: object) -> str:
    if isinstance(schema, Mapping) and type(schema.get("default", ())) in (str, int, float, bool):
        return repr(schema["default"])
    return "..."


def _doc(tool: Tool, parameters: Mapping[str, str], known: Mapping[str, Any]) -> str:
    lines = tool.description.strip().splitlines() or [tool.name]
    for own, key in parameters.items():
        said = known[key].get("description") if isinstance(known[key], Mapping) else None
        if said:
            lines.append(f"{own}: {' '.join(str(said).split())}")
    text = "\n    ".join(line.rstrip() for line in lines)
    # It is put between triple quotes, which it must not close.
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return f"{text} " if text.endswith('"') else text


def _python_name(name: str) -> str:
    own = "".join(each if each.isalnum() or each == "_" else "_" for each in name)
    if own[:1].isdigit() or not own:
        own = f"_{own}"
    return own if is_name(own) and not keyword.issoftkeyword(own) else f"{own}_"
