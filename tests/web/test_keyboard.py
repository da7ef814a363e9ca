"""The studio without a mouse."""

import pytest

from web.kit import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

FOCUSED = "document.activeElement.textContent"


async def test_a_run_is_found_opened_walked_and_left(reading, visitor):
    guest = await visitor(reading)
    page = guest.page
    await page.keyboard.press("/")
    await page.keyboard.type("weekend")
    await until(page, "document.querySelectorAll('.run-row').length === 1")
    await page.keyboard.press("Escape")
    await page.keyboard.press("j")
    assert "weekend in Paris" in await page.evaluate(FOCUSED)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("article.turn")
    for _ in range(2):
        await page.keyboard.press("j")
    assert (await page.evaluate(FOCUSED)).startswith("Turn 1")
    await page.keyboard.press("k")
    assert (await page.evaluate(FOCUSED)).startswith("User")
    await page.keyboard.press("Escape")
    await page.wait_for_selector(".run-row")


async def test_the_list_of_keys_opens_by_one_and_turns_them_off(reading, visitor):
    guest = await visitor(reading)
    page = guest.page
    await page.keyboard.press("?")
    await page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    await page.get_by_label("Single keys are on").press("Space")
    await page.keyboard.press("Escape")
    await page.wait_for_selector("dialog", state="detached")
    await page.keyboard.press("?")
    assert await page.locator("dialog").count() == 0
    await page.get_by_role("button", name="Keyboard shortcuts").press("Enter")
    await page.get_by_label("Single keys are on").press("Space")
    await page.keyboard.press("Escape")
    await page.wait_for_selector("dialog", state="detached")
    await page.keyboard.press("g")
    await page.keyboard.press("t")
    await page.wait_for_selector("table.tools")


async def test_what_has_the_focus_is_seen_to_have_it(reading, visitor):
    """Everything that Tab leads to, on the fullest page, has an outline or a shadow."""
    guest = await visitor(reading, "#/run?run=mail-1")
    bare = """() => {
        const node = document.activeElement, style = getComputedStyle(node);
        const isSeen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
        return isSeen || node === document.body ? null : node.outerHTML.slice(0, 100);
    }"""
    for _ in range(40):
        await guest.page.keyboard.press("Tab")
        assert await guest.page.evaluate(bare) is None


async def test_a_call_is_decided_by_keys_alone(writing, visitor, paused):
    guest = await visitor(writing, "#/approve")
    page = guest.page
    await page.wait_for_selector(".pause")
    await page.keyboard.press("j")
    await page.get_by_role("radio", name="Deny it").focus()
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.type("Not before Friday.")
    await page.keyboard.press("Tab")
    assert await page.evaluate(FOCUSED) == "Send the decision"
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".pause.over")
