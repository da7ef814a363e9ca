"""The journals, which store the entries of runs, and what can be made of the entries."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.core import entry as entry
    from rightcall.core.budget import Stop as Stop
    from rightcall.core.ports import AsyncJournal as AsyncJournal
    from rightcall.core.ports import Journal as Journal
    from rightcall.record.jsonl import JsonLinesJournal as JsonLinesJournal
    from rightcall.record.memory import MemoryJournal as MemoryJournal
    from rightcall.record.redact import redact_secrets as redact_secrets
    from rightcall.record.sqlite import SqliteJournal as SqliteJournal
    from rightcall.record.steps import fork as fork

_HOMES = {
    "core.budget": ("Stop",),
    "core.entry": ("entry",),
    "core.ports": ("AsyncJournal", "Journal"),
    "record.jsonl": ("JsonLinesJournal",),
    "record.memory": ("MemoryJournal",),
    "record.redact": ("redact_secrets",),
    "record.sqlite": ("SqliteJournal",),
    "record.steps": ("fork",),
}
lazily(__name__, index_homes(_HOMES))
