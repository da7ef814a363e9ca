"""The tools that are there when nobody says which."""

import rightcall as rc


def test_they_are_arithmetic_and_the_time_and_need_no_gate():
    box = rc.Toolbox(rc.builtin.default_tools())
    assert box.names() == ("calculate", "datetime")
    assert all(not tool.approval and tool.facts.reach == "nothing" for tool in box)
