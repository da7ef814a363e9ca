"""Where Python is embedded there is no program to start a child from, and the error says so."""

import sys
from datetime import UTC, datetime

import pytest

from rightcall.local.template import rendering
from rightcall.local.template.rendering import DEFAULT_BOUNDS, RenderError, render

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def no_children_yet(monkeypatch):
    fresh = type(rendering._CHILDREN)(rendering.__name__, work="renders chat templates")
    monkeypatch.setattr(rendering, "_CHILDREN", fresh)


@pytest.mark.parametrize("program", ["", "/bin/true", "/nowhere/python"])
def test_a_child_that_cannot_start_is_an_error_in_words(monkeypatch, no_children_yet, program):
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(RenderError, match=r"did not start from .*bounds=None"):
        render("hi", {}, NOON, DEFAULT_BOUNDS)
    assert render("hi", {}, NOON, None) == "hi"
