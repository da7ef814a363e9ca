"""The journals, which store the entries of runs, and what can be made of the entries."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.core import entry
    from rightcall.record.jsonl import JsonLinesJournal
    from rightcall.record.memory import MemoryJournal
    from rightcall.record.redact import redact_secrets
    from rightcall.record.sqlite import SqliteJournal
    from rightcall.record.steps import fork

__all__ = ["JsonLinesJournal", "MemoryJournal", "SqliteJournal", "entry", "fork", "redact_secrets"]

lazily(
    __name__,
    {
        "JsonLinesJournal": "record.jsonl",
        "MemoryJournal": "record.memory",
        "SqliteJournal": "record.sqlite",
        "entry": "core.entry",
        "fork": "record.steps",
        "redact_secrets": "record.redact",
    },
)
