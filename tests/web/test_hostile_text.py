"""Stored text is hostile: whatever it says, it is shown, it runs nothing, and it asks nobody."""

import pytest

from web import hostile
from web.kit import writing_journal

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWN = """() => {
    const attributes = [...document.querySelectorAll('*')].flatMap(node => [...node.attributes]);
    const read = attributes.filter(one => !/^(href|src|value|data-.*)$/.test(one.name));
    return document.title + document.body.innerText + read.map(one => one.value).join(' ');
}"""


async def test_no_view_runs_or_fetches_what_a_run_says(writing, visitor):
    await writing_journal(writing.journal, [hostile.hostile_run, hostile.hostile_question])
    guest = await visitor(writing)
    page = guest.page
    await page.wait_for_selector(".run-row")
    links = await page.locator(".run-link").evaluate_all("links => links.map(link => link.hash)")
    assert len(links) == 2
    names = [link.split("run=", 1)[1] for link in links]
    compare = f"#/compare?a={names[0]}&b={names[1]}"
    for where in ("#/runs", "#/runs?q=script", *links, compare, "#/approve", "#/tools", "#/try"):
        await guest.go(where)
        await guest.unfold()
        await page.wait_for_load_state("networkidle")
        assert await page.evaluate("window.hacked") is None, where
        assert (
            await page.evaluate("document.querySelectorAll('iframe, style, object, embed, base').length")
            == 0
        ), where
        assert await page.locator("main script, main link, a[href^=javascript]").count() == 0, where
        text = await page.evaluate(SHOWN)
        assert not set(text) & set(hostile.DIRECTING), where
    # The gate of every visitor fails the test where anything was asked of another host.


async def test_dialogs_show_it_as_text_too(writing, visitor):
    await writing_journal(writing.journal, [hostile.hostile_run])
    guest = await visitor(writing)
    page = guest.page
    await page.locator(".run-link").first.click()
    await page.wait_for_selector("article.turn")
    for press in ("What was sent", "Fork", "Replay", "Compare", "Edit and fork"):
        await page.get_by_role("button", name=press, exact=True).first.click()
        await page.wait_for_selector("dialog[open]")
        await page.wait_for_load_state("networkidle")
        assert await page.evaluate("window.hacked") is None
        assert await page.locator("dialog iframe, dialog img, dialog script").count() == 0
        await page.keyboard.press("Escape")
        await page.wait_for_selector("dialog", state="detached")
    await guest.go("#/tools?name=read_page")
    await page.wait_for_selector("dialog .facts")
    assert await page.evaluate("window.hacked") is None


async def test_outsiders_text_stands_in_a_frame_that_it_cannot_leave(writing, visitor):
    await writing_journal(writing.journal, [hostile.hostile_run, hostile.hostile_question])
    guest = await visitor(writing, "#/approve")
    page = guest.page
    await page.wait_for_selector(".pause")
    claims = page.locator(".proposal").get_by_text("APPROVED BY THE STUDIO")
    assert await claims.count() > 0
    # Where a person decides, every such claim lies within a frame or the table of values.
    for claim in await claims.all():
        assert await claim.evaluate("node => node.closest('.foreign, .evidence, details') !== null")
    await guest.go("#/runs")
    await page.locator(".run-link").last.click()
    frame = page.locator("figure.foreign").first
    holds = """frame => {
        const [outer, inner] = [frame, frame.lastChild].map(node => node.getBoundingClientRect());
        return inner.top > outer.top && inner.bottom <= outer.bottom && inner.right <= outer.right;
    }"""
    assert await frame.evaluate(holds)


async def test_a_picture_that_is_a_script_stays_a_picture(writing, visitor):
    """Opened by itself, too: the server gives it no page to run in."""
    await writing_journal(writing.journal, [hostile.hostile_run])
    guest = await visitor(writing)
    page = guest.page
    await page.locator(".run-link").first.click()
    link = page.locator("figure.media a").first
    address = await link.get_attribute("href")
    answer = await page.request.get(f"{writing.address}{address}")
    assert (
        "attachment" in answer.headers.get("content-disposition", "")
        or "sandbox" in answer.headers["content-security-policy"]
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
