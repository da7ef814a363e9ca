"""Parses what a model may pass to a program: ``parameters`` to a schema, ``argv`` to elements."""

import difflib
import re
from collections.abc import Iterator, Mapping

from rightcall.core.jsontext import JsonObject, JsonValue, dump, kind_of, shorten
from rightcall.core.schema import Schema, SchemaError
from rightcall.manifest import interpreters
from rightcall.manifest.command_tool import (
    ArgumentGroup,
    CommandParameter,
    Element,
    LiteralArgument,
    Placeholder,
    argument_text,
    element_parts,
)
from rightcall.manifest.diagnostics import Spot, UnusableValue, each_of
from rightcall.manifest.interpreters import CommandArgument

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]|\['((?:[^'\\]|\\.)*)'\]")
_SCALARS = frozenset({"string", "integer", "number", "boolean"})
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number"}
_WHOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def read_parameters(spot: Spot) -> tuple[JsonObject, dict[str, CommandParameter]]:
    """The schema for the model, and the facts about each parameter."""
    document = spot.value
    if not isinstance(document, dict) or document.get("type") != "object":
        spot.below(["type"]).refuse(
            "a tool's parameters are a JSON Schema of an object",
            'write {"type": "object", "properties": { … }}',
        )
    try:
        Schema(document)
    except SchemaError as error:
        place = spot.below(
            [
                name or (int(index) if index else re.sub(r"\\(.)", r"\1", quoted))
                for name, index, quoted in _STEP.findall(error.problem.path)
            ]
        )
        place.refuse(f"not valid JSON Schema: {error.problem.message}")
    if document.get("additionalProperties", False) is not False:
        spot.below(["additionalProperties"]).wrong(
            "argv has a place only for the parameters it names", "write false"
        )
    required = document.get("required", [])
    known: dict[str, CommandParameter] = {}
    properties = spot.below(["properties"]).members() if "properties" in document else {}
    for name, place in properties.items():
        is_required = isinstance(required, list) and name in required
        try:
            schema = place.value
            if not _NAME.fullmatch(name):
                plainer = re.sub(r"^[0-9]+|[^A-Za-z0-9_]", "_", name)[:64] or "value"
                rule = (
                    "a parameter's name must be 1 to 64 letters, digits or _, and not begin with a digit"
                )
                place.refuse(rule, f"write {shorten(plainer)}")
            if not isinstance(schema, dict):
                place.refuse(
                    "must be a schema that says the parameter's type", 'write {"type": "string"}'
                )
            types = _types(schema)
            if types == {"array"}:
                items = schema.get("items")
                types = _types(items) if isinstance(items, dict) else set()
                if not isinstance(items, dict) or not types or not types <= _SCALARS:
                    place.below(["items"]).refuse(
                        "the items of an array become arguments, so their type must be said, and be no "
                        "other array",
                        'write "items": {"type": "string"}',
                    )
                known[name] = CommandParameter(
                    types=frozenset(types),
                    is_array=True,
                    required=is_required,
                    listed=_listed_values(items),
                )
            else:
                if not types:
                    place.refuse(
                        "its type is not said, and it becomes an argument", 'write "type": "string"'
                    )
                if wrong := sorted(types - _SCALARS):
                    what = "one argument of a program"
                    if "array" in wrong:
                        what = "an argument beside other types"
                    place.below(["type"]).refuse(
                        f"{' and '.join(wrong)} cannot become {what}",
                        'write "string", "integer", "number", "boolean", or "array" alone',
                    )
                known[name] = CommandParameter(
                    types=frozenset(types), required=is_required, listed=_listed_values(schema)
                )
        except UnusableValue:
            # A wrong parameter still exists, and argv may refer to it.
            known[name] = CommandParameter(types=frozenset(), required=is_required)
    return {**document, "additionalProperties": False}, known


def _types(schema: Mapping[str, JsonValue]) -> set[str]:
    """The JSON types that a schema allows, as far as it states them. Null counts as omitted."""
    given = schema.get("type")
    if isinstance(given, str):
        types = {given}
    elif isinstance(given, list):
        types = {each for each in given if isinstance(each, str)}
    else:
        types = {_KINDS.get(type(each), "object") for each in _choices(schema) if each is not None}
    return types - {"null"}


def _choices(schema: Mapping[str, JsonValue]) -> list[JsonValue]:
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    if isinstance(choices, list):
        return list(choices)
    return []


def _listed_values(schema: Mapping[str, JsonValue]) -> frozenset[str] | None:
    choices = _choices(schema)
    if choices:
        return frozenset(map(argument_text, choices))
    return None


