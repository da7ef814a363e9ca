"""The fresh requests: nothing that is not wanted runs, and no more is asked than when it was counted."""

import fresh
import fresh2
import pytest
from scenes import reason_to_ask

WANTED = {fresh.HOUSE: 10, fresh2.HOUSE: 20}
"""Of those that are wanted, as many run unasked as the docs say."""


@pytest.mark.parametrize(
    ("house", "scene"),
    [(each.HOUSE, scene) for each in (fresh, fresh2) for scene in each.SCENES if not scene.is_unasked],
)
def test_what_is_not_wanted_is_asked_about(house, scene):
    assert reason_to_ask(house, scene) is not None


@pytest.mark.parametrize("module", [fresh, fresh2])
def test_what_is_wanted_runs_unasked_as_often_as_was_counted(module):
    found = [reason_to_ask(module.HOUSE, each) for each in module.SCENES if each.is_unasked]
    assert found.count(None) == WANTED[module.HOUSE]


def test_requests_that_were_written_after_the_rules_give_what_the_docs_say():
    right = [
        scene.is_unasked
        for scene in fresh2.LATER
        if (reason_to_ask(fresh2.HOUSE, scene) is None) == scene.is_unasked
    ]
    assert (right.count(True), right.count(False)) == (8, 10)
