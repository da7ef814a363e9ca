"""Two runs side by side, a run again, and a run that goes another way."""

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel
from web import stories
from web.kit import opened, until, writing_journal

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_first_difference_is_marked_and_what_is_the_same_is_folded(writing, visitor):
    await writing_journal(writing.journal, [stories.mail_run, stories.other_mail_run])
    page = (await visitor(writing, "#/compare?a=mail-1&b=mail-2")).page
    first = page.locator(".pair.first")
    await first.wait_for()
    assert "bob@firm.example" in await first.locator(".side").nth(0).inner_text()
    assert "carol@firm.example" in await first.locator(".side").nth(1).inner_text()
    assert await page.locator(".same summary").first.is_visible()
    await page.get_by_role("button", name="To the first difference").click()
    assert await page.evaluate("document.activeElement.id") == "first-difference"


async def test_two_runs_are_picked_by_searching(reading, visitor):
    page = (await visitor(reading, "#/compare")).page
    await page.get_by_label("First run").fill("weekend")
    await page.locator(".picks").first.get_by_role("button", name="Plan a weekend").click()
    await page.get_by_label("Second run").fill("best friend")
    await page.locator(".picks").get_by_role("button", name="Read my mail").click()
    await page.locator(".pair.first").wait_for()


async def test_a_replay_says_that_it_is_the_same(reading, visitor):
    page = (await visitor(reading, "#/run?run=mail-1")).page
    await page.get_by_role("button", name="Replay").click()
    await page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    await page.get_by_text("The same as recorded.").wait_for()


async def test_a_fork_begins_with_the_edited_message(writing, visitor):
    await writing_journal(writing.journal, [stories.trip_run])
    page = (await visitor(writing, "#/run?run=trip-1")).page
    await page.get_by_role("button", name="Edit and fork").first.click()
    await page.get_by_label("The message").fill("Plan a weekend in Rome.")
    await page.get_by_role("dialog").get_by_role("button", name="Fork", exact=True).click()
    await until(page, "location.hash.includes('fork')")
    await page.get_by_role("article", name="User says").get_by_text("Plan a weekend in Rome.").wait_for()
    await page.get_by_text("Forked from").wait_for()
    await page.get_by_text("It is clear in Paris, at 14 °C.").wait_for()


async def test_who_may_not_write_is_told_why_there_is_no_fork(reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    await page.get_by_role("button", name="Fork", exact=True).click()
    await page.get_by_role("dialog").get_by_text("without --write").first.wait_for()
    assert await page.get_by_role("dialog").get_by_role("button", name="Fork").is_disabled()


async def test_a_fork_goes_on_after_the_end_with_one_more_message(writing, visitor):
    await writing_journal(writing.journal, [stories.trip_run])
    page = (await visitor(writing, "#/run?run=trip-1")).page
    await page.get_by_role("button", name="Fork", exact=True).click()
    await page.get_by_label("One more message").fill("And on Monday?")
    await page.get_by_role("dialog").get_by_role("button", name="Fork", exact=True).click()
    await until(page, "location.hash.includes('fork')")
    await page.get_by_role("article", name="User says").get_by_text("And on Monday?").wait_for()
    await page.get_by_text("It is clear in Paris, at 14 °C.").wait_for()


async def test_a_durable_run_is_forked_from_its_turns_and_nothing_else_is_offered(visitor, tmp_path):
    pytest.importorskip("dbos")
    agent = rc.Agent(ScriptedModel(["Once.", "Again."]), name="teller")
    async with rc.durable.App(f"sqlite:///{tmp_path / 'runs.db'}", [agent]) as app:
        await (await app.submit("teller", "Tell me.", run="told-1")).result()
        async with opened(tmp_path / "runs.db", write=True) as studio:
            page = (await visitor(studio, "#/run?run=told-1")).page
            await page.get_by_text("A durable run is forked from one of its turns.").wait_for()
            assert await page.get_by_role("button", name="Fork", exact=True).count() == 0
            assert await page.get_by_role("button", name="Edit and fork").count() == 0
            await page.get_by_role("button", name="Fork from here").click()
            dialog = page.get_by_role("dialog", name="Fork before turn 1")
            await dialog.get_by_role("button", name="Fork", exact=True).click()
            await until(page, "location.hash.includes('fork')")
            await page.get_by_text("Again.").first.wait_for()
