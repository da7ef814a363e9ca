"""A studio in this process, and somebody who looks at it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from msgspec import Struct

import rightcall as rc

AXE = Path(__file__).resolve().parents[2] / ".node" / "node_modules" / "axe-core" / "axe.min.js"
UNFOLD = "for (const one of document.querySelectorAll('main details')) one.open = true"
PATIENCE = 60
"""Seconds that a page may take to show something: those of a busy machine."""
NARROW = {"width": 360, "height": 740}
WIDE = {"width": 1280, "height": 800}


class Studio(Struct):
    """Where a studio listens, and what it reads."""

    address: str
    journal: Path


async def writing_journal(path: Path, makers: Iterable[Callable[[Any], Any]]) -> None:
    """Have these runs written into a journal."""
    journal = rc.record.SqliteJournal(path)
    try:
        for make in makers:
            await make(journal)
    finally:
        journal.close()


async def until(page: Any, expression: str, seconds: float = PATIENCE) -> None:
    """Wait until an expression is true in the page: Playwright's way needs eval, which it forbids."""
    async with asyncio.timeout(seconds):
        while not await page.evaluate(expression):
            await asyncio.sleep(0.03)


class Visitor:
    """A page in a browser of its own. What it asked of others, and what it threw, is kept."""

    def __init__(self, studio: Studio, context: Any, page: Any) -> None:
        self.studio, self.context, self.page = studio, context, page
        self.strangers: list[str] = []
        self.faults: list[str] = []

    @classmethod
    async def come(
        cls, browser: Any, studio: Studio, where: str = "", *, dark: bool = False, size: Any = WIDE
    ) -> "Visitor":
        """Open a page of the studio: ``#/runs``."""
        context = await browser.new_context(
            viewport=size,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            accept_downloads=True,
        )
        visitor = cls(studio, context, await context.new_page())
        await visitor.page.route("**/*", visitor._gate)
        visitor.page.on("pageerror", lambda error: visitor.faults.append(str(error)))
        visitor.page.on("console", visitor._heard)
        visitor.page.set_default_timeout(PATIENCE * 1000)
        await visitor.go(where)
        return visitor

    async def go(self, where: str) -> None:
        """Show another view, and wait until it is drawn."""
        # Through an empty page, so that what is waited for is not what was there before.
        await self.page.goto("about:blank")
        await self.page.goto(f"{self.studio.address}/{where}")
        await self.page.locator("#content[aria-busy=false]").wait_for()

    async def complaints(self) -> list[str]:
        """What axe-core finds wrong with the page as it stands."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE.read_text())
        return await self.page.evaluate(
            "axe.run().then(found => found.violations.flatMap("
            "one => one.nodes.map(node => `${one.id}: ${node.target} ${node.failureSummary}`)))"
        )

    async def unfold(self) -> None:
        """Open everything that is folded away, to look at that as well."""
        for _ in range(3):
            await self.page.evaluate(UNFOLD)
            await self.page.wait_for_timeout(50)

    async def leave(self) -> None:
        """Close the page."""
        await self.context.close()

    async def _gate(self, route: Any) -> None:
        if route.request.url.startswith(self.studio.address):
            await route.continue_()
        else:
            self.strangers.append(route.request.url)
            await route.abort()

    def _heard(self, message: Any) -> None:
        # A refused request is part of some tests; a policy that was broken is part of none.
        if "Content Security Policy" in message.text or "Trusted" in message.text:
            self.faults.append(message.text)


@asynccontextmanager
async def opened(journal: Path, *, write: bool = False, agents: Any = ()) -> AsyncIterator[Studio]:
    """A studio of a journal, until the end of the block."""
    from rightcall.serve.studio import studio_app  # noqa: PLC0415 - an extra, and skipped without

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        app = studio_app(journal, write=write, agents=agents)
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield Studio(f"http://127.0.0.1:{listener.getsockname()[1]}", journal)
        finally:
            server.should_exit = True
            await serving
