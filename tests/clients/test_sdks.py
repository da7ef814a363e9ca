"""SDKs and frameworks beyond the task: several calls at once, structured answers, and errors."""

import pytest

from clients.drive import drive
from clients.rows import DIALECTS, SDKS
from clients.scripts import WEATHER, WORDS, refused, structured
from clients.task import PROMPT, Task
from clients.upstream.server import dump

WAYS = ("direct", *DIALECTS)
TOKENS = 120
"""What the vendor counts for every request."""
STOPS = {"chat": "stop", "responses": "completed", "messages": "end_turn", "gemini": "STOP"}

pytestmark = [pytest.mark.parametrize("way", WAYS), pytest.mark.parametrize("row", SDKS, ids=str)]


def test_two_calls_of_one_reply_are_both_answered(row, way, seat, reach, vendor):
    here = seat(row, reach(way))
    task = Task(here.work, parallel=True)
    vendor.begin(task)
    done = drive(row, here, PROMPT)
    what = f"{done}\n{dump(vendor.exchanges)}"
    assert vendor.refused == [], what
    assert task.done(), what
    assert task.printed in done.said["text"], what
    assert len(vendor.exchanges) == 2, what
    if row.client in ("python-sdk", "node-sdk"):
        assert (done.said["stop"], done.said["tokens"]) == (STOPS[row.dialect], TOKENS), what


def test_an_answer_has_the_form_that_was_asked_for(row, way, seat, reach, vendor):
    here = seat(row, reach(way))
    vendor.begin(structured)
    done = drive(row, here, "What is the weather?", scenario="structured")
    what = f"{done}\n{dump(vendor.exchanges)}"
    assert vendor.refused == [], what
    assert done.status == 0, what
    assert done.said["value"] == WEATHER, what


def test_a_refusal_comes_as_the_clients_own_error(row, way, seat, reach, vendor):
    if row.client == "langchain":
        pytest.skip("LangChain's models raise what the SDKs below them raise")
    here = seat(row, reach(way))
    vendor.begin(refused)
    done = drive(row, here, "", scenario="errors")
    what = f"{done}\n{dump(vendor.exchanges)}"
    assert [each.get("status") for each in done.said["errors"]] == [400, 429, 500], what
    assert all(WORDS in each["message"] for each in done.said["errors"]), what
