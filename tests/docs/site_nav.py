"""The site's navigation, and the list of pages in docs/index.md, made from ``pages.toml`` and the pages.

What the file names and is not there is left out; what is there and not named is an error.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.marked import DOCS, ROOT, table

SETTINGS = ROOT / "mkdocs.yml"
HOME = DOCS / "index.md"
KINDS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "pages.toml").read_text())["kind"]


def pages_of(section: dict[str, Any]) -> list[str]:
    """The pages of a section that are there, by their paths below docs."""
    folder = section.get("folder")
    if folder is None:
        return [page for page in section["pages"] if (DOCS / page).is_file()]
    names = sorted(path.name for path in (DOCS / folder).glob("*.md"))
    if "index.md" in names:
        linked = re.findall(r"\]\(([\w.-]+\.md)", (DOCS / folder / "index.md").read_text())
        ranks = {name: rank for rank, name in enumerate(dict.fromkeys(["index.md", *linked]))}
        names.sort(key=lambda name: ranks.get(name, len(ranks)))
    return [f"{folder}/{name}" for name in names]


def title(page: str) -> str:
    """A page's heading as it stands in a list: up to the colon, if that names no other page as well."""
    headings = _headings()
    short = headings[page].partition(":")[0]
    same = [each for each in headings.values() if each.partition(":")[0] == short]
    return short if len(same) == 1 else headings[page]


def _headings() -> dict[str, str]:
    found = {str(path.relative_to(DOCS)): path.read_text() for path in DOCS.rglob("*.md")}
    return {
        page: text.partition("\n")[0].removeprefix("# ").replace("`", "") for page, text in found.items()
    }


def navigation() -> str:
    """The ``nav`` of mkdocs.yml."""
    lines = ["nav:", "  - Home: index.md"]
    for kind in KINDS:
        sections = [(section, pages_of(section)) for section in kind["sections"]]
        if any(pages for _, pages in sections):
            lines.append(f"  - {kind['title']}:")
        for section, pages in sections:
            if pages and "title" in section:
                lines.append(f"      - {section['title']}:")
            depth = 10 if "title" in section else 6
            lines += [" " * depth + f"- {_entry(page)}" for page in pages]
    return "\n".join(lines) + "\n"


def _entry(page: str) -> str:
    # Without a title of its own: the page of the whole section.
    return page if page.endswith("/index.md") else f"{json.dumps(title(page))}: {page}"


def page_list() -> str:
    """The list of all pages, by kind."""
    parts = []
    for kind in KINDS:
        rows = [row for section in kind["sections"] for row in _rows(section)]
        if rows:
            parts.append(f"\n## {kind['title']}\n\n{kind['about']}\n\n{table(('page', 'about'), rows)}")
    return "".join(parts) + "\n"


def _rows(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    pages = pages_of(section)
    if "pages" in section:
        yield from ((_link(page), section["pages"][page]) for page in pages)
    elif pages:
        first, *others = pages
        yield _link(first), "<br>".join(map(_link, others))


def _link(page: str) -> str:
    return f"[{title(page)}]({page})"
