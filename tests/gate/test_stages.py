"""Which calls run together, as a pure function of the calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rightcall as rc
from rightcall.core.outcome import Invalid
from rightcall.gate.executor import stages

TOGETHER = rc.Tool("together", "")
ALONE = rc.Tool("alone", "", serial=True)


def entry(letter: str) -> object:
    """``.`` a free call, ``S`` a serial one, ``x`` one that did not pass the gate."""
    if letter == "x":
        return Invalid(())
    tool = ALONE if letter == "S" else TOGETHER
    checked = rc.gate.check(rc.Call(id=letter, name=tool.name), tool)
    assert isinstance(checked, rc.gate.CheckedCall)
    return checked


def positions(letters: str) -> list[list[int]]:
    return [[position for position, _ in stage] for stage in stages([entry(each) for each in letters])]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("", []),
        ("x", []),
        (".", [[0]]),
        ("...", [[0, 1, 2]]),
        ("S", [[0]]),
        ("SS", [[0], [1]]),
        (".S.", [[0], [1], [2]]),
        ("..S..", [[0, 1], [2], [3, 4]]),
        (".xS", [[0], [2]]),
        ("xSx.x.", [[1], [3, 5]]),
        ("S..S", [[0], [1, 2], [3]]),
    ],
)
def test_serial_calls_stand_alone_and_the_rest_between_them_run_together(letters, expected):
    assert positions(letters) == expected


@given(st.text(alphabet=".Sx"))
def test_every_call_that_passed_is_in_one_stage_and_order_is_kept(letters):
    planned = [position for stage in positions(letters) for position in stage]
    assert planned == [position for position, letter in enumerate(letters) if letter != "x"]
    for stage in positions(letters):
        assert len(stage) == 1 or "S" not in {letters[position] for position in stage}


def test_each_call_stands_in_its_stage_with_its_position():
    calls = [entry("."), entry("x"), entry("S")]
    assert stages(calls) == [[(0, calls[0])], [(2, calls[2])]]
