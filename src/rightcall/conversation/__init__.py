"""Conversations that last: compaction, large results by reference, and tools that answer later."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.conversation.compaction import Compaction as Compaction
    from rightcall.conversation.large_results import LargeResults as LargeResults
    from rightcall.conversation.result_store import FolderResults as FolderResults
    from rightcall.conversation.result_store import MemoryResults as MemoryResults
    from rightcall.conversation.result_store import ResultStore as ResultStore
    from rightcall.conversation.result_store import StoredResult as StoredResult
    from rightcall.core.handler import Later as Later

_HOMES = {
    "conversation.compaction": ("Compaction",),
    "conversation.large_results": ("LargeResults",),
    "conversation.result_store": ("FolderResults", "MemoryResults", "ResultStore", "StoredResult"),
    "core.handler": ("Later",),
}
lazily(__name__, index_homes(_HOMES))
