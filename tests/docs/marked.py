"""The parts of pages that programs write: what stands between two comments of one name."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def written(page: Path, name: str, comment: str = "<!-- {} -->") -> str:
    """What a page has between the comments of this name."""
    begin, end = _comments(name, comment)
    _, found, rest = page.read_text().partition(begin)
    assert found, f"{page.name} has no line {begin!r}"
    return rest.partition(end)[0]


def write(page: Path, name: str, text: str, comment: str = "<!-- {} -->") -> None:
    """Put a text there, in place of what the page has."""
    begin, end = _comments(name, comment)
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"{page.name} has no place for {name!r}"
    page.write_text(f"{before}{begin}{text}{end}{after}")


def _comments(name: str, comment: str) -> tuple[str, str]:
    return comment.format(f"{name}: written by make tables") + "\n", comment.format(f"/{name}")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of Markdown. A cell is one line, and a bar in it is part of the cell."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
