"""What a run hands on to the next run of the same conversation, so that a history is not read again.

A server runs its agent once for each message of a user, with what was said before as ``history``. What
was encoded and counted of it then is still true, since messages do not change. It is recognised by the
identity of every message: equal ones may be encoded differently.
"""

from collections import OrderedDict
from collections.abc import Iterable
from operator import is_

from rightcall.core.message import Message, Reply, Transcript, holds_much
from rightcall.core.request import Conversation
from rightcall.loop.fitting import Fitting

_LONG = 64
"""Messages below which a history is encoded in less time than a look at this is worth."""
_MOST = 32
"""Conversations that are kept. Their messages stay alive with them, so there must not be many."""


class Carried:
    """What one run works out about its transcript, and the next can use."""

    __slots__ = ("call_ids", "conversation", "fitting", "messages")

    def __init__(self, messages: Transcript) -> None:
        self.messages = messages
        self.conversation = Conversation()
        self.fitting = Fitting()
        self.call_ids = set(_call_ids(messages))

    def is_of(self, messages: Transcript) -> bool:
        """Whether it is about these very messages."""
        return len(messages) == len(self.messages) and all(map(is_, messages, self.messages))


class Carryover:
    """The long conversations whose last runs ended most recently."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[int, Carried] = OrderedDict()
        """By the identity of the last message."""

    def begin(self, messages: Transcript, history: int) -> Carried:
        """What is known about the messages of a new run, of which ``history`` are from earlier ones.

        It is taken out: two runs that continue the same conversation at once must not share it.
        """
        known = self._kept.pop(id(messages[history - 1]), None) if history >= _LONG else None
        if known is None or not known.is_of(messages[:history]):
            return Carried(messages)
        known.call_ids.update(_call_ids(messages[history:]))
        return known

    def keep(self, carried: Carried, messages: Transcript) -> None:
        """Keep what a run knows, unless its transcript has large files or was summed up."""
        if len(messages) < _LONG or holds_much(messages) or not carried.fitting.is_repeatable:
            return
        carried.messages = messages
        self._kept[id(messages[-1])] = carried
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)


NO_CARRYOVER = Carryover(most=0)
"""Keeps nothing, for runs that nobody continues."""


def _call_ids(messages: Iterable[Message]) -> list[str]:
    return [call.id for message in messages if isinstance(message, Reply) for call in message.calls]
