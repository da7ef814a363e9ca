"""One run: the conversation, the timeline, what was sent, and how it grows."""

import asyncio
import json
from itertools import pairwise

import pytest

import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply
from web.kit import until

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_run_reads_as_a_conversation_with_calls_beside_results(reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    first = page.get_by_role("article", name="Turn 1")
    assert await first.locator(".call").count() == 3
    asked = await first.locator(".call-asked").first.bounding_box()
    answered = await first.locator(".call-answered").first.bounding_box()
    assert asked["y"] == answered["y"]
    assert asked["x"] + asked["width"] <= answered["x"] + 1
    assert (
        await first.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)")
        == 240
    )
    second = page.get_by_role("article", name="Turn 2")
    assert await second.locator(".call-head .badge").all_inner_texts() == ["invalid", "unknown"]
    assert "72% cached" in await second.inner_text() or "73% cached" in await second.inner_text()


async def test_reasoning_is_folded_until_asked_for(reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    thought = page.get_by_text("do not depend on each other")
    assert await thought.count() == 0
    await page.get_by_text("Reasoning", exact=True).first.click()
    await thought.wait_for()


async def test_trust_is_told_by_words_and_a_refusal_by_its_reason(reading, visitor):
    page = (await visitor(reading, "#/run?run=mail-1")).page
    frame = page.locator("figure.foreign").first
    assert "Outsiders" in await frame.locator("figcaption").inner_text()
    assert "APPROVED BY THE ADMINISTRATOR" in await frame.locator(".foreign-text").inner_text()
    refused = page.get_by_role("article", name="Turn 2").get_by_role("group", name="Call of send")
    assert "denied" in await refused.inner_text()
    assert (await refused.inner_text()).count("comes from what inbox returned") == 1
    await refused.get_by_text("What the model was told").click()
    await refused.get_by_text("comes from what inbox returned").nth(1).wait_for()
    await refused.get_by_text("came from").click()
    table = refused.get_by_role("table")
    assert "eve@evil.example" in await table.inner_text()
    assert "outsiders" in await table.inner_text()


async def test_the_timeline_is_to_scale_and_leads_to_its_turn(reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    await page.wait_for_selector("svg.timeline")
    spans = await page.evaluate("fetch('/api/run/timeline?run=trip-1').then(answer => answer.json())")
    width = (await page.locator("svg.timeline").bounding_box())["width"]
    for at, span in enumerate(spans["spans"]):
        drawn = await page.locator(f'[data-span="{at}"] rect').bounding_box()
        true = width * (span["end"] - span["start"]) / spans["seconds"]
        assert drawn["width"] == pytest.approx(true, abs=5)
    tools = [span for span in spans["spans"] if span["kind"] == "tool" and span["turn"] == 1]
    assert len({span["lane"] for span in tools}) == 3, "tools that overlap lie in lanes of their own"
    last = [span["turn"] for span in spans["spans"]].index(3)
    await page.locator(f'[data-span="{last}"] rect').click()
    await until(page, "document.activeElement.textContent.startsWith('Turn 3')")
    assert "in all: the model" in await page.locator("svg.timeline").get_attribute("aria-label")


@pytest.mark.parametrize("run", ["trip-1", "mail-1"])
async def test_short_bars_are_seen_and_cover_no_other(reading, visitor, run):
    page = (await visitor(reading, f"#/run?run={run}")).page
    await page.wait_for_selector("svg.timeline")
    told = await page.evaluate(f"fetch('/api/run/timeline?run={run}').then(answer => answer.json())")
    lanes = {}
    # All at once: a picture that is drawn anew in between would be two.
    drawn = await page.locator("[data-span] rect").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect())"
    )
    for span, box in zip(told["spans"], drawn, strict=True):
        lanes.setdefault(span["lane"], []).append((box["left"], box["right"]))
    for boxes in lanes.values():
        boxes.sort()
        for (_, end), (start, _) in pairwise(boxes):
            assert end <= start + 1.6
        assert boxes[-1][1] - boxes[-1][0] >= 3.5, "the last has room to be seen"


async def test_a_short_bar_after_a_long_wait_can_be_pressed(reading, visitor):
    guest = await visitor(reading)
    page = guest.page
    told = await page.evaluate("fetch('/api/run/timeline?run=trip-1').then(answer => answer.json())")
    last = {**told["spans"][-1], "lane": 0, "start": 86400, "end": 86401}
    told |= {"seconds": 86401, "spans": [{**last, "kind": "wait", "start": 0, "end": 86400}, last]}
    await page.route("**/api/run/timeline*", lambda route: route.fulfill(json=told))
    await guest.go("#/run?run=trip-1")
    await page.locator('[data-span="1"] rect').click()
    await until(page, "document.activeElement.textContent.startsWith('Turn 3')")


