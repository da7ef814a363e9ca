"""What the pages are made of, read as text: no browser is needed to see that a way in is not there."""

import re
from pathlib import Path

import pytest

import rightcall

STATIC = Path(rightcall.__file__).parent / "serve" / "studio" / "static"
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
STYLES = [path for path in FILES if path.suffix == ".css"]

HTML_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML"
    r"|\beval\(|new Function|srcdoc|javascript:"
)
OUTSIDE = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", re.IGNORECASE)
NAMESPACE = "http://www.w3.org/2000/svg"


def named(path: Path) -> str:
    return str(path.relative_to(STATIC))


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_a_script_makes_no_markup_out_of_text_and_stays_one_idea(path):
    text = path.read_text()
    assert not HTML_FROM_TEXT.findall(text)
    assert text.startswith("// "), "the first line says what the file is for"
    assert len(text.splitlines()) < 400


@pytest.mark.parametrize("path", FILES, ids=named)
def test_nothing_is_loaded_from_outside(path):
    assert not OUTSIDE.findall(path.read_text().replace(NAMESPACE, ""))


def test_the_page_has_no_script_and_no_style_of_its_own():
    page = (STATIC / "index.html").read_text()
    assert re.findall(r"<script\b(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style\b|\sstyle=|\son\w+=", page) == []


def test_every_file_is_used_and_every_file_that_is_used_is_there():
    page = (STATIC / "index.html").read_text()
    asked = {STATIC / address for address in re.findall(r'(?:href|src)="/static/([^"]+)"', page)}
    for script in SCRIPTS:
        found = re.findall(r'(?:from|import\()\s*"(\.[^"]+)"', script.read_text())
        asked |= {(script.parent / address).resolve() for address in found}
    assert asked | {STATIC / "index.html"} == {path.resolve() for path in FILES}


def test_colours_are_said_once_for_light_and_dark():
    """A colour outside of the table would be right in one of the two and wrong in the other."""
    for path in STYLES:
        for line in path.read_text().splitlines():
            if re.search(r"#[0-9a-f]{3,8}\b", line):
                assert "light-dark(" in line, f"{named(path)}: {line.strip()}"
