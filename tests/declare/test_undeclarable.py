import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, RootModel

import rightcall as rc
from rightcall.errors import DeclarationError


class Options(typing_extensions.TypedDict):
    limit: int


class Opaque:
    pass


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    inside: Opaque


def taking(annotation: Any) -> Callable[..., None]:
    def example(value): ...

    example.__annotations__["value"] = annotation
    return example


INJECT = "Use a type that pydantic knows, or annotate it rc.Context to inject it."
LATE = "is checked only while it is read, which is after the gate; use list[…]"
UNKNOWN = "Unable to generate pydantic-core schema for"
UNDESCRIBABLE: dict[str, tuple[Any, str]] = {
    "range": (range, f"{UNKNOWN} <class 'range'>"),
    "inside": (list[range], f"{UNKNOWN} <class 'range'>"),
    "in a union": (int | range, f"{UNKNOWN} <class 'range'>"),
    "class": (Opaque, f"{UNKNOWN} {Opaque!r}"),
    "Iterator": (Iterator[int], f"{UNKNOWN} collections.abc.Iterator[int]"),
    "AsyncIterator": (AsyncIterator[int], f"{UNKNOWN} collections.abc.AsyncIterator[int]"),
    "Iterable": (Iterable[int], f"an iterator {LATE}"),
    "Iterable in a union": (int | Iterable[int], f"an iterator {LATE}"),
    "Callable": (Callable[[int], int], "Cannot generate a JsonSchema for core_schema.CallableSchema"),
    "Callable in a union": (
        int | Callable[..., int],
        "Cannot generate a JsonSchema for core_schema.CallableSchema",
    ),
    "type": (type[int], "Cannot generate a JsonSchema for a class"),
    "in a model": (
        Holder,
        f"Cannot generate a JsonSchema for core_schema.IsInstanceSchema ({Opaque!r})",
    ),
    "number": (5, f"{UNKNOWN} 5"),
}


def refused(target: Any) -> tuple[str, str | None, str, str]:
    with pytest.raises(DeclarationError) as caught:
        rc.tool(target)
    return caught.value.tool, caught.value.where, caught.value.reason, caught.value.fix


@pytest.mark.parametrize(("annotation", "reason"), UNDESCRIBABLE.values(), ids=UNDESCRIBABLE)
def test_a_type_that_cannot_be_described_is_refused(annotation, reason):
    assert refused(taking(annotation)) == (
        "example",
        "parameter 'value'",
        f"{annotation!r} cannot be described to a model: {reason}.",
        INJECT,
    )


def test_the_parameter_at_fault_is_the_one_that_is_named():
    def example(a: int, b: range, c: str): ...

    assert refused(example)[:2] == ("example", "parameter 'b'")


def several(*values: int): ...
def unannotated(value=3): ...
def unannotated_rest(a: int, **rest): ...
def unpacked(**options: typing_extensions.Unpack[Options]): ...


NO_ANNOTATION = "it has no annotation."
BY_NAME = "a model passes arguments by name, so *args cannot be filled."
NOT_FOUND = "the annotation {} names something that cannot be found."
IMPORT = "Import or define it before the tool, not under TYPE_CHECKING."
REFUSED = {
    "*args": (several, "values", BY_NAME, "Take a list: values: list[…]."),
    "no annotation": (unannotated, "value", NO_ANNOTATION, "Write value: <type>."),
    "**kwargs without": (unannotated_rest, "rest", NO_ANNOTATION, "Write rest: <type>."),
    "lambda": (lambda value: value, "value", NO_ANNOTATION, "Write value: <type>."),
    "unknown name": (taking("Nowhere"), "value", NOT_FOUND.format("'Nowhere'"), IMPORT),
    "unknown name inside": (
        taking("list[Nowhere]"),
        "value",
        NOT_FOUND.format("'list[Nowhere]'"),
        IMPORT,
    ),
    "unknown dependency": (
        taking("rc.Context[Nowhere]"),
        "value",
        NOT_FOUND.format("'rc.Context[Nowhere]'"),
        IMPORT,
    ),
    "not Python": (taking("1 +"), "value", NOT_FOUND.format("'1 +'"), IMPORT),
}


@pytest.mark.parametrize(("target", "parameter", "reason", "fix"), REFUSED.values(), ids=REFUSED)
def test_a_parameter_that_cannot_be_described_is_refused(target, parameter, reason, fix):
    assert refused(target) == (target.__name__, f"parameter '{parameter}'", reason, fix)


def test_an_unpacked_typed_dict_is_refused_rather_than_misdescribed():
    tool, where, reason, _ = refused(unpacked)
    assert (tool, where) == ("unpacked", "parameter 'options'")
    assert reason.endswith("pydantic does not describe an unpacked TypedDict; write the parameters out.")


@pytest.mark.parametrize(
    ("model", "reason", "fix"),
    [
        (RootModel[int], "the model is not an object.", "Give it fields."),
        (
            Holder,
            f"the model has no JSON Schema: {UNDESCRIBABLE['in a model'][1]}.",
            "",
        ),
    ],
    ids=["root model", "opaque field"],
)
def test_a_model_that_cannot_be_described_is_refused(model, reason, fix):
    assert refused(model) == (model.__name__, None, reason, fix)


def generator(left: int):
    yield left


async def async_generator(left: int):
    yield left


class Generator:
    def __call__(self, left: int):
        yield left


NO_KIND = "int is not a function, a callable or a pydantic model."
NAME = "the name must be 1 to 64 letters, digits, _ or -, and not begin with a digit or -."
SIGNATURE = "Wrap it in a function with annotated parameters, or use rc.Tool with a schema."
GENERATOR = "it is a generator, and a tool returns one value."
RETURN = "Return a list."
NO_TOOLS = {
    "generator": (generator, "generator", None, GENERATOR, RETURN),
    "async generator": (async_generator, "async_generator", None, GENERATOR, RETURN),
    "generator behind a partial": (functools.partial(generator), "generator", None, GENERATOR, RETURN),
    "callable generator": (Generator(), "Generator", None, GENERATOR, RETURN),
    "lambda": (lambda: 1, "<lambda>", "name", NAME, 'Give it another with name="…".'),
    "builtin": (dict, "dict", None, "Python cannot tell its signature.", SIGNATURE),
    "number": (5, "int", None, NO_KIND, ""),
}


@pytest.mark.parametrize(("target", "tool", "where", "reason", "fix"), NO_TOOLS.values(), ids=NO_TOOLS)
def test_what_cannot_be_a_tool_is_refused(target, tool, where, reason, fix):
    assert refused(target) == (tool, where, reason, fix)
