import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, ForwardRef, Literal

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
    "no JSON": (Literal[Opaque], "Unable to serialize unknown type: <class 'type'>"),
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
def two_contexts(context: rc.Context, again: rc.Context): ...
def unpacked(**options: typing_extensions.Unpack[Options]): ...


NO_ANNOTATION = "it has no annotation."
BY_NAME = "a model passes arguments by name, so *args cannot be filled."
NOT_FOUND = "the annotation {} names something that cannot be found."
NO_TYPE = "the annotation {} is not a type."
A_TYPE = (
    "Write value: <type>, as str, int, list[str] or typing.Any; words about it go into the docstring, "
    'or into Annotated[str, Field(description="…")].'
)
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
    "unknown name in a list": (
        taking(list[ForwardRef("Nowhere")]),
        "value",
        NOT_FOUND.format("list[ForwardRef('Nowhere')]"),
        IMPORT,
    ),
    "not Python": (taking("1 +"), "value", NO_TYPE.format("'1 +'"), A_TYPE),
    "words": (taking("name of a city"), "value", NO_TYPE.format("'name of a city'"), A_TYPE),
    "number": (taking(5), "value", NO_TYPE.format("5"), A_TYPE),
    "list": (taking([int]), "value", NO_TYPE.format("[<class 'int'>]"), A_TYPE),
    "dict": (taking({"x": int}), "value", NO_TYPE.format("{'x': <class 'int'>}"), A_TYPE),
    "any": (taking(any), "value", NO_TYPE.format("<built-in function any>"), A_TYPE),
    "two contexts": (
        two_contexts,
        "again",
        "it is a second rc.Context, and a call has one.",
        "Leave one out.",
    ),
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
    "number": (
        5,
        "int",
        None,
        NO_KIND,
        "Give the function itself, not what it returned: get_weather, without parentheses.",
    ),
}


@pytest.mark.parametrize(("target", "tool", "where", "reason", "fix"), NO_TOOLS.values(), ids=NO_TOOLS)
def test_what_cannot_be_a_tool_is_refused(target, tool, where, reason, fix):
    assert refused(target) == (tool, where, reason, fix)


def well(city: str) -> str:
    """Well."""
    return city


WRONG_OPTIONS = {
    "a function as its name": (
        lambda: rc.Tool(well),
        (
            "tool 'well': rc.Tool takes a name, a description and a schema. A function becomes a tool "
            "by rc.tool(function)."
        ),
    ),
    "a number as its name": (
        lambda: rc.Tool(5, "Five."),
        "tool '5', name: it is text, not an integer.",
    ),
    "no description": (
        lambda: rc.tool(well, description=None),
        "tool 'well', description: it is text, not null.",
    ),
    "one example": (
        lambda: rc.tool(well, examples={"city": "Rome"}),
        "tool 'well', examples: examples are a list of objects. Write examples=[{…}].",
    ),
    "a definition without a name": (
        lambda: rc.Toolbox({"type": "function", "function": {"description": "Well."}}),
        (
            "tool 'definition', name: a definition has a name, and this has members description. "
            'Write {"name": …, "description": …, "input_schema": {…}}.'
        ),
    ),
}


@pytest.mark.parametrize(("declare", "words"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS)
def test_what_is_said_of_a_tool_in_a_wrong_way_is_refused_in_words_that_help(declare, words):
    with pytest.raises(DeclarationError) as caught:
        declare()
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "get_weather",
            "Give the function itself, not its name; another name is @rc.tool(name='get_weather').",
        ),
        ("Get it.", "Words about a tool are its docstring, or @rc.tool(description='Get it.')."),
        ("https://mcp.example/mcp", "The tools of an MCP server come from rc.mcp.connect(…)."),
    ],
)
def test_a_text_among_tools_is_refused_by_what_it_looks_like(text, words):
    with pytest.raises(DeclarationError) as caught:
        rc.Toolbox([text])
    found = f"tool {text!r}: str is not a function, a callable or a pydantic model. {words}"
    assert str(caught.value) == found


def test_a_text_in_place_of_tools_is_taken_for_instructions():
    with pytest.raises(rc.errors.UsageError) as caught:
        rc.Agent("ollama:qwen3", "You are helpful. " * 20)
    shown = repr(("You are helpful. " * 20)[:60] + "…")
    assert str(caught.value) == (
        f"rc.Agent: tools are functions and tools, and not the text {shown}; what the model is told is "
        f"instructions={shown}"
    )


class Opaque:
    pass


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("str", "output: 'str' is a text, and not a type. It takes a type"),
        (5, "output: 5 is not a type. It takes a type"),
        ([str], "output: [<class 'str'>] is not a type. It takes a type"),
        (Opaque, f"output: {Opaque!r} cannot be described to a model"),
    ],
)
def test_an_output_that_cannot_be_described_is_not_blamed_on_a_tool(output, words):
    with pytest.raises(DeclarationError) as caught:
        rc.Agent("ollama:qwen3", output=output)
    assert str(caught.value).startswith(words)
    assert "final_answer" not in str(caught.value)
    assert "rc.Context" not in str(caught.value)
