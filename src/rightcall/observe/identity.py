"""The conversation that runs belong to, as the application knows it; none is ever made up."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CONVERSATION: ContextVar[str] = ContextVar("rightcall_conversation", default="")


@contextmanager
def conversation(identity: str) -> Iterator[None]:
    """Runs that begin in this context belong to the conversation with that id, for observers."""
    token = CONVERSATION.set(identity)
    try:
        yield
    finally:
        CONVERSATION.reset(token)
