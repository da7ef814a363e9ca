"""Whether an SQLite file is a store of durable runs. Loads no library, and writes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'workflow_status'"


def is_store(path: Path) -> bool:
    """Whether a file is a store of durable runs, and not a journal."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(_TABLE).fetchone() is not None
    except sqlite3.Error:
        return False
