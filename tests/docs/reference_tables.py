"""Every table that is made from the code, by the page that it is on."""

from collections.abc import Callable

from docs import (
    command_tables,
    environment_tables,
    feature_table,
    house_table,
    outcome_tables,
    settings_tables,
    untranslated_table,
)
from docs.api_pages import STABILITY, file_of
from docs.marked import table


def stability() -> str:
    """How stable each public name is, by module."""
    rows = [
        (
            f"[`{path}`](../api/{file_of(path)})",
            *[", ".join(f"`{name}`" for name in level) for level in levels],
        )
        for path, levels in ((path, found.values()) for path, found in STABILITY.items())
    ]
    return table(("module", "stable", "provisional"), rows)


def _some(tables: dict[str, Callable[[], str]], *names: str) -> dict[str, Callable[[], str]]:
    return {name: tables[name] for name in names}


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "reference/settings.md": settings_tables.TABLES,
    "reference/outcomes.md": _some(
        outcome_tables.TABLES, "stop reasons", "limit names", "outcomes", "error classes", "error kinds"
    ),
    "reference/events.md": _some(outcome_tables.TABLES, "events", "journal entries"),
    "reference/command-line.md": command_tables.TABLES,
    "reference/environment.md": environment_tables.TABLES,
    "reference/stability.md": {"stability": stability},
    "design.md": {"size": house_table.house},
    "models.md": {"features": feature_table.table},
    "gateway.md": {"untranslated": untranslated_table.table},
}
