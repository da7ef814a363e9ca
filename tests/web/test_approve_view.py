"""Deciding about calls: everything to decide by, every kind of answer, and two people at once."""

import asyncio

import pytest

import rightcall as rc
from web import stories
from web.kit import writing_journal

pytestmark = pytest.mark.asyncio(loop_scope="session")


def decisions(writing, run: str) -> list[object]:
    """What was decided about a run, as its journal has it."""
    journal = rc.record.SqliteJournal(writing.journal)
    try:
        return [entry.decisions for entry in journal.entries(run) if hasattr(entry, "decisions")]
    finally:
        journal.close()


async def test_a_call_is_shown_with_all_that_is_needed_to_decide(writing, visitor, paused):
    page = (await visitor(writing, "#/approve")).page
    card = page.locator(".pause")
    text = await card.inner_text()
    for needed in ("pay", "ACME GmbH", "120", "Invoice 17", "write"):
        assert needed in text
    assert await card.locator(".quoted figcaption").first.is_visible()
    # The header counts on its own, and may come a moment later.
    await page.locator("#waiting", has_text="1").wait_for()


@pytest.mark.parametrize(
    ("choice", "field", "words", "expected"),
    [
        ("Allow this call", None, "", rc.Allow()),
        ("Allow this tool in this run", None, "", rc.Allow(scope="run")),
        ("Deny it", "Why, in words for the model", "Not before Friday.", rc.Deny("Not before Friday.")),
        (
            "Change its arguments",
            "The arguments to run it with, as JSON",
            '{"to": "ACME GmbH", "amount": 12.0}',
            rc.Rewrite({"to": "ACME GmbH", "amount": 12.0}),
        ),
        (
            "Answer in its place",
            "What the model reads as the result",
            "Paid by hand.",
            rc.Answer("Paid by hand."),
        ),
    ],
)
async def test_each_answer_is_recorded_as_it_was_given(
    choice, field, words, expected, writing, visitor, paused
):
    page = (await visitor(writing, "#/approve")).page
    await page.get_by_role("radio", name=choice).check()
    if field:
        await page.get_by_label(field).fill(words)
    await page.get_by_role("button", name="Send the decision").click()
    await page.locator(".pause.over .notice").wait_for()
    (given,) = decisions(writing, "invoice-17")
    assert list(given.values()) == [expected]


async def test_arguments_that_do_not_fit_are_not_sent_on(writing, visitor, paused):
    page = (await visitor(writing, "#/approve")).page
    await page.get_by_role("radio", name="Change its arguments").check()
    arguments = page.get_by_label("The arguments to run it with, as JSON")
    await arguments.fill("{not json")
    await page.get_by_role("button", name="Send the decision").click()
    await page.get_by_text("This is no JSON").first.wait_for()
    await arguments.fill('{"to": "ACME GmbH", "amount": "lots"}')
    await page.get_by_role("button", name="Send the decision").click()
    await page.locator(".choice .wrong", has_text="amount").wait_for()
    assert decisions(writing, "invoice-17") == []


async def test_of_two_people_one_decides_and_the_other_sees_it(writing, visitor, paused):
    first, second = await visitor(writing, "#/approve"), await visitor(writing, "#/approve")
    await first.page.get_by_role("radio", name="Allow this call").check()
    await second.page.get_by_role("radio", name="Deny it").check()
    sending = [
        guest.page.get_by_role("button", name="Send the decision").click() for guest in (first, second)
    ]
    await asyncio.gather(*sending)
    for guest in (first, second):
        await guest.page.locator(".pause.over").wait_for()
    told = [
        await guest.page.locator(".pause .said p").get_attribute("class") for guest in (first, second)
    ]
    assert sorted(kind.split()[0] for kind in told) == ["caution", "notice"]
    assert len(decisions(writing, "invoice-17")) == 1


async def test_whoever_only_looks_sees_that_it_was_decided(writing, visitor, paused):
    first, second = await visitor(writing, "#/approve"), await visitor(writing, "#/approve")
    await first.page.get_by_role("radio", name="Allow this call").check()
    await first.page.get_by_role("button", name="Send the decision").click()
    await second.page.locator(".pause.over .caution").wait_for()
    assert await second.page.get_by_role("radio", name="Allow this call").is_disabled()


async def test_calls_of_one_reply_are_decided_together(writing, visitor):
    await writing_journal(writing.journal, [stories.paused_twice])
    page = (await visitor(writing, "#/approve")).page
    await page.get_by_role("radio", name="Allow this call").first.check()
    await page.get_by_role("button", name="Send 2 decisions").click()
    await page.get_by_text("Choose what is to happen to every call.").wait_for()
    await page.get_by_role("radio", name="Deny it").last.check()
    await page.get_by_role("button", name="Send 2 decisions").click()
    await page.locator(".pause.over .notice").wait_for()
    (given,) = decisions(writing, "booking-2")
    assert list(given.values()) == [rc.Allow(), rc.Deny()]


async def test_without_leave_to_write_nothing_can_be_pressed(reading, visitor):
    page = (await visitor(reading, "#/approve")).page
    await page.wait_for_selector(".pause")
    assert await page.get_by_role("radio").first.is_disabled()
    assert await page.get_by_role("button", name="Send").first.is_disabled()
    assert await page.locator(".pause .caution").first.is_visible()


async def test_a_changed_file_is_shown_line_by_line(writing, visitor):
    await writing_journal(writing.journal, [stories.file_change])
    page = (await visitor(writing, "#/approve")).page
    diff = page.locator(".diff")
    assert "docs/hours.md" in await diff.locator("figcaption").inner_text()
    assert "10 to 14" in await diff.locator(".diff-line.add").inner_text()
    removed = await diff.locator(".diff-line.remove").all_inner_texts()
    assert len(removed) == 2
    assert "9 to 13" in removed[0]
