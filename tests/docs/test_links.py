"""Links lead somewhere: files that are there, and headings that are there, on GitHub and on the site.

Addresses on the web are not asked. Pages of the site may link only to what is on it.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.marked import DOCS, ROOT

PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
PARSER = MarkdownIt("commonmark").enable("table")
IN_HTML = re.compile(r'\b(?:href|src)="([^"]+)"')
ID_IN_HTML = re.compile(r'\bid="([^"]+)"')
OUTSIDE = re.compile(r"[a-z][a-z+.-]*:|//")


class Anchors(NamedTuple):
    """The anchors of a page's headings, as GitHub and as the site's generator make them."""

    github: set[str]
    site: set[str]


@cache
def tokens(page: Path) -> list[Token]:
    """All of a page, with what stands inside of lines."""
    found: list[Token] = []
    for token in PARSER.parse(page.read_text()):
        found += [token, *(token.children or ())]
    return found


def links(page: Path) -> Iterator[str]:
    """Every link and picture of a page that leads to no other host."""
    for token in tokens(page):
        if token.type in ("link_open", "image"):
            targets = [str(token.attrs.get("href") or token.attrs.get("src") or "")]
        else:
            targets = IN_HTML.findall(token.content) if token.type.startswith("html") else []
        yield from (target for target in targets if not OUTSIDE.match(target))


@cache
def anchors(page: Path) -> Anchors:
    """Where in a page a link may lead."""
    github: set[str] = set()
    site: set[str] = set()
    blocks = PARSER.parse(page.read_text())
    for opening, inside in pairwise(blocks):
        if opening.type == "heading_open":
            slug = slugified(inside)
            github.add(numbered(slug, github, "-"))
            site.add(numbered(slug, site, "_"))
    html = [token.content for token in tokens(page) if token.type.startswith("html")]
    given = {name for text in html for name in ID_IN_HTML.findall(text)}
    return Anchors(github | given, site | given)


def slugified(heading: Token) -> str:
    """GitHub's way with a heading, which is also that of ``pymdownx.slugs`` in lower case."""
    text = "".join(
        part.content for part in heading.children or () if part.type in ("text", "code_inline")
    )
    return re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-")


def numbered(slug: str, taken: set[str], before: str) -> str:
    """The slug, with a number where it is taken."""
    numbers = range(1, len(taken) + 2)
    return (
        slug
        if slug not in taken
        else next(n for n in (f"{slug}{before}{i}" for i in numbers) if n not in taken)
    )


def problems(page: Path) -> Iterator[str]:
    """What is wrong with a page's links."""
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            yield f"{link}: there is no such file"
        elif page.is_relative_to(DOCS) and not target.is_relative_to(DOCS):
            yield f"{link}: is not on the site; name the file without a link"
        elif anchor and target.suffix == ".md":
            found = anchors(target)
            if anchor not in found.github & found.site:
                yield f"{link}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    assert list(problems(page)) == []


def file_names(page: Path) -> list[str]:
    """The links of a page whose words are a file's name."""
    return [
        inside.content
        for opening, inside in pairwise(tokens(page))
        if opening.type == "link_open" and inside.content.endswith(".md")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_says_in_words_where_it_leads(page):
    assert file_names(page) == []


def test_links_that_are_file_names_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a.md](a.md), [words](b.md), and [c.md](c.md#part)\n")
    assert file_names(page) == ["a.md", "c.md"]


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `name`: two words\n\n## Twice\n\n## Twice\n\n"
        "[a](#a-name-two-words) [b](#twice) [c](gone.md)\n"
        "[d](#a-name) ![e](gone.png) <a href='x'> `[f](gone)` [g](https://example.com) [h](#twice-1)\n"
    )
    found = [problem.partition(":")[0] for problem in problems(page)]
    assert found == ["gone.md", "#a-name", "gone.png", "#twice-1"]


def starts_of_lists(page: Path) -> Iterator[int]:
    """The lines at which a list begins that no list is around."""
    for token in PARSER.parse(page.read_text()):
        if token.type in ("bullet_list_open", "ordered_list_open") and not token.level and token.map:
            yield token.map[0]


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS))
)
def test_a_list_follows_an_empty_line(page):
    """GitHub takes a list right after a sentence; the site would run it into the sentence."""
    lines = ["", *page.read_text().splitlines()]
    assert [lines[start + 1] for start in starts_of_lists(page) if lines[start].strip()] == []
