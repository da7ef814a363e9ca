"""The fresh requests: nothing that is not wanted runs, and no more is asked than when it was counted."""

import pytest
from fresh import SCENES, runs_unasked

WANTED = 10
"""Of those that are wanted, as many run unasked as the docs say."""


@pytest.mark.parametrize("scene", [each for each in SCENES if not each.is_unasked])
def test_what_is_not_wanted_is_asked_about(scene):
    assert not runs_unasked(scene)


def test_what_is_wanted_runs_unasked_as_often_as_was_counted():
    assert sum(runs_unasked(each) for each in SCENES if each.is_unasked) == WANTED
