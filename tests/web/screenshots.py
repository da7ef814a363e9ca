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
PICTURES = {
    # name: (address, dark, size, what is pressed first)
    "runs": ("#/runs", False, WIDE, None),
    "runs-dark": ("#/runs", True, WIDE, None),
    "run": ("#/run?run=trip-1", False, WIDE, None),
    "run-dark": ("#/run?run=trip-1", True, WIDE, None),
    "trust": ("#/run?run=mail-1&place=2", False, WIDE, "came from"),
    "sent": ("#/run?run=trip-1", False, WIDE, "What was sent"),
    "approve": ("#/approve?run=invoice-17", False, WIDE, None),
    "approve-diff": ("#/approve?run=notes-1", True, WIDE, None),
    "compare": ("#/compare?a=mail-1&b=mail-2", False, WIDE, None),
    "tools": ("#/tools", False, WIDE, None),
    "try": ("#/try?tool=convert", False, WIDE, None),
    "narrow": ("#/run?run=mail-1", True, NARROW, None),
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
            for name, (where, dark, size, press) in PICTURES.items():
                await picture(
                    browser,
                    studio,
                    folder / f"studio-{name}.png",
                    where,
                    dark=dark,
                    size=size,
                    press=press,
                )


async def picture(
    browser, studio, path: Path, where: str, *, dark: bool, size, press: str | None
) -> None:
    """One picture, small enough to be kept beside the words."""
    guest = await Visitor.come(browser, studio, where, dark=dark, size=size)
    if press:
        await guest.page.get_by_text(press).first.click()
    await guest.page.wait_for_load_state("networkidle")
    await guest.page.screenshot(path=path)
    await guest.leave()
    size_now = path.stat().st_size
    sys.stdout.write(f"{path}  {size_now:,} bytes\n")
    if size_now > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES:,} bytes")


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
