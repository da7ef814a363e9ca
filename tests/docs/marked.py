"""The parts of pages that programs write: what stands between two comments of one name."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def written(page: Path, name: str, comment: str = "<!-- {} -->") -> str:
    """What a page has between the comments of this name."""
    return _parted(page, name, comment)[1]


def write(page: Path, name: str, text: str, comment: str = "<!-- {} -->") -> None:
    """Put a text there, in place of what the page has."""
    before, _, after = _parted(page, name, comment)
    page.write_text(f"{before}{text}{after}")


def _parted(page: Path, name: str, comment: str) -> tuple[str, str, str]:
    """A page up to the end of the first comment, between the two, and from the second on."""
    text = page.read_text()
    begin = re.search(re.escape(comment.partition("{")[0] + name) + ":.*\n", text)
    assert begin, f"{page.name} has no place for {name!r}"
    inside, end, after = text[begin.end() :].partition(comment.format(f"/{name}"))
    assert end, f"{page.name} has no end for {name!r}"
    return text[: begin.end()], inside, end + after


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of Markdown. A cell is one line, and a bar in it is part of the cell."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
