"""Shows an answer that is still being written as a part of its type.

Objects of a class are shown with its attributes: one that has not come yet is None, and one that the
class does not have is an AttributeError. Everything else is shown as the JSON that it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, overload

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import JsonValue

PartialView = Callable[[JsonValue], Any]
"""Shows a JSON value that grows as a part of a type."""


class OutputMember(Struct, frozen=True):
    """A field of a class: its name in JSON, and how its value is shown."""

    key: str
    view: PartialView


class PartialObject:
    """An object of which some attributes have come; it grows while the answer is written."""

    __slots__ = ("_json", "_kind", "_members")

    def __init__(
        self, json: Mapping[str, JsonValue], kind: type, members: Mapping[str, OutputMember]
    ) -> None:
        self._json = json
        self._kind = kind
        self._members = members

    def __getattr__(self, name: str) -> Any:
        member = self._members.get(name)
        if member is None:
            raise AttributeError(f"{self._kind.__name__} has no field {name!r}", name=name, obj=self)
        if member.key not in self._json:
            return None
        return member.view(self._json[member.key])

    def __contains__(self, name: object) -> bool:
        member = self._members.get(str(name))
        return member is not None and member.key in self._json

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self._members if name in self])

    def __len__(self) -> int:
        return len(self._json)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialObject) and self._json == other._json

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        fields = [f"{name}={getattr(self, name)!r}" for name in self]
        return f"Partial{self._kind.__name__}({', '.join(fields)})"


class PartialList(Sequence[Any]):
    """A list of objects of which some have come; the last may be a part. It grows."""

    __slots__ = ("_items", "_view")

    def __init__(self, items: Sequence[JsonValue], view: PartialView) -> None:
        self._items = items
        self._view = view

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> "PartialList": ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return PartialList(self._items[at], self._view)
        return self._view(self._items[at])

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialList) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return repr(list(self))


def _as_it_is(value: JsonValue) -> Any:
    return value


def partial_view(kind: Any) -> PartialView:
    """Returns how a value of a type is shown while it is written."""
    origin = get_origin(kind)
    inner = get_args(kind)
    if origin is Annotated:
        return partial_view(inner[0])
    if origin in (Union, UnionType):
        # Only a choice between an object and values that are no objects can be told early.
        shown = [each for each in inner if partial_view(each) is not _as_it_is]
        return partial_view(shown[0]) if len(shown) == 1 else _as_it_is
    if inner and isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset):
        return _view_of_list(partial_view(inner[0]))
    if not isinstance(kind, type) or not _has_fields(kind):
        return _as_it_is
    return _view_of_object(kind)


def _view_of_list(view: PartialView) -> PartialView:
    if view is _as_it_is:
        return view

    def show(value: JsonValue) -> Any:
        return PartialList(value, view) if isinstance(value, list) else value

    return show


def _view_of_object(kind: type) -> PartialView:
    def show(value: JsonValue) -> Any:
        # The fields are looked up when an object is there, so that a class may refer to itself.
        return PartialObject(value, kind, _members_of(kind)) if isinstance(value, dict) else value

    return show


def _has_fields(kind: type) -> bool:
    return hasattr(kind, "model_fields") or is_dataclass(kind) or issubclass(kind, Struct)


@cache
def _members_of(kind: type) -> Mapping[str, OutputMember]:
    if issubclass(kind, Struct):
        fields = msgspec.structs.fields(kind)
        return {each.name: OutputMember(each.encode_name, partial_view(each.type)) for each in fields}
    declared: Mapping[str, Any] = getattr(kind, "model_fields", {})
    if declared:
        members = {}
        for name, field in declared.items():
            members[name] = OutputMember(_alias(field) or name, partial_view(field.annotation))
        return members
    hints = get_type_hints(kind)
    return {name: OutputMember(name, partial_view(hints[name])) for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _alias(field: Any) -> str:
    """Returns the name under which pydantic reads a field, if it is another."""
    alias = field.validation_alias or field.alias
    return alias if isinstance(alias, str) else ""
