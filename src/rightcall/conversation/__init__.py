"""What outlives a run, and what reaches it while it goes on."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.conversation.conversations import ConversationInfo as ConversationInfo
    from rightcall.conversation.conversations import ConversationRun as ConversationRun
    from rightcall.conversation.conversations import Conversations as Conversations
    from rightcall.conversation.inbox import Inbox as Inbox
    from rightcall.conversation.run_handle import RunHandle as RunHandle
    from rightcall.conversation.skills import Skills as Skills
    from rightcall.conversation.skills import read_agents_md as read_agents_md

_HOMES = {
    "conversation.conversations": ("ConversationInfo", "ConversationRun", "Conversations"),
    "conversation.inbox": ("Inbox",),
    "conversation.run_handle": ("RunHandle",),
    "conversation.skills": ("Skills", "read_agents_md"),
}
lazily(__name__, index_homes(_HOMES))
