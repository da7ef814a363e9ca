"""The navigation and the list of pages hold every page once, and are what ``make tables`` writes."""

import re

from docs.marked import DOCS, written
from docs.site_nav import HOME, SETTINGS, navigation, page_list

THERE = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_every_page_is_in_the_navigation_once():
    assert sorted(re.findall(r"[\w/.-]+\.md", navigation())) == THERE


def test_every_page_but_the_first_is_in_the_list_once():
    linked = re.findall(r"\]\(([^)]+\.md)\)", page_list())
    assert sorted(linked) == [page for page in THERE if page != "index.md"]


def test_both_are_as_they_are_written():
    assert written(SETTINGS, "navigation", "# {}") == navigation(), "make tables"
    assert written(HOME, "pages") == page_list(), "make tables"
