"""Every name of rightcall's that the docs and the changelog mention is there."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import rightcall
from rightcall.observe import conventions

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "CHANGELOG.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PUBLIC = re.compile(r"(?<![\w./-])rc((?:\.[A-Za-z_]\w*)+)")
MODULE = re.compile(r"(?<![\w./-])rightcall((?:\.[A-Za-z_]\w*)+)")
TRACED = {name for name in vars(conventions).values() if isinstance(name, str)}
"""What stands in traces and metrics, by names that look like a module's."""
IMPORTED = re.compile(r"^from rightcall((?:\.\w+)*) import (.+)$", re.MULTILINE)


def missing(text: str) -> Iterator[str]:
    """What a page names and is not there, each as it is written."""
    yield from (f"rc{name}" for name in PUBLIC.findall(text) if not is_public(name[1:]))
    yield from (f"rightcall{name}" for name in MODULE.findall(text) if not is_inside(name[1:]))
    for home, names in IMPORTED.findall(text):
        module = import_module(f"rightcall{home}")
        each = [name.partition(" as ")[0].strip() for name in names.split(",")]
        yield from (f"rightcall{home}.{name}" for name in each if not hasattr(module, name))


def is_public(name: str) -> bool:
    found: object = rightcall
    for part in name.split("."):
        # Not hasattr: it also finds a module that no more than somebody's import has put there.
        if part not in dir(found):
            return False
        found = getattr(found, part)
    return True


def is_inside(name: str) -> bool:
    home, _, last = name.rpartition(".")
    if is_public(name) or f"rightcall.{name}" in TRACED:
        return True
    try:
        import_module(f"rightcall.{name}")
    except ModuleNotFoundError:
        return bool(home) and hasattr(import_module(f"rightcall.{home}"), last)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_what_is_there(page):
    assert list(missing(page.read_text())) == []


def test_the_check_finds_what_is_missing():
    text = (
        "`rc.tool`, `rc.RunResult.from_json`, rc.Toolbx, rc.mcp.conect, rc.loop, x-rc.nil, "
        "`rightcall.core.parts.Call`, rightcall.core.cal\n"
        "from rightcall.errors import UsageError as U, Nil\n"
    )
    assert list(missing(text)) == [
        "rc.Toolbx",
        "rc.mcp.conect",
        "rc.loop",
        "rightcall.core.cal",
        "rightcall.errors.Nil",
    ]
