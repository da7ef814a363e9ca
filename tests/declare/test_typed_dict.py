"""What a tool returns as a ``typing.TypedDict`` has its fields on every Python."""

from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import Field

import rightcall as rc
from rightcall.declare.returns import Misfit, returns_of


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
        with pytest.raises(Misfit):
            returns.encode(value)


def test_a_planner_sees_them():
    shown = rc.plan.check("answer([each.nam for each in knots()])", [rc.tool(knots)])
    assert "nam" in shown.problems[0].reason
