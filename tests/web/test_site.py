"""The built site: axe-core finds nothing, search works, and no page asks anything of the outside.

``make test WHAT=browser`` builds it first.
"""

import re
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import pytest_asyncio

from web.kit import NARROW, WIDE, Studio, Visitor

SITE = Path(__file__).resolve().parents[2] / "site"
HOME = "index.html"
PAGES = sorted(str(page.relative_to(SITE)) for page in SITE.rglob("*.html"))
LOOKS = {"light": (False, WIDE), "dark": (True, WIDE), "narrow": (True, NARROW)}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing about it."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Reader(Visitor):
    """Somebody who reads the site."""

    async def go(self, where: str) -> None:
        """Open a page."""
        await self.page.goto(f"{self.studio.address}/{where}")
        await self.page.wait_for_load_state("networkidle")


@pytest.fixture(scope="session")
def site() -> Iterator[Studio]:
    """The site, served on this machine."""
    if not (SITE / "index.html").is_file():
        pytest.skip("needs the site: make docs builds it")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield Studio(f"http://127.0.0.1:{server.server_port}", SITE)
    server.shutdown()
    serving.join()
    server.server_close()


@pytest_asyncio.fixture(loop_scope="session")
async def reader(browser, site):
    """Opens pages; whatever one asked of the outside, or threw, fails the test."""
    readers: list[Reader] = []

    async def read(where: str, **options: object) -> Reader:
        readers.append(await Reader.come(browser, site, where, **options))
        return readers[-1]

    yield read
    for each in readers:
        await each.leave()
    assert [(each.strangers, each.faults) for each in readers] == [([], [])] * len(readers)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("look", LOOKS)
async def test_every_page_is_sound(look, reader):
    dark, size = LOOKS[look]
    guest = await reader(HOME, dark=dark, size=size)
    scheme = await guest.page.evaluate("document.body.getAttribute('data-md-color-scheme')")
    assert scheme == ("slate" if dark else "default")
    found = {}
    for where in PAGES:
        await guest.go(where)
        found[where] = await guest.complaints()
        if await guest.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[where].append("sticks out sideways")
    assert found == {where: [] for where in PAGES}


@pytest.mark.asyncio(loop_scope="session")
async def test_search_finds_a_page(reader):
    """The list of what is found is drawn by zensical itself: axe-core is not asked about it."""
    guest = await reader(HOME)
    await guest.page.keyboard.press("/")
    await guest.page.keyboard.type("retry_broken")
    found = guest.page.get_by_role("link").filter(has_text=re.compile("Settings"))
    await found.first.wait_for()


class Links(HTMLParser):
    """The links of a page, and the places in it that links may lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.places = {""}
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what leads somewhere, and what is led to."""
        given = dict(attrs)
        self.places |= {given[name] or "" for name in ("id", "name") if name in given}
        self.found += [given[name] or "" for name in ("href", "src") if name in given]


def test_every_link_of_the_site_leads_somewhere(site):
    pages = {page: Links(page) for page in SITE.rglob("*.html") if page.name != "404.html"}
    broken = []
    for page, links in pages.items():
        for link in links.found:
            name, _, place = link.partition("#")
            if re.match(r"[a-z]+:|//", name):
                continue
            target = (page.parent / name.partition("?")[0]).resolve() if name else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (target in pages and place not in pages[target].places):
                broken.append(f"{page.relative_to(SITE)}: {link}")
    assert broken == []
