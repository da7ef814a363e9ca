"""The page on reliability says how much of everything there is, and which files test it."""

import re
from pathlib import Path

import pytest

from chaos.hostile_models import MODELS
from chaos.hostile_server import CALLS, GREETINGS, LISTS
from chaos.hostile_tools import TOOLS
from chaos.hostile_vendors import ANSWERS
from chaos.memory import WAYS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
COUNTS = {
    "hostile tools": len(TOOLS),
    "hostile models": len(MODELS),
    "hostile vendors": len(ANSWERS),
    "hostile MCP servers": len(GREETINGS) + len(LISTS) + len(CALLS),
}


@pytest.mark.parametrize("kind", COUNTS)
def test_the_page_counts_right(kind):
    assert f"{COUNTS[kind]} {kind}" in " ".join(PAGE.split())


def test_the_files_that_the_page_names_are_there():
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?)`", PAGE)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_way_that_is_weighed_is_on_the_page():
    assert [way for way in WAYS if f"`{way}`" not in PAGE] == []
