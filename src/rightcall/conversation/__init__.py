"""Conversations that last: stored by id, compacted, added to while they go on; large results; skills."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.conversation.compaction import Compaction as Compaction
    from rightcall.conversation.conversations import ConversationInfo as ConversationInfo
    from rightcall.conversation.conversations import ConversationRun as ConversationRun
    from rightcall.conversation.conversations import Conversations as Conversations
    from rightcall.conversation.inbox import Inbox as Inbox
    from rightcall.conversation.large_results import LargeResults as LargeResults
    from rightcall.conversation.result_store import FolderResults as FolderResults
    from rightcall.conversation.result_store import MemoryResults as MemoryResults
    from rightcall.conversation.result_store import ResultStore as ResultStore
    from rightcall.conversation.result_store import StoredResult as StoredResult
    from rightcall.conversation.run_handle import RunHandle as RunHandle
    from rightcall.conversation.skills import Skills as Skills
    from rightcall.conversation.skills import read_agents_md as read_agents_md
    from rightcall.core.handler import Later as Later
    from rightcall.loop.window import Window as Window

_HOMES = {
    "conversation.compaction": ("Compaction",),
    "conversation.conversations": ("ConversationInfo", "ConversationRun", "Conversations"),
    "conversation.inbox": ("Inbox",),
    "conversation.large_results": ("LargeResults",),
    "conversation.result_store": ("FolderResults", "MemoryResults", "ResultStore", "StoredResult"),
    "conversation.run_handle": ("RunHandle",),
    "conversation.skills": ("Skills", "read_agents_md"),
    "core.handler": ("Later",),
    "loop.window": ("Window",),
}
lazily(__name__, index_homes(_HOMES))