def read_argv(spot: Spot, known: Mapping[str, CommandParameter]) -> tuple[Element, ...]:
    """The program's arguments, literal or to be filled in; wrong ones are left out."""
    found: list[Element] = []
    guarded = False
    for item in spot.items():
        try:
            if isinstance(item.content, tuple):
                element: Element = _read_group(item, known, guarded=guarded)
            else:
                element = _read_element(item, known, guarded=guarded)
                match found[-1:], element:
                    case [LiteralArgument(flag)], Placeholder(name) if (
                        flag.startswith("-") and flag != "--" and not known[name].required
                    ):
                        stays = f"{shorten(flag)} stays when {shorten(name)} is left out"
                        item.warn(stays, f'write [{shorten(flag)}, "{{{name}}}"] to drop both')
        except UnusableValue:
            continue
        guarded = guarded or element == LiteralArgument("--")
        found.append(element)
    return tuple(found)


def _read_element(
    spot: Spot, known: Mapping[str, CommandParameter], *, guarded: bool
) -> LiteralArgument | Placeholder:
    value = spot.content
    if not isinstance(value, str):
        fix = 'write "…"'
        if isinstance(value, int | float):
            fix = f"write {shorten(dump(spot.value))}"
        spot.refuse(f"must be a string or a group, not {kind_of(spot.value)}", fix)
    if "\0" in value:
        spot.refuse("an argument cannot hold a NUL character", "remove it")
    whole = _WHOLE.fullmatch(value)
    if whole is None:
        if inside := _WHOLE.search(value):
            pieces = (value[: inside.start()].rstrip("="), inside[0], value[inside.end() :])
            apart = ", ".join(map(shorten, filter(None, pieces)))
            spot.refuse(
                f"{inside[0]} must be an element by itself; text is never joined to what a model writes",
                f"write {apart} as elements of their own",
            )
        return LiteralArgument(value)
    name = whole[1]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"add {shorten(name)} to the properties of parameters"
        if near:
            fix = f'write "{{{near[0]}}}"'
        spot.refuse(f"there is no parameter {shorten(name)}", fix)
    if not guarded and "string" in known[name].types and known[name].listed is None:
        bare = f'no "--" stands before the string {shorten(name)}'
        spot.warn(
            f'{bare}, so a value that begins with "-" is refused',
            'write "--" before it, if the program knows that; or list its values in an enum',
        )
    return Placeholder(name, guarded)


def _read_group(spot: Spot, known: Mapping[str, CommandParameter], *, guarded: bool) -> ArgumentGroup:
    items = spot.items()
    for item in items:
        if isinstance(item.content, tuple):
            item.refuse("a group cannot hold another", "write its elements here")
    found = each_of(items, lambda item: _read_element(item, known, guarded=guarded))
    places = [index for index, each in enumerate(found) if isinstance(each, Placeholder)]
    if len(places) != 1 or len(found) == 1:
        spot.refuse(
            "a group is a flag and the one parameter that it comes and goes with",
            'write ["--flag", "{name}"]',
        )
    (place,) = places
    texts = [each.text if isinstance(each, LiteralArgument) else "" for each in found]
    placeholder = found[place]
    assert isinstance(placeholder, Placeholder)
    return ArgumentGroup(tuple(texts[:place]), placeholder, tuple(texts[place + 1 :]))


def check_use(
    argv: tuple[Element, ...], known: Mapping[str, CommandParameter], parameters: Spot | None
) -> None:
    """Record the parameters that no argument uses."""
    used = set()
    for element in argv:
        _, placeholder, _ = element_parts(element)
        if placeholder is not None:
            used.add(placeholder.name)
    for name, parameter in known.items():
        # A wrong parameter was already reported.
        if parameters is not None and parameter.types and name not in used:
            parameters.below(["properties", name]).wrong(
                "the parameter is not used in argv", f'write "{{{name}}}" there, or remove it here'
            )


def check_interpreter(
    command: str,
    argv: tuple[Element, ...],
    known: Mapping[str, CommandParameter],
    spot: Spot,
    *,
    allowed: bool,
) -> None:
    """Record a program that would run what the model writes; a warning if the operator allows it."""
    words: list[CommandArgument] = []
    for element in argv:
        words += _words(element, known)
    found = interpreters.refusal(command, words)
    if found and not allowed:
        spot.wrong(*found)
    elif found:
        spot.warn(found[0])
    elif interpreters.is_wrapper(command) and any(word.is_free for word in words):
        spot.warn("this program runs other programs, and the model fills in some of its arguments")


def _words(element: Element, known: Mapping[str, CommandParameter]) -> Iterator[CommandArgument]:
    """An element's arguments, as far as the file determines them."""
    before, placeholder, after = element_parts(element)
    for text in before:
        yield CommandArgument((text,))
    if placeholder is not None:
        parameter = known[placeholder.name]
        is_alone = isinstance(element, Placeholder)
        yield CommandArgument(
            tuple(sorted(parameter.listed or ())),
            shifts=is_alone and (parameter.is_array or not parameter.required),
            guarded=placeholder.guarded,
        )
    for text in after:
        yield CommandArgument((text,))
