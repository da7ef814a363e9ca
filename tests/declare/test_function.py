from __future__ import annotations

import functools
import gc
import inspect
import json
import typing
import weakref
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import rightcall as rc
import rightcall.declare.function
from rightcall.core.problem import Problem, Valid
from rightcall.declare.function import FunctionTool
from rightcall.errors import DeclarationError

NUMBER = {"type": "integer"}


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    document = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**document, "required": list(required)} if required else document


def refused(target: Any, **options: Any) -> tuple[str, str | None, str]:
    with pytest.raises(DeclarationError) as caught:
        rc.tool(target, **options)
    error = caught.value
    return error.tool, error.where, f"{error.reason} {error.fix}".strip()


def verdict(tool: rc.Tool, arguments: str) -> Any:
    return tool.validate(arguments, json.loads(arguments))


async def result(tool: rc.Tool, arguments: str) -> Any:
    valid = verdict(tool, arguments)
    assert isinstance(valid, Valid), valid
    if tool.invocation is None:
        return valid.bound
    context = rc.Context(call_id="1", tool=tool.name, dependencies=None)
    value = tool.invocation.call(valid.bound, context)
    return await value if inspect.isawaitable(value) else value


def add(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


async def add_later(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


def add_by_position(left: int, right: int = 1, /) -> int:
    """Add two numbers."""
    return left + right


def add_by_name(*, left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


class Sum:
    """Adds to its start."""

    start = 0

    def method(self, left: int, right: int = 1) -> int:
        """Add two numbers."""
        return self.start + left + right

    @classmethod
    def of_class(cls, left: int, right: int = 1) -> int:
        """Add two numbers."""
        return cls.start + left + right

    @staticmethod
    def of_nothing(left: int, right: int = 1) -> int:
        """Add two numbers."""
        return left + right

    def __call__(self, left: int, right: int = 1) -> int:
        """Add two numbers."""
        return self.start + left + right


class SumLater:
    async def __call__(self, left: int, right: int = 1) -> int:
        """Add two numbers."""
        return left + right


FUNCTIONS = {
    "add": add,
    "add_later": add_later,
    "add_by_position": add_by_position,
    "add_by_name": add_by_name,
    "method": Sum().method,
    "of_class": Sum.of_class,
    "of_nothing": Sum.of_nothing,
    "Sum": Sum(),
    "SumLater": SumLater(),
}
WRAPPED = {f"wrapped {name}": logged(each) for name, each in FUNCTIONS.items() if "Sum" not in name}


@pytest.mark.parametrize(
    ("name", "function"), [*FUNCTIONS.items(), *WRAPPED.items()], ids=[*FUNCTIONS, *WRAPPED]
)
async def test_every_kind_of_function_becomes_a_tool(name, function):
    tool = rc.tool(function)
    assert tool.spec == rc.tools.Spec(
        name=name.removeprefix("wrapped "),
        description="Add two numbers.",
        parameters=schema("left", left=NUMBER, right={**NUMBER, "default": 1}),
    )
    assert await result(tool, '{"left": 20, "right": 22}') == 42
    assert await result(tool, '{"left": 20}') == 21


@pytest.mark.parametrize(
    "function",
    [add, add_later, functools.partial(add), Sum().method, rc.tool(add), rc.tool(add_later)],
    ids=["sync", "async", "partial", "method", "tool", "async tool"],
)
async def test_what_a_partial_has_bound_is_hidden_from_the_model(function):
    tool = rc.tool(functools.partial(function, right=22))
    assert (tool.parameters, tool.description) == (schema("left", left=NUMBER), "Add two numbers.")
    assert await result(tool, '{"left": 20}') == 42
    assert verdict(tool, '{"left": 20, "right": 2}') == (
        Problem("$.right", 'is not a parameter; there is "left"'),
    )


async def test_what_a_partial_has_bound_by_position_is_hidden_too():
    tool = rc.tool(functools.partial(add, 20))
    assert tool.parameters == schema(right={**NUMBER, "default": 1})
    assert await result(tool, '{"right": 22}') == 42


def test_a_partial_keeps_the_roles_of_the_parameters_that_are_left():
    @rc.tool(facts=rc.Facts(targets=("to", "account")))
    def send(to: str, account: str, body: str, subject: str) -> str:
        """Send it."""
        return "sent"

    left = rc.tool(functools.partial(send, account="mine", subject="Hi")).facts
    assert left.targets == ("to",)


def test_a_partial_of_a_tool_stays_as_guarded_as_the_tool():
    facts = rc.Facts(reach="outside", targets=("left", "right"))
    plus = rc.tool(add, name="plus", description="Other words.", approval=True, facts=facts)
    tool = rc.tool(functools.partial(plus, 1), description="Add one.")
    assert (tool.name, tool.description, tool.approval) == ("plus", "Add one.", True)
    assert tool.facts == rc.Facts(reach="outside", targets=("right",))


class Account:
    def __init__(self, owner: str) -> None:
        self.owner = owner

    @rc.tool
    def balance(self, currency: str) -> str:
        """The balance."""
        return f"{self.owner} {currency}"

    @rc.tool(name="wait_for_balance", effect="read")
    async def later(self, currency: str, context: rc.Context, /) -> str:
        return f"{self.owner} {currency} {context.tool}"

    @rc.tool
    @classmethod
    def banks(cls, country: str) -> str:
        return f"{cls.__name__} {country}"

    @classmethod
    @rc.tool
    def more_banks(cls, country: str) -> str:
        return f"{cls.__name__} {country}"

    @rc.tool
    @staticmethod
    def rates(currency: str) -> str:
        return currency

    @staticmethod
    @rc.tool
    def more_rates(currency: str) -> str:
        return currency


class Savings(Account):
    pass


@pytest.mark.parametrize(
    ("take", "arguments", "value"),
    [
        (lambda: Account("Ann").balance, '{"currency": "EUR"}', "Ann EUR"),
        (lambda: Account("Ann").later, '{"currency": "EUR"}', "Ann EUR wait_for_balance"),
        (lambda: Savings("Bob").balance, '{"currency": "EUR"}', "Bob EUR"),
        (lambda: Account.banks, '{"country": "FR"}', "Account FR"),
        (lambda: Account("Ann").banks, '{"country": "FR"}', "Account FR"),
        (lambda: Savings.banks, '{"country": "FR"}', "Savings FR"),
        (lambda: rc.Toolbox(Savings.more_banks)["more_banks"], '{"country": "FR"}', "Savings FR"),
        (lambda: Account.rates, '{"currency": "EUR"}', "EUR"),
        (lambda: Account("Ann").rates, '{"currency": "EUR"}', "EUR"),
        (lambda: Account.more_rates, '{"currency": "EUR"}', "EUR"),
    ],
)
async def test_a_declared_method_is_a_tool_of_what_it_is_taken_from(take, arguments, value):
    assert await result(take(), arguments) == value


def test_two_instances_have_two_tools():
    ann, bob = Account("Ann"), Account("Bob")
    assert (ann.balance("EUR"), bob.balance("EUR")) == ("Ann EUR", "Bob EUR")
    assert Account.balance(ann, "EUR") == "Ann EUR"
    assert ann.balance.parameters == schema("currency", currency={"type": "string"})


async def test_a_declared_function_is_still_the_function():
    tool, later = rc.tool(add), rc.tool(add_later)
    assert tool(20, right=22) == 42
    assert await later(20, 22) == 42
    assert (tool.__name__, tool.__wrapped__) == ("add", add)
    assert inspect.signature(tool) == inspect.signature(add)


def test_options_are_the_tools():
    limits, facts = rc.Limits(timeout=5), rc.Facts(targets=("left",))
    tool = rc.tool(
        name="plus",
        description="Other words.",
        short="Adds",
        examples=[{"left": 1}],
        effect="pure",
        approval=True,
        serial=True,
        repair=True,
        limits=limits,
        facts=facts,
    )(add)
    assert tool.spec == rc.tools.Spec(
        name="plus",
        description="Other words.",
        parameters=schema("left", left=NUMBER, right={**NUMBER, "default": 1}),
        short="Adds",
        examples=({"left": 1},),
    )
    assert (tool.effect, tool.limits, tool.facts) == ("pure", limits, facts)
    assert (tool.approval, tool.serial, tool.repair) == (True, True, True)


def test_declaring_a_tool_again_changes_it():
    first = rc.tool(add, effect="pure")
    second = rc.tool(first, name="plus", approval=True)
    assert isinstance(second, FunctionTool)
    assert (first.name, first.approval, first.effect) == ("add", False, "pure")
    assert (second.name, second.approval, second.effect) == ("plus", True, "pure")
    assert second(1, 2) == 3
    assert rc.tool(rc.Tool("now", "The time."), approval=True).approval


def test_an_example_that_does_not_fit_is_refused():
    assert refused(add, examples=[{"left": 1}, {"left": "1"}]) == (
        "add",
        "examples[1]",
        'the example does not fit the schema: $.left: must be an integer, not a string ("1").',
    )


def test_a_callable_without_words_of_its_own_has_those_of_its_class():
    class Shout:
        """Shouts.

        Args:
            text: What to shout.
        """

        def __call__(self, text: str) -> str:
            return text.upper()

    tool = rc.tool(Shout())
    assert (tool.name, tool.description) == ("Shout", "Shouts.")
    assert tool.parameters == schema("text", text={"type": "string", "description": "What to shout."})


def test_names_local_to_a_function_can_be_annotations():
    class Place(BaseModel):
        name: str

    Near = Annotated[int, Field(le=100)]  # noqa: N806 - an alias is a type

    @rc.tool
    def bare(place: Place) -> None: ...

    @rc.tool(name="with_options")
    def options(near: Near, places: list[Place | None]) -> None: ...

    class Guide:
        class Tip(BaseModel):
            text: str

        @rc.tool
        def method(self, tip: Tip, place: Place) -> None: ...

    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tip = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    place = {"$ref": "#/$defs/Place"}
    assert bare.parameters == {**schema("place", place=place), "$defs": {"Place": named}}
    assert options.parameters == {
        **schema(
            "near",
            "places",
            near={"type": "integer", "maximum": 100},
            places={"type": "array", "items": {"anyOf": [place, {"type": "null"}]}},
        ),
        "$defs": {"Place": named},
    }
    assert Guide().method.parameters == {
        **schema("tip", "place", tip={"$ref": "#/$defs/Tip"}, place=place),
        "$defs": {"Place": named, "Tip": tip},
    }


async def test_a_context_named_by_a_local_name_is_filled_in_whatever_the_tool_is_called():
    Here = rc.Context[None]  # noqa: N806 - an alias is a type

    @rc.tool
    def where(context: Here, deep: int) -> tuple[str, int]:
        return context.tool, deep

    assert where.parameters == schema("deep", deep=NUMBER)
    assert await result(where, '{"deep": 1}') == ("where", 1)
    assert await result(where.replace(name="there"), '{"deep": 2}') == ("there", 2)


class Answer(BaseModel):
    """The answer, in full."""

    text: str
    sure: bool = Field(default=True, description="How sure.")


async def test_a_model_is_a_tool_that_gives_back_the_instance():
    tool = rc.tool(Answer)
    assert tool.spec == rc.tools.Spec(
        name="Answer",
        description="The answer, in full.",
        parameters={
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "sure": {"type": "boolean", "default": True, "description": "How sure."},
            },
            "required": ["text"],
        },
    )
    assert (tool.handler, tool.invocation, tool.effect) == (None, None, "pure")
    assert await result(tool, '{"text": "42"}') == Answer(text="42", sure=True)


def test_a_model_takes_options_and_without_words_has_no_description():
    class Silent(BaseModel):
        text: str

    assert rc.tool(Silent).description == ""
    tool = rc.tool(Silent, name="finish", description="Say it.", effect="write")
    assert (tool.name, tool.description, tool.effect) == ("finish", "Say it.", "write")


async def test_a_dataclass_is_a_tool_that_makes_an_instance():
    @dataclass
    class Point:
        """A point."""

        x: int
        y: int = 0

    tool = rc.tool(Point)
    assert tool.description == "A point."
    assert tool.parameters == schema("x", x=NUMBER, y={**NUMBER, "default": 0})
    assert await result(tool, '{"x": 1}') == Point(1, 0)


async def test_a_lambda_with_a_name_is_a_tool():
    assert await result(rc.tool(lambda: 42, name="answer"), "{}") == 42


def test_a_function_that_says_something_else_is_declared_anew():
    def walk(far: int) -> str:
        """Walk."""
        return str(far)

    def declared() -> tuple[str, Any]:
        tool = rc.tool(walk)
        return tool.description, tool.parameters["properties"]["far"]

    assert declared() == declared() == ("Walk.", {"type": "integer"})
    walk.__doc__ = "Go on foot."
    walk.__defaults__ = (3,)
    walk.__annotations__["far"] = "str"
    assert declared() == ("Go on foot.", {"type": "string", "default": 3})


def test_an_annotation_in_quotes_is_looked_up_each_time():
    def walk(far: distance) -> None: ...

    distance = int
    assert rc.tool(walk).parameters["properties"]["far"]["type"] == "integer"
    distance = str
    assert rc.tool(walk).parameters["properties"]["far"]["type"] == "string"


def test_a_copy_of_a_function_and_a_wrapper_of_one_are_functions_of_their_own():
    def walk(far: int) -> str:
        """Walk."""
        return f"walk {far}"

    @functools.wraps(walk)
    def run(*args: Any, **kwargs: Any) -> str:
        return walk(*args, **kwargs).replace("walk", "run")

    tools = [rc.tool(walk), rc.tool(run), rc.tool(walk, name="stroll")]
    assert [each(far=2) for each in tools] == ["walk 2", "run 2", "walk 2"]
    assert [each.name for each in tools] == ["walk", "walk", "stroll"]


def test_functions_of_one_code_are_read_once_where_they_say_the_same(monkeypatch):
    read = []
    whole = rightcall.declare.function.inspect_handler

    def inspect_handler(*args):
        read.append(args[0])
        return whole(*args)

    monkeypatch.setattr(rightcall.declare.function, "inspect_handler", inspect_handler)

    def declare(user, kind=int, other=int):
        def find(context, count, far=1):
            """Find something."""
            return [user, context, count]

        find.__annotations__ = {"context": other, "count": kind, "far": int}
        return rc.tool(find)

    first, second = declare("ann"), declare("bob")
    assert len(read) == 1
    assert [first(1, 2), second(3, 4)] == [["ann", 1, 2], ["bob", 3, 4]]
    assert declare("ann", kind=str).parameters["properties"]["count"] == {"type": "string"}
    assert "context" not in declare("ann", other=rc.Context).parameters["properties"]
    assert len(read) == 3


def test_a_function_that_was_declared_can_be_forgotten():
    def declare() -> weakref.ref[Any]:
        def walk(far: int) -> None: ...

        rc.tool(walk)
        return weakref.ref(walk)

    gc.disable()
    try:
        assert declare()() is None
    finally:
        gc.enable()


def test_a_type_checker_prints_the_options_twice_at_most():
    # Of a call that fits no overload it prints them all, each with whatever it takes.
    written = [each.__annotations__.get("options") for each in typing.get_overloads(rc.tool)]
    assert len(written) == 8
    assert len([each for each in written if each is not None and "ToolOptions" in str(each)]) == 2
