"""A computer driver for pages in a browser, with Playwright."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from rightcall.builtin.screen.computer_tool import Button, Region
from rightcall.core.optional_libraries import load
from rightcall.core.options import check_keywords
from rightcall.errors import ToolFailure

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Route, WebSocketRoute

_LOCAL = re.compile(r"(?:data|blob|about):")
"""URL schemes whose content a page creates itself, without a request."""


@check_keywords("rc.builtin.browser")
@asynccontextmanager
async def browser(
    url: str,
    *,
    hosts: Sequence[str] = (),
    width: int = 1280,
    height: int = 800,
    executable: str | None = None,
) -> AsyncIterator["BrowserScreen"]:
    """A headless Chromium that shows ``url``, as a driver for ``computer``.

    Pages load only from the host of ``url`` and from ``hosts`` (``*.example.com`` is those below it),
    whatever a page or a model asks for; nothing is downloaded, and nothing is kept. ``executable`` is a
    Chromium of your own, in place of the one that Playwright installed.
    """
    playwright_api = load("playwright.async_api")
    from rightcall.builtin.net import fetch  # noqa: PLC0415 - yarl is heavy

    first = fetch.locate(url, fetch.WebGrant(ports=None, private=True))
    own = (first.raw_host or "").lower().rstrip(".")
    grant = fetch.WebGrant(hosts=(own, *fetch.as_hosts(hosts)), ports=None, private=True)

    def is_granted(url: str) -> bool:
        try:
            fetch.locate(re.sub(r"^ws(s?):", r"http\1:", url), grant)
        except ToolFailure:
            return False
        return True

    async with playwright_api.async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable)
        try:
            context = await chromium.new_context(
                viewport={"width": width, "height": height},
                accept_downloads=False,
                # A service worker's requests bypass the routes.
                service_workers="block",
            )
            screen = BrowserScreen(context, (width, height))
            await _hold_to(context, is_granted)
            page = await context.new_page()
            await page.goto(str(first))
            yield screen
        finally:
            await chromium.close()


async def _hold_to(context: "BrowserContext", is_granted: Callable[[str], bool]) -> None:
    """Let pages of this context send requests only to addresses that are granted."""

    async def judge(route: "Route") -> None:
        if _LOCAL.match(route.request.url) or is_granted(route.request.url):
            await route.continue_()
        else:
            await route.abort("blockedbyclient")

    async def judge_socket(socket: "WebSocketRoute") -> None:
        if is_granted(socket.url):
            socket.connect_to_server()
        else:
            await socket.close()

    await context.route("**/*", judge)
    await context.route_web_socket("**/*", judge_socket)


class BrowserScreen:
    """Drives the newest page of a browser, because that is the one a person would look at."""

    def __init__(self, context: "BrowserContext", size: tuple[int, int]) -> None:
        self._context = context
        self.size = size
        """Width and height, in pixels."""

    @property
    def page(self) -> "Page":
        """The current page. Raises ToolFailure if all pages are closed."""
        pages = self._context.pages
        if not pages:
            raise ToolFailure("The browser has no page open any more.")
        return pages[-1]

    async def screenshot(self, region: Region | None = None) -> bytes:
        """A screenshot of the page."""
        left, top, right, bottom = region or (0, 0, *self.size)
        clip: Any = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        return bytes(await self.page.screenshot(clip=clip, animations="disabled"))

    async def move(self, x: int, y: int) -> None:
        """Move the pointer."""
        await self.page.mouse.move(x, y)

    async def button_down(self, button: Button, count: int = 1) -> None:
        """Press a button; back and forward act on the page's history when released."""
        if button not in {"back", "forward"}:
            await self.page.mouse.down(button=button, click_count=count)

    async def button_up(self, button: Button, count: int = 1) -> None:
        """Release a button."""
        if button == "back":
            await self.page.go_back()
        elif button == "forward":
            await self.page.go_forward()
        else:
            await self.page.mouse.up(button=button, click_count=count)

    async def scroll(self, right: int, down: int) -> None:
        """Turn the wheel."""
        await self.page.mouse.wheel(right, down)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self.page.keyboard.type(text)

    async def key_down(self, key: str) -> None:
        """Press a key."""
        await self.page.keyboard.down(key)

    async def key_up(self, key: str) -> None:
        """Release a key."""
        await self.page.keyboard.up(key)
