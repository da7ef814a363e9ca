"""The table of what is lost between dialects, made from the code."""

from docs.marked import DOCS
from rightcall.wire.translation_losses import rows

PAGE = DOCS / "gateway.md"


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
