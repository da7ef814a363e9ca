"""What outlives a run, and what reaches it while it goes on."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import index_homes, lazily

if TYPE_CHECKING:
    from rightcall.conversation.inbox import Inbox as Inbox
    from rightcall.conversation.run_handle import RunHandle as RunHandle

_HOMES = {
    "conversation.inbox": ("Inbox",),
    "conversation.run_handle": ("RunHandle",),
}
lazily(__name__, index_homes(_HOMES))
