"""A tool's arguments into the arguments of a program: one element each, or none.

No text is ever joined to another, split, quoted or unquoted. What could be taken for an option is
refused where no ``--`` stands before it.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from rightcall.core.jsontext import JsonObject, JsonValue, dump, shorten
from rightcall.core.problem import Problem, json_path
from rightcall.manifest.entry import Element, Entry, Group, Literally, Parameter, Placeholder


def problems(entry: Entry, arguments: JsonObject) -> tuple[Problem, ...]:
    """Why arguments that fit the schema cannot be given to the program all the same."""
    return tuple(
        dict.fromkeys(found for element in entry.argv for found in _refusals(entry, element, arguments))
    )


def assemble(entry: Entry, arguments: JsonObject) -> tuple[str, ...]:
    """The program and its arguments, as it gets them."""
    return (entry.command, *(text for element in entry.argv for text in _expand(element, arguments)))


def _expand(element: Element, arguments: JsonObject) -> Iterator[str]:
    match element:
        case Literally(text):
            yield text
        case Placeholder(name):
            yield from map(written, _values(arguments.get(name)))
        case Group(before, placeholder, after):
            for value in _values(arguments.get(placeholder.name)):
                yield from (*before, written(value), *after)
        case _:
            assert_never(element)


def _values(value: JsonValue) -> Sequence[JsonValue]:
    """The items of an array, or the one value; none when it is null or was left out."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def written(value: JsonValue) -> str:
    """A value as an argument: text as it is, everything else as JSON writes it."""
    return value if isinstance(value, str) else dump(value)


def _refusals(entry: Entry, element: Element, arguments: JsonObject) -> Iterator[Problem]:
    match element:
        case Literally():
            return
        case Placeholder() as placeholder:
            follows_flag = False
        case Group(placeholder=placeholder):
            follows_flag = True
        case _:
            assert_never(element)
    given = arguments.get(placeholder.name)
    parameter = entry.known[placeholder.name]
    for index, value in enumerate(_values(given)):
        steps = (placeholder.name, index) if isinstance(given, list) else (placeholder.name,)
        may_be_option = not placeholder.guarded and not (follows_flag and _is_number(value))
        if reason := _refusal(value, parameter, may_be_option=may_be_option):
            yield Problem(json_path(steps), reason)


def _refusal(value: JsonValue, parameter: Parameter, *, may_be_option: bool) -> str:
    if isinstance(value, dict | list) or value is None:
        return "must be text, a number or a boolean: it becomes one argument of a program"
    text = written(value)
    if "\0" in text:
        return "must not hold a NUL character"
    if may_be_option and text.startswith("-") and text not in (parameter.listed or ()):
        return (
            f'must not begin with "-", which the program would take for an option; got {shorten(text)}'
        )
    return ""


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
