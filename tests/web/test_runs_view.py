"""The list of runs."""

import asyncio

import pytest

from web import stories
from web.kit import until, writing_journal

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def shown(page) -> list[str]:
    return await page.locator(".run-link").all_text_contents()


async def test_what_is_under_way_is_on_top_and_the_rest_below(reading, visitor):
    page = (await visitor(reading)).page
    await page.wait_for_selector(".run-row")
    above = await page.locator(".under-way .run-link").all_text_contents()
    assert above[1:] == [
        "Book two seats on LH 1052 and pay for them.",
        "Pay invoice 17 from ACME, 120 euros.",
    ]
    assert "Read my mail and say hi to my best friend." in await shown(page)


async def test_filters_and_search_narrow_it_and_stay_in_the_address(reading, visitor):
    guest = await visitor(reading)
    page = guest.page
    await page.get_by_label("Agent", exact=True).select_option("travel")
    await until(page, "document.querySelectorAll('.run-row').length === 2")
    await page.get_by_label("A call", exact=True).select_option("unknown")
    await until(page, "document.querySelectorAll('.run-row').length === 1")
    assert await shown(page) == ["Plan a weekend in Paris or Lyon, from Frankfurt."]
    assert "agent=travel" in page.url
    await page.reload()
    await page.wait_for_selector(".run-row")
    assert await shown(page) == ["Plan a weekend in Paris or Lyon, from Frankfurt."]
    await page.get_by_role("button", name="Clear").click()
    await page.get_by_label("Search").fill("stranger")
    await page.wait_for_selector(".run-answer mark")
    assert await shown(page) == ["Read my mail and say hi to my best friend."]
    await page.get_by_label("Search").fill("nobodysaidthis")
    await page.get_by_text("No run fits").wait_for()


async def test_a_new_run_appears_by_itself(writing, visitor):
    page = (await visitor(writing)).page
    await page.get_by_text("No runs yet").wait_for()
    await writing_journal(writing.journal, [stories.failing_run])
    await page.get_by_text("Charge my card.").wait_for()


async def test_many_runs_come_page_by_page(writing, visitor):
    def numbered(number: int):
        return lambda journal: stories.small_run(journal, f"small-{number}", f"Question {number}")

    await writing_journal(writing.journal, [numbered(number) for number in range(120)])
    page = (await visitor(writing)).page
    await page.wait_for_selector(".run-row")
    assert await page.locator(".run-row").count() == 50
    for _ in range(20):
        await page.keyboard.press("End")
        await asyncio.sleep(0.1)
        if await page.locator(".run-row").count() == 120:
            break
    assert len(set(await shown(page))) == 120