async def test_what_was_sent_is_shown_in_the_form_of_any_vendor(reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    await page.get_by_role("article", name="Turn 2").get_by_role("button", name="What was sent").click()
    dialog = page.get_by_role("dialog", name="What was sent in turn 2")
    await dialog.get_by_label("As the request of").select_option("anthropic")
    await dialog.get_by_text('"tool_use"').first.wait_for()
    assert "never guess a price" in await dialog.inner_text()


async def test_a_window_that_was_cut_says_so(reading, visitor):
    page = (await visitor(reading, "#/run?run=long-1&place=990")).page
    await page.get_by_text("The window was cut").first.wait_for()


async def test_a_thousand_turns_open_quickly_and_any_of_them_is_near(reading, visitor):
    """Seconds are those of a busy machine: alone it is a fraction of that."""
    guest = await visitor(reading)
    async with asyncio.timeout(8):
        await guest.go("#/run?run=long-1")
        await guest.page.get_by_role("article", name="Turn 1", exact=True).wait_for()
    assert await guest.page.locator("article.turn").count() < 200, "only what is near is drawn"
    await until(guest.page, "document.querySelectorAll('.span.model').length === 1000")
    async with asyncio.timeout(8):
        await guest.page.locator(".span.model").nth(499).locator("rect").dispatch_event("click")
        await until(guest.page, "document.activeElement.textContent.startsWith('Turn 500')")
    assert await guest.page.evaluate("document.activeElement.getBoundingClientRect().top < innerHeight")
    async with asyncio.timeout(8):
        await guest.page.keyboard.press("]")
        await guest.page.get_by_text("That was all.").wait_for()


async def test_a_run_grows_while_it_is_watched(writing, visitor):
    seen = asyncio.Event()

    @rc.tool(effect="read")
    async def look_up(city: str) -> str:
        """Look a city up, once somebody watches."""
        await seen.wait()
        return f"found {city}"

    steps = [reply(f"Step {n}.", call("look_up", city=f"City {n}")) for n in range(1, 5)]
    journal = rc.record.SqliteJournal(writing.journal)
    agent = rc.Agent(ScriptedModel([*steps, "All done."]), [look_up], journal=journal)
    going = asyncio.create_task(agent.run("Four cities.", run="growing"))
    await asyncio.sleep(0.1)
    page = (await visitor(writing, "#/run?run=growing")).page
    assert await page.locator(".run-title .badge").first.inner_text() == "running"
    assert await page.locator(".call-head .badge").all_inner_texts() == ["running"]
    seen.set()
    for turn in range(1, 5):
        await page.get_by_text(f"Step {turn}.").wait_for()
    await page.get_by_text("All done.").wait_for()
    await page.locator(".run-title .badge", has_text="ended").wait_for()
    assert await page.locator("article.turn").count() == 5
    assert await page.locator(".call-head .badge").all_inner_texts() == ["returned"] * 4
    await until(page, "document.querySelectorAll('.span.tool').length === 4")
    await going
    journal.close()


@pytest.mark.parametrize("form", ["JSON", "Markdown", "Test with a scripted model", "Eval case"])
async def test_a_run_is_saved_as_a_file(form, reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    await page.locator("summary", has_text="Export").click()
    async with page.expect_download() as saving:
        await page.get_by_role("link", name=form, exact=True).click()
    saved = await (await saving.value).path()
    text = saved.read_text()
    assert "Frankfurt" in text
    if form == "JSON":
        json.loads(text)
    if form.startswith("Test"):
        compile(text, "saved", "exec")


async def test_what_an_agent_inside_did_can_be_unfolded(reading, visitor):
    page = (await visitor(reading, "#/run?run=report-1")).page
    await page.get_by_text("Inside:").click()
    await page.locator(".call-inside").get_by_role("group", name="Call of get_weather").wait_for()


async def test_the_timeline_is_widened_and_stays_so(reading, visitor):
    page = (await visitor(reading, "#/run?run=trip-1")).page
    narrow = (await page.locator("svg.timeline").bounding_box())["width"]
    for _ in range(2):
        await page.get_by_role("button", name="Timeline wider").click()
    assert (await page.locator("svg.timeline").bounding_box())["width"] == pytest.approx(
        4 * narrow, rel=0.01
    )
    await page.get_by_role("button", name="Timeline narrower").click()
    assert (await page.locator("svg.timeline").bounding_box())["width"] == pytest.approx(
        2 * narrow, rel=0.01
    )
