"""What tools did, and trying them."""

import pytest

from web.kit import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_table_is_sorted_by_its_heads(reading, visitor):
    page = (await visitor(reading, "#/tools")).page
    names = page.locator("table.tools tbody th")
    assert (await names.first.inner_text()).strip() == "get_weather"
    await page.get_by_role("button", name="Tool", exact=True).click()
    sorted_names = [name.strip() for name in await names.all_inner_texts()]
    assert sorted_names == sorted(sorted_names)
    assert await page.locator("th[aria-sort=ascending]").inner_text() == "Tool"
    await page.get_by_text("Called, but not there").wait_for()
    assert "find_flight" in await page.locator(".unknown-names").inner_text()


async def test_a_tool_shows_its_findings_and_its_last_calls(reading, visitor):
    page = (await visitor(reading, "#/tools?name=get_weather")).page
    dialog = page.get_by_role("dialog", name="Tool get_weather")
    await dialog.get_by_text("Called last").wait_for()
    assert await dialog.locator("svg.durations").is_visible()
    assert await dialog.locator(".recent li").count() > 3


async def test_a_tool_is_called_by_a_form_made_from_its_schema(writing, visitor):
    page = (await visitor(writing, "#/try?tool=convert")).page
    await page.get_by_label("amount").fill("100")
    await page.get_by_label("unit (optional)").select_option("miles")
    await page.get_by_label("tags (optional)").fill("far\naway")
    await page.get_by_role("button", name="Call it").click()
    answer = page.locator(".try-answer")
    await answer.get_by_text("160.9").wait_for()
    assert "away" in await answer.inner_text()


async def test_arguments_that_do_not_fit_are_told_apart(writing, visitor):
    page = (await visitor(writing, "#/try?tool=convert")).page
    await page.get_by_role("button", name="Call it").click()
    await page.get_by_text("amount is needed.").wait_for()
    await page.get_by_role("checkbox", name="as JSON").check()
    await page.get_by_label("Arguments as JSON").fill('{"amount": "far"}')
    await page.get_by_role("button", name="Call it").click()
    await page.locator(".try-answer .badge", has_text="invalid").wait_for()


async def test_what_wants_a_person_asks_before_it_runs(writing, visitor):
    page = (await visitor(writing, "#/try?tool=pay")).page
    await page.get_by_label("to", exact=True).fill("ACME")
    await page.get_by_label("amount").fill("5")
    await page.get_by_role("button", name="Call it").click()
    await page.get_by_text("It was not run").wait_for()
    await page.get_by_role("button", name="Allow it and run it").click()
    await page.locator(".try-answer").get_by_text("paid 5.0 to ACME").wait_for()


async def test_an_agent_is_talked_to_and_seen_to_write(writing, visitor):
    page = (await visitor(writing, "#/try?mode=chat")).page
    await page.get_by_label("Your message to").fill("How is Paris?")
    await page.keyboard.press("Enter")
    await page.locator(".writing").wait_for()
    await page.get_by_text("It is clear in Paris, at 14 °C.").wait_for()
    await page.get_by_label("Your message to").fill("And now?")
    await page.keyboard.press("Enter")
    await page.get_by_text("And now?").wait_for()
    await until(page, "document.querySelectorAll('.chat-said .turn:not(.writing)').length === 4")


async def test_a_run_of_the_studios_own_can_be_stopped(writing, visitor):
    page = (await visitor(writing, "#/try?mode=chat")).page
    await page.get_by_label("Your message to").fill("Take your time.")
    await page.keyboard.press("Enter")
    await page.get_by_role("link", name="All about this run").click()
    await page.get_by_role("button", name="Stop").click()
    await page.get_by_text("It was stopped.").wait_for()
    assert await page.get_by_role("button", name="Stop").count() == 0
