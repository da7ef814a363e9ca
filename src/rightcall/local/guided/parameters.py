"""A tool's parameters, each with its kind, its words and its role, as far as its text shows them.

A role is the kind of value that is expected: a place, a person, a day, a text. It is found by the words
of the name, or of the description if the name says nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.core.jsontext import JsonObject, JsonValue
from rightcall.core.references import local_target
from rightcall.core.tool import Spec
from rightcall.declare.search_words import terms
from rightcall.local.guided.wordlist import listed

Type: TypeAlias = Literal["string", "integer", "number", "boolean", "array", "object", "enum"]
_TYPES: Mapping[str, Type] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "array",
    "object": "object",
}
_DEPTH = 4
_OF_SORTS = frozenset(
    listed("type kind size color colour style category mode unit format level genre sort")
)
"""Endings of names that only mean that there are several."""

ROLES: Mapping[str, str] = {
    "email": "email mail",
    "host": "host hostname server domain ip machine",
    "url": "url link website uri webpage site",
    "path": "path file filename directory folder",
    "date": "date day weekday month deadline due birthday when checkin checkout",
    "time": "time hour clock",
    "from": "from origin source start departure sender base begin",
    "to": "to destination target end arrival",
    "language": "language lang",
    "id": "id code number sku isbn zip zipcode postcode phone identifier key serial docket plate "
    "reference version digit",
    "person": "recipient contact person user username employee customer patient player author artist "
    "guest attendee attendees assignee owner director actor composer singer student teacher sender "
    "receiver who applicant borrower buyer candidate client coach colleague doctor driver friend member "
    "neighbour neighbor nurse passenger pupil resident seller supplier tenant vendor vet visitor worker",
    "place": "city location place town country region address state area venue station airport capital "
    "where province continent room",
    "text": "message text body content note comment task reminder memo description details reason "
    "instruction sentence review post caption",
    "title": "title name label subject movie song book film album track recipe product item game brand "
    "company team",
    "topic": "query topic keyword term search question phrase word theme",
    "sum": "expression formula equation calculation",
}
_ROLE_OF = {word: role for role, words in ROLES.items() for word in words.split()}


class Parameter(Struct, frozen=True):
    """One parameter of a tool."""

    name: str
    schema: JsonObject
    type: Type
    is_required: bool
    words: tuple[str, ...]
    """The stems of its name."""
    hints: frozenset[str]
    """The stems of its description."""
    role: str = ""
    items: "Parameter | None" = None

    @property
    def values(self) -> tuple[JsonValue, ...]:
        """Its fixed values, if it has any."""
        listed = self.schema.get("enum")
        return tuple(listed) if isinstance(listed, list) else (self.schema.get("const"),)


def parameters_of(spec: Spec) -> tuple[Parameter, ...]:
    """The tool's parameters, in order."""
    return tuple(members(spec.parameters, spec.parameters))


def members(schema: JsonObject, root: JsonObject) -> Iterator[Parameter]:
    """The members of an object's schema."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping):
        return
    needed = required if isinstance(required, list) else []
    for name, about in properties.items():
        if isinstance(about, Mapping):
            yield _parameter(name, about, root, is_required=name in needed)


def _parameter(
    name: str, about: JsonObject, root: JsonObject, *, is_required: bool, depth: int = _DEPTH
) -> Parameter:
    schema = _meant(about, root, _DEPTH)
    described = " ".join(
        text for text in (about.get("description"), schema.get("description")) if isinstance(text, str)
    )
    kind = _type(schema)
    items = None
    if kind == "array" and isinstance(inner := schema.get("items"), Mapping) and depth:
        items = _parameter(name, inner, root, is_required=is_required, depth=depth - 1)
    words = tuple(terms(name, empty=True))
    return Parameter(
        name=name,
        schema=schema,
        type=kind,
        is_required=is_required,
        words=words,
        hints=frozenset(terms(described)),
        role=_role(name, described, schema),
        items=items,
    )


def _meant(about: JsonObject, root: JsonObject, depth: int) -> JsonObject:
    """The schema behind a reference, and the non-null one of some alternatives."""
    target = local_target(root, about.get("$ref"))
    if isinstance(target, Mapping) and depth:
        return _meant(target, root, depth - 1)
    for key in ("anyOf", "oneOf"):
        listed = about.get(key)
        if isinstance(listed, list) and depth:
            real = [each for each in listed if isinstance(each, Mapping) and each.get("type") != "null"]
            if real:
                return _meant(real[0], root, depth - 1)
    return about


def _type(schema: JsonObject) -> Type:
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return "enum"
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "string")
    return _TYPES.get(str(kind), "object" if "properties" in schema else "string")


def _role(name: str, described: str, schema: JsonObject) -> str:
    form = {"date": "date", "email": "email", "uri": "url", "time": "time"}.get(
        str(schema.get("format"))
    )
    if form is not None:
        return form
    words = _plain_words(name)
    if words and words[-1] in _OF_SORTS:
        return ""
    # The last word of a name is its kind: file_name, user_id. The first words say whose.
    for word in (*[word for word in words if word in {"from", "to"}], *reversed(words)):
        if word in _ROLE_OF:
            return _ROLE_OF[word]
    for word in _plain_words(described):
        if word in _ROLE_OF and word not in {"to", "from", "number", "name", "user", "where", "when"}:
            return _ROLE_OF[word]
    return ""


def _plain_words(text: str) -> list[str]:
    spaced = "".join(f" {each.lower()}" if each.isupper() else each for each in text)
    return [
        word.removesuffix("s") if word.removesuffix("s") in _ROLE_OF else word
        for word in "".join(each if each.isalpha() else " " for each in spaced).split()
    ]
