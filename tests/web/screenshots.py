"""The pictures of docs/studio.md, taken of real runs: ``make screenshots``."""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright

from web import stories
from web.agents import assistant, shop
from web.kit import NARROW, WIDE, Visitor, opened, writing_journal

MOST_BYTES = 200_000
QUESTIONS = (
    "What is 17 * 23, and what day is it today?",
    "Summarise the three newest tickets.",
    "Which orders are late?",
    "Draft a reply to the supplier in Lyon.",
    "How many seats are left on LH 1052?",
)


def pressed(words: str):
    """Press what says this."""
    return lambda page: page.get_by_text(words).first.click()


async def converted(page) -> None:
    """Call a tool by its form."""
    await page.get_by_label("amount").fill("42.195")
    await page.get_by_role("button", name="Call it").click()
    await page.locator(".try-answer .badge").first.wait_for()


async def asked(page) -> None:
    """Ask the agent something, and have its answer."""
    await page.get_by_label("Your message to").fill("How is the weather in Paris?")
    await page.keyboard.press("Enter")
    await page.get_by_text("It is clear in Paris").wait_for()


PICTURES = {
    # name: (address, dark, size, what is done first)
    "runs": ("#/runs", False, WIDE, None),
    "runs-dark": ("#/runs", True, WIDE, None),
    "run": ("#/run?run=trip-1", False, WIDE, None),
    "run-dark": ("#/run?run=trip-1", True, WIDE, None),
    "trust": ("#/run?run=mail-1&place=2", False, WIDE, pressed("came from")),
    "sent": ("#/run?run=trip-1", False, WIDE, pressed("What was sent")),
    "approve": ("#/approve?run=invoice-17", False, WIDE, pressed("Deny it")),
    "approve-diff": ("#/approve?run=notes-1", True, WIDE, None),
    "compare": ("#/compare?a=mail-1&b=mail-2", False, WIDE, pressed("To the first difference")),
    "tools": ("#/tools", False, WIDE, None),
    "try": ("#/try?tool=convert", False, WIDE, converted),
    "chat": ("#/try?mode=chat", True, WIDE, asked),
    "narrow": ("#/run?run=mail-1&place=1", True, NARROW, None),
}


async def small_runs(journal: object) -> None:
    """Something to fill the list with."""
    for number, question in enumerate(QUESTIONS):
        await stories.small_run(journal, f"small-{number}", question)


async def take(folder: Path) -> None:
    """Make the runs, look at them, and keep what is seen."""
    folder.mkdir(parents=True, exist_ok=True)
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place:
        journal = Path(place) / "runs.sqlite"
        await writing_journal(
            journal, [small_runs, stories.long_run, stories.other_mail_run, *stories.EVERY_KIND[1:]]
        )
        async with (
            opened(journal, write=True, agents=[shop, assistant]) as studio,
            async_playwright() as playwright,
            await playwright.chromium.launch(executable_path=found) as browser,
        ):
            for name, shot in PICTURES.items():
                await picture(browser, studio, folder / f"studio-{name}.png", *shot)


async def picture(browser, studio, path: Path, where: str, dark: bool, size, act) -> None:
    """One picture, small enough to be kept beside the words."""
    guest = await Visitor.come(browser, studio, where, dark=dark, size=size)
    if act:
        await act(guest.page)
    await guest.page.wait_for_timeout(700)
    await guest.page.screenshot(path=path)
    await guest.leave()
    taken = path.stat().st_size
    sys.stdout.write(f"{path}  {taken:,} bytes\n")
    if taken > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES:,} bytes")


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
