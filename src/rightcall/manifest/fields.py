"""A manifest's values into Python's, each wrong one noted with its place and what to write instead."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.core.jsontext import JsonValue, kind_of, shorten
from rightcall.manifest.finding import Finding
from rightcall.manifest.source import Node

MOST = 200
"""How many findings are listed; a file with more needs no longer list."""


class TooMany(Exception):
    """There is no end of what is wrong with a file."""


class Notes:
    """What was found while a file was read."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Finding] = []
        self.warnings: list[Finding] = []

    def wrong(self, place: Node | tuple[int, int], path: str, message: str, fix: str = "") -> None:
        """Note a problem: the file cannot be used."""
        self.problems.append(self._finding(place, path, message, fix))
        if len(self.problems) >= MOST:
            raise TooMany

    def warn(self, place: Node | tuple[int, int], path: str, message: str, fix: str = "") -> None:
        """Note something that may not be meant."""
        if len(self.warnings) < MOST:
            self.warnings.append(self._finding(place, path, message, fix))

    def _finding(self, place: Node | tuple[int, int], path: str, message: str, fix: str) -> Finding:
        line, column = (place.line, place.column) if isinstance(place, Node) else place
        return Finding(file=self.file, line=line, column=column, path=path, message=message, fix=fix)


class Spot:
    """A value in the file that is being read: what it is, what it is called, and where it stands."""

    def __init__(self, notes: Notes, node: Node, path: str) -> None:
        self.notes = notes
        self.node = node
        self.path = path

    @property
    def value(self) -> JsonValue:
        """The value alone."""
        return self.node.plain()

    def wrong(self, message: str, fix: str = "") -> None:
        """Note a problem with this value."""
        self.notes.wrong(self.node, self.path, message, fix)

    def warn(self, message: str, fix: str = "") -> None:
        """Note that this value may not be what is meant."""
        self.notes.warn(self.node, self.path, message, fix)

    def members(self) -> "dict[str, Spot]":
        """The members of an object; none, and a problem, when it is no object."""
        if not isinstance(self.node.value, Mapping):
            self.wrong(f"must be an object, not {kind_of(self.value)}", "write { … }")
            return {}
        path = f"{self.path}." if self.path else ""
        return {key: Spot(self.notes, node, path + key) for key, node in self.node.value.items()}

    def items(self) -> "list[Spot]":
        """The items of an array; none, and a problem, when it is no array."""
        if not isinstance(self.node.value, tuple):
            self.wrong(f"must be an array, not {kind_of(self.value)}", "write [ … ]")
            return []
        return [
            Spot(self.notes, node, f"{self.path}[{index}]") for index, node in enumerate(self.node.value)
        ]

    def below(self, steps: Sequence[str | int]) -> "Spot":
        """The value at a path below this one, or as far as there is one."""
        spot = self
        for step in steps:
            inside: Mapping[Any, Spot] = {}
            if isinstance(spot.node.value, Mapping):
                inside = spot.members()
            elif isinstance(spot.node.value, tuple):
                inside = dict(enumerate(spot.items()))
            if step not in inside:
                break
            spot = inside[step]
        return spot

    def refuse_unknown(self, known: Sequence[str]) -> None:
        """Note the members that nobody knows, each where its key stands."""
        for key, place in self.node.keys.items():
            if key in known:
                continue
            near = difflib.get_close_matches(key, known, n=1)
            fix = f"write {shorten(near[0])}" if near else f"remove it; there is {', '.join(known)}"
            path = f"{self.path}.{key}" if self.path else key
            self.notes.wrong(place, path, "there is no such field", fix)


def text(spot: Spot, example: str) -> str | None:
    """A string."""
    value = spot.node.value
    if isinstance(value, str):
        return value
    spot.wrong(f"must be a string, not {kind_of(spot.value)}", f"write {shorten(example)}")
    return None


def flag(spot: Spot) -> bool | None:
    """True or false."""
    value = spot.node.value
    if isinstance(value, bool):
        return value
    spot.wrong(f"must be true or false, not {kind_of(spot.value)}", "write true or false")
    return None


def whole(spot: Spot, least: int, most: int, example: int) -> int | None:
    """An integer within bounds."""
    value = spot.node.value
    if not isinstance(value, int) or isinstance(value, bool):
        spot.wrong(f"must be an integer, not {kind_of(spot.value)}", f"write {example}")
    elif not least <= value <= most:
        nearest = least if value < least else most
        spot.wrong(f"must be from {least:,} to {most:,}, not {value:,}", f"write {nearest}")
    else:
        return value
    return None


def word(spot: Spot, words: Sequence[str]) -> str | None:
    """One of some words."""
    value = spot.node.value
    if isinstance(value, str) and value in words:
        return value
    near = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    listed = " or ".join(map(shorten, words))
    fix = f"write {shorten(near[0])}" if near else f"write {listed}"
    spot.wrong(f"must be {listed}, not {shorten(spot.value)}", fix)
    return None


def texts(spot: Spot, example: str) -> tuple[str, ...] | None:
    """An array of strings."""
    found = [text(item, example) for item in spot.items()]
    good = tuple(each for each in found if each is not None)
    return good if len(good) == len(found) and isinstance(spot.node.value, tuple) else None
