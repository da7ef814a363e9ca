"""The ``argv`` of a manifest's tool into literal arguments, and places for the model to fill in."""

import difflib
import re
from collections.abc import Iterator, Mapping

from rightcall.core.jsontext import dump, kind_of, shorten
from rightcall.manifest.entry import Element, Group, Literally, Parameter, Placeholder
from rightcall.manifest.fields import Spot

_WHOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def read_argv(spot: Spot, known: Mapping[str, Parameter]) -> tuple[Element, ...]:
    """The program's arguments, literal or to be filled in."""
    found: list[Element] = []
    guarded = False
    for item in spot.items():
        if isinstance(item.node.value, tuple):
            element: Element | None = _read_group(item, known, guarded=guarded)
        else:
            element = _read_element(item, known, guarded=guarded)
            _warn_of_dangling_flag(item, found, element, known)
        guarded = guarded or element == Literally("--")
        if element is not None:
            found.append(element)
    return tuple(found)


def _read_element(spot: Spot, known: Mapping[str, Parameter], *, guarded: bool) -> Element | None:
    value = spot.node.value
    if not isinstance(value, str):
        fix = f"write {shorten(dump(spot.value))}" if isinstance(value, int | float) else 'write "…"'
        spot.wrong(f"must be a string or a group, not {kind_of(spot.value)}", fix)
        return None
    if "\0" in value:
        spot.wrong("an argument cannot hold a NUL character", "remove it")
        return None
    whole = _WHOLE.fullmatch(value)
    if whole is None:
        if inside := _WHOLE.search(value):
            _refuse_embedded(spot, value, inside)
            return None
        return Literally(value)
    name = whole[1]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        fix = (
            f'write "{{{near[0]}}}"' if near else f"add {shorten(name)} to the properties of parameters"
        )
        spot.wrong(f"there is no parameter {shorten(name)}", fix)
        return None
    _warn_of_options(spot, name, known[name], guarded=guarded)
    return Placeholder(name, guarded)


def _refuse_embedded(spot: Spot, value: str, inside: re.Match[str]) -> None:
    before = value[: inside.start()].rstrip("=")
    pieces = [piece for piece in (before, inside[0], value[inside.end() :]) if piece]
    written_out = ", ".join(map(shorten, pieces))
    spot.wrong(
        f"{inside[0]} must be an element by itself; text is never joined to what a model writes",
        f"write {written_out} as elements of their own",
    )


def _read_group(spot: Spot, known: Mapping[str, Parameter], *, guarded: bool) -> Group | None:
    items = spot.items()
    if nested := [item for item in items if isinstance(item.node.value, tuple)]:
        nested[0].wrong("a group cannot hold another", "write its elements here")
        return None
    found = [_read_element(item, known, guarded=guarded) for item in items]
    if None in found:
        return None
    places = [index for index, each in enumerate(found) if isinstance(each, Placeholder)]
    if len(places) != 1 or len(found) == 1:
        spot.wrong(
            "a group is a flag and the one parameter that it comes and goes with",
            'write ["--flag", "{name}"]',
        )
        return None
    (place,) = places
    texts = [each.text if isinstance(each, Literally) else "" for each in found]
    placeholder = found[place]
    assert isinstance(placeholder, Placeholder)
    return Group(tuple(texts[:place]), placeholder, tuple(texts[place + 1 :]))


def _warn_of_options(spot: Spot, name: str, parameter: Parameter, *, guarded: bool) -> None:
    if guarded or "string" not in parameter.types or parameter.listed is not None:
        return
    spot.warn(
        f'no "--" stands before the string {shorten(name)}, so a value that begins with "-" is refused',
        'write "--" before it, if the program knows that; or list its values in an enum',
    )


def _warn_of_dangling_flag(
    spot: Spot, before: list[Element], element: Element | None, known: Mapping[str, Parameter]
) -> None:
    match before[-1:], element:
        case [Literally(flag)], Placeholder(name) if (
            not known[name].required and flag.startswith("-") and flag != "--"
        ):
            pair = f'[{shorten(flag)}, "{{{name}}}"]'
            spot.warn(
                f"{shorten(flag)} stays when {shorten(name)} is left out", f"write {pair} to drop both"
            )
        case _:
            pass


def check_use(
    argv: tuple[Element, ...], known: Mapping[str, Parameter], parameters: Spot | None
) -> None:
    """Note the parameters that a model would fill in for nothing."""
    used = {placeholder.name for placeholder in placeholders(argv)}
    for name, parameter in known.items():
        # One that is wrong has been spoken of.
        if parameters is not None and parameter.types and name not in used:
            parameters.below(["properties", name]).wrong(
                "the parameter is not used in argv", f'write "{{{name}}}" there, or remove it here'
            )


def placeholders(argv: tuple[Element, ...]) -> Iterator[Placeholder]:
    """Where the model fills something in."""
    for element in argv:
        if isinstance(element, Placeholder):
            yield element
        elif isinstance(element, Group):
            yield element.placeholder
