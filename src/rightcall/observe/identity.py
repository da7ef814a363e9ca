"""The conversation that runs belong to, as the application knows it; no id is ever made up."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CONVERSATION: ContextVar[str] = ContextVar("rightcall_conversation", default="")


@contextmanager
def conversation(identity: str) -> Iterator[None]:
    """Set the conversation id that observers see for runs that begin in this context."""
    token = CONVERSATION.set(identity)
    try:
        yield
    finally:
        CONVERSATION.reset(token)
