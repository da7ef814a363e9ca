"""A server's tool names into names that every vendor takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.mcp.client.remote_tool import fit, fit_all

FITTED = {
    "get_weather": "get_weather",
    "get-weather": "get-weather",
    "admin.tools/list": "admin_tools_list",
    "3d": "_3d",
    "-x": "_-x",
    "": "_",
    "größe": "gr_e",
    "x" * 64: "x" * 64,
    "x" * 65: "x" * 55 + "_9537c5fd",
}


@pytest.mark.parametrize("name", FITTED)
def test_a_name_becomes_one_that_every_vendor_takes(name):
    assert fit(name) == FITTED[name]


def test_names_that_would_be_the_same_are_told_apart_whatever_their_order():
    names = ["a.b", "a_b", "a/b"]
    fitted = fit_all(names)
    assert fitted["a_b"] == "a_b"
    assert len(set(fitted.values())) == 3
    assert fit_all(names[::-1]) == fitted


@given(st.lists(st.text(max_size=100), unique=True, max_size=20))
def test_any_names_become_valid_and_different_ones(names):
    fitted = fit_all(names)
    assert [fit(each) for each in fitted.values()] == list(fitted.values())
    assert len(set(fitted.values())) == len(names)
