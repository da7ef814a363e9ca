"""What an encoder has written before, kept from one request of a conversation to the next."""

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

from rightcall.core.message import Message, Transcript

Writer = TypeVar("Writer")
Made = TypeVar("Made")


class EncodeCache:
    """A conversation grows at its end, so its beginning is written once: each message of it.

    Owned by the encoder of one conversation, and gone with it.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}

    def written(
        self,
        key: str,
        messages: Transcript,
        begin: Callable[[], Writer],
        write: Callable[[Writer, Message, int], None],
    ) -> Writer:
        """The writer that has written these messages, and only those that it had not written before.

        A writer that fails is not kept, as nobody knows how far it came.
        """
        before, writer = self._entries.pop(key, ((), None))
        if writer is None or len(before) > len(messages) or not all(map(is_, before, messages)):
            before, writer = (), begin()
        for at in range(len(before), len(messages)):
            write(writer, messages[at], at)
        self._entries[key] = (messages, writer)
        found: Writer = writer
        return found

    def made(self, key: str, given: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """What ``make`` makes of ``given``, made again only when any of that is another object.

        To be equal is not enough: 1 and 1.0 are, and objects whose members stand in another order.
        """
        before, thing = self._entries.get(key, (None, None))
        if before is None or len(before) != len(given) or not all(map(is_, before, given)):
            thing = make()
            self._entries[key] = (given, thing)
        found: Made = thing
        return found
