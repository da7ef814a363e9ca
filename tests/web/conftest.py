"""A studio over real journals, and a real browser to look at it with.

Only ``make test WHAT=browser`` drives the browser: it takes minutes, and ordinary tests stay quick.
"""

import os
import shutil
from pathlib import Path

import pytest
import pytest_asyncio

from web import stories
from web.agents import assistant, shop
from web.kit import Studio, Visitor, opened, writing_journal

WANTED = "RIGHTCALL_BROWSER"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser():
    """A Chromium of the system's."""
    if not os.environ.get(WANTED):
        pytest.skip("drives a browser: make test WHAT=browser runs it")
    api = pytest.importorskip(
        "playwright.async_api", reason="needs playwright: make test WHAT=browser installs it"
    )
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        pytest.skip("needs a Chromium: make test WHAT=browser installs Debian's")
    async with api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def library(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Path:
    """A journal with one run of every kind, which no test changes."""
    path = tmp_path_factory.mktemp("library") / "runs.sqlite"
    await writing_journal(path, stories.EVERY_KIND)
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def reading(library: Path):
    """A studio that only shows."""
    async with opened(library) as studio:
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def writing(tmp_path: Path, browser: object):
    """A studio of a test's own that decides, forks and tries, over an empty journal."""
    async with opened(tmp_path / "runs.sqlite", write=True, agents=[shop, assistant]) as studio:
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def paused(writing: Studio) -> None:
    """A payment that waits for a person."""
    await writing_journal(writing.journal, [stories.paused_run])


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: object):
    """Makes pages; whatever one asked of the outside, or threw, fails the test."""
    visitors: list[Visitor] = []

    async def visit(studio: Studio, where: str = "", **options: object) -> Visitor:
        visitors.append(await Visitor.come(browser, studio, where, **options))
        return visitors[-1]

    yield visit
    for each in visitors:
        await each.leave()
    assert [each.strangers for each in visitors] == [[] for _ in visitors]
    assert [each.faults for each in visitors] == [[] for _ in visitors]
