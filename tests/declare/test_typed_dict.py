"""A ``typing.TypedDict`` has its fields on every Python: as a parameter, a return type and an output."""

from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest
import typing_extensions
from pydantic import Field

import rightcall as rc
from rightcall.declare.returns import ReturnMisfit, returns_of
from rightcall.plan import check as check_plan
from rightcall.testing import ScriptedModel, call, reply


class Knot(TypedDict):
    """A knot."""

    name: Annotated[str, Field(description="As sailors call it.")]
    strength: NotRequired[int]


class Rope(TypedDict, total=False):
    """A rope."""

    knots: list[Knot]
    spare: Knot | None


def ropes() -> dict[str, Rope | None]:
    return {"main": {"knots": [{"name": "bowline"}]}, "old": None}


def knots() -> list[Knot]:
    return [{"name": "bowline", "strength": 3}]


def test_fields_descriptions_and_what_may_lack_are_read():
    returns = returns_of(rc.tool(ropes))
    assert returns is not None
    knot, rope = (returns.schema["$defs"][name] for name in ("Knot", "Rope"))
    assert knot["properties"]["name"] == {"type": "string", "description": "As sailors call it."}
    assert (knot["required"], knot["description"]) == (["name"], "A knot.")
    assert "required" not in rope
    assert returns.encode(ropes()) == ropes()


@pytest.mark.parametrize(
    ("value", "is_fit"), [([{"name": "reef"}], True), ([{"strength": 1}], False), ([{"name": 1}], False)]
)
def test_a_value_is_held_to_them(value: Any, is_fit: bool) -> None:
    returns = returns_of(rc.tool(knots))
    assert returns is not None
    if is_fit:
        assert returns.encode(value) == {"result": value}
    else:
        with pytest.raises(ReturnMisfit):
            returns.encode(value)


def test_a_planner_sees_them():
    shown = check_plan("answer([each.nam for each in knots()])", [rc.tool(knots)])
    assert "nam" in shown.problems[0].reason


class Loop(Rope):
    """A rope that is tied to itself."""

    turns: int


class Net(TypedDict, total=False):
    ropes: Required["list[Rope]"]
    inside: "NotRequired[Net]"


class TheSameKnot(typing_extensions.TypedDict):
    """A knot."""

    name: Annotated[str, Field(description="As sailors call it.")]
    strength: NotRequired[int]


TAKEN = {
    "alone": (Knot, {"name": "reef"}, {"strength": 1}),
    "with what may lack": (Rope, {}, {"knots": [{}]}),
    "inherited": (Loop, {"turns": 2}, {"knots": []}),
    "in itself": (Net, {"ropes": [], "inside": {"ropes": [{}]}}, {"ropes": [], "inside": {}}),
    "in a list": (list[Knot], [{"name": "reef"}], [{"name": 1}]),
    "or None": (Knot | None, None, "reef"),
    "in a dict": (dict[str, Knot], {"a": {"name": "reef"}}, {"a": {}}),
    "annotated": (Annotated[Knot, Field(description="Which.")], {"name": "reef"}, {}),
}


@pytest.mark.parametrize(("kind", "good", "bad"), TAKEN.values(), ids=TAKEN)
async def test_a_parameter_and_an_output_are_held_to_them(kind: Any, good: Any, bad: Any) -> None:
    seen = []

    def tie(what: Any) -> None:
        """Tie."""
        seen.append(what)

    tie.__annotations__["what"] = kind
    calls = [call("tie", what=value) for value in (good, bad)]
    model = ScriptedModel([reply(*calls), "Tied."])
    result = await rc.Agent(model, [tie]).run("Tie it.")
    assert [each.outcome for each in result.calls] == ["returned", "invalid"]
    assert seen == [good]

    model = ScriptedModel([reply(call("final_answer", answer=value)) for value in (bad, good)])
    assert (await rc.Agent(model, output=kind).run("Which?")).output == good


def test_they_are_described_as_pydantics_own_are() -> None:
    def described(kind: Any) -> Any:
        def tie(what: Any) -> None: ...

        tie.__annotations__["what"] = kind
        (definition,) = rc.tool(tie).parameters["$defs"].values()
        return definition

    assert described(Knot) == described(TheSameKnot)
    assert described(Knot)["required"] == ["name"]
