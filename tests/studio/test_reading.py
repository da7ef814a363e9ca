"""What is recorded, as the API tells it."""

import pytest

import rightcall as rc
from studio import stories
from studio.kit import serving


@pytest.fixture(params=["runs.jsonl", "runs.sqlite", None])
def journal(request, tmp_path):
    if request.param is None:
        return rc.record.MemoryJournal()
    kind = rc.record.JsonLinesJournal if request.param.endswith("jsonl") else rc.record.SqliteJournal
    return kind(tmp_path / request.param)


async def test_a_run_reads_as_a_conversation_with_each_call_beside_its_result(journal):
    await stories.looked(journal)
    async with serving(journal) as studio:
        listed = await studio.get("/api/runs")
        found = await studio.get("/api/run", run="looked")
    (row,) = listed["runs"]
    assert (row["shown"], row["agent"], row["state"], row["stop"]) == ("looked", "shop", "ended", "end")
    assert (row["turns"], row["calls"], row["tools"]) == (2, 2, ["look"])
    assert row["usage"]["cost"] == pytest.approx(0.004)
    kinds = [(item["kind"], item["id"]) for item in found["items"]]
    assert kinds == [("message", "m0"), ("turn", "t1"), ("turn", "t2"), ("event", "e11")]
    turn = found["items"][1]
    assert [part["type"] for part in turn["parts"]] == ["text", "call", "call"]
    assert [each["result"]["parts"][0]["text"] for each in turn["calls"]] == [
        "tea is there",
        "cake is there",
    ]
    assert (turn["cached_share"], turn["sent_messages"], turn["of_messages"]) == (0.4, 1, 1)
    assert found["items"][2]["parts"] == [{"type": "text", "text": "Both are there."}]
