"""SDKs and frameworks beyond the task: several calls at once, structured answers, and errors."""

import os

import pytest

from clients.rows import SDKS, WAYS
from clients.scripts import WEATHER, WORDS, refused, structured

if "RIGHTCALL_CLIENTS" not in os.environ:
    # A thousand rows that would be skipped one by one are not collected.
    pytest.skip("other people's clients are driven by: make test WHAT=clients", allow_module_level=True)

TOKENS = 120
"""What the vendor counts for every request."""
STOPS = {"chat": "stop", "responses": "completed", "messages": "end_turn", "gemini": "STOP"}

pytestmark = [pytest.mark.parametrize("way", WAYS), pytest.mark.parametrize("row", SDKS, ids=str)]


def test_two_calls_of_one_reply_are_both_answered(row, way, attempt):
    tried = attempt(row, way, parallel=True)
    tried.assert_done()
    assert len(tried.vendor.exchanges) == 2, str(tried)
    if row.client in ("python-sdk", "node-sdk"):
        said = tried.done.said
        assert (said["stop"], said["tokens"]) == (STOPS[row.dialect], TOKENS), str(tried)


def test_an_answer_has_the_form_that_was_asked_for(row, way, attempt):
    tried = attempt(row, way, lambda _: structured, "What is the weather?", scenario="structured")
    assert tried.vendor.refused == [], str(tried)
    assert tried.done.status == 0, str(tried)
    assert tried.done.said["value"] == WEATHER, str(tried)


def test_a_refusal_comes_as_the_clients_own_error(row, way, attempt):
    if row.client == "langchain":
        pytest.skip("LangChain's models raise what the SDKs below them raise")
    tried = attempt(row, way, lambda _: refused, scenario="errors")
    errors = tried.done.said["errors"]
    assert [each.get("status") for each in errors] == [400, 429, 500], str(tried)
    assert all(WORDS in each["message"] for each in errors), str(tried)
