"""The table of what is lost between dialects, made from the code. Run it to write the page."""

from pathlib import Path

from rightcall.wire.untranslated import rows

PAGE = Path(__file__).parents[2] / "docs/gateway.md"
BEGIN = "<!-- untranslated: made by tests/docs/untranslated_table.py -->\n"
END = "<!-- /untranslated -->"


def table() -> str:
    """The table as the page has it: a row for each dialect and side."""
    found: dict[tuple[str, str], list[str]] = {}
    for lost in rows():
        why = f" ({lost.why})" if lost.why else ""
        found.setdefault((lost.side, lost.dialect), []).append(f"{_spelt(lost.what)}{why}")
    lines = [
        f"| {side} | `{dialect}` | {', '.join(things)} |" for (side, dialect), things in found.items()
    ]
    return "\n".join(["| lost | dialect | what |", "|---|---|---|", *lines, ""])


def _spelt(what: str) -> str:
    return what if " " in what or what in ("citations", "thoughts") else f"`{what}`"


def written(page: str) -> str:
    """The table that a page has."""
    return page.partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])
