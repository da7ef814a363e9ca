"""Every view, in both colours and narrow: axe-core finds nothing, and nothing sticks out sideways."""

import pytest

from web.kit import NARROW, WIDE

pytestmark = pytest.mark.asyncio(loop_scope="session")

VIEWS = {
    "runs": "#/runs",
    "search": "#/runs?q=Paris",
    "no runs": "#/runs?q=nobodysaidthis",
    "run": "#/run?run=trip-1",
    "run with rules": "#/run?run=mail-1",
    "run inside a run": "#/run?run=report-1",
    "run that waits": "#/run?run=invoice-17",
    "long run": "#/run?run=long-1",
    "approve": "#/approve",
    "compare": "#/compare?a=trip-1&b=mail-1",
    "choose two": "#/compare",
    "tools": "#/tools",
    "try": "#/try",
    "nowhere": "#/nowhere",
}
LOOKS = {"light": (False, WIDE), "dark": (True, WIDE), "narrow": (True, NARROW)}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("look", LOOKS)
async def test_every_view_is_sound(look, reading, visitor):
    dark, size = LOOKS[look]
    guest = await visitor(reading, dark=dark, size=size)
    found = {}
    for name, where in VIEWS.items():
        await guest.go(where)
        if name != "long run":
            await guest.unfold()
        found[name] = await guest.complaints()
        if await guest.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[name].append("sticks out sideways")
    assert found == {name: [] for name in VIEWS}


@pytest.mark.parametrize("dark", [False, True])
async def test_every_dialog_is_sound(dark, reading, visitor):
    guest = await visitor(reading, "#/run?run=trip-1", dark=dark, size=NARROW)
    for press in ("Replay", "Fork", "Compare", "What was sent", "Fork from here"):
        await guest.page.get_by_role("button", name=press, exact=True).first.click()
        await guest.page.wait_for_selector("dialog[open]")
        await guest.page.wait_for_load_state("networkidle")
        assert await guest.complaints() == [], press
        await guest.page.keyboard.press("Escape")
        await guest.page.wait_for_selector("dialog", state="detached")
    await guest.go("#/tools?name=get_weather")
    await guest.page.wait_for_selector("dialog h3")
    assert await guest.complaints() == []


async def test_the_colours_can_be_switched_and_stay(reading, visitor):
    guest = await visitor(reading)
    page = guest.page
    background = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(background)
    switch = page.get_by_role("button", name="Colours")
    await switch.click()
    await switch.click()
    dark = await page.evaluate(background)
    assert dark != light
    await page.reload()
    await page.wait_for_selector(".run-row")
    assert await page.evaluate(background) == dark
