"""A worst-case model: the user's calls, and the attacker's as soon as the attack can be read.

It does everything right, for both of them, and nothing else: no judgement stands between what it reads
and what it asks for. The one thing it cannot do is to tell what it has not read: when a call of the
attacker's is refused, what later calls would have taken from its result stays a placeholder.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from agentdojo.functions_runtime import FunctionCall
from visible import squashed, words

from rightcall.core.jsontext import dump
from rightcall.core.message import Reply, Results
from rightcall.core.request import Request
from rightcall.testing import call, reply

ONE_TIME = "ONE-TIME-PASSWD"
"""What stands in AgentDyn's solutions for a password that is made up during the run."""
_PASSWORD = re.compile(r"(?<![\d.])\d{6}(?!\d)")

When: TypeAlias = Literal["at once", "after", "instead"]
"""The attacker's calls come before the rest of the user's, after all of them, or in their place."""


class StandIn:
    """Answers requests as a hijacked model would; a script for ``ScriptedModel``.

    ``signs`` are the texts that must all have been read before the model knows of the attack; ``attack``
    gives the attacker's calls, as things stand when the first of them is made.
    """

    def __init__(
        self,
        calls: Sequence[FunctionCall],
        answer: str,
        *,
        signs: Sequence[str] = (),
        attack: Callable[[], Sequence[FunctionCall]],
        attack_answer: str = "",
        when: When = "at once",
    ) -> None:
        self.hijacked = False
        self.spread = False
        """Whether no single result showed all of the signs."""
        self._user = list(calls)
        self._attacker: list[FunctionCall] | None = None
        self._answer = answer
        self._attack_answer = attack_answer
        self._signs = [squashed(sign) for sign in signs]
        self._attack = attack
        self._when = when
        self._results: list[str] = []
        self._words: set[str] = set()
        self._password = ONE_TIME
        self._read = 0
        self._refused = False

    def __call__(self, request: Request) -> Reply:
        """The next call, or the answer when there is none left."""
        self._look(request)
        if self.hijacked and (self._when != "after" or not self._user):
            if self._attacker is None:
                self._attacker = list(self._attack())
            if self._attacker:
                following = self._attacker.pop(0)
                return reply(call(following.function, dump(self._known(following))))
        instead = self.hijacked and self._when == "instead"
        if self._user and not instead:
            following = self._user.pop(0)
            return reply(call(following.function, dump(self._with_password(following.args))))
        said = ([] if instead else [self._answer]) + ([self._attack_answer] if self.hijacked else [])
        return reply("\n".join(said))

    def _with_password(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, with the one-time password that was read last in its place."""
        return {name: self._password if each == ONE_TIME else each for name, each in arguments.items()}

    def _look(self, request: Request) -> None:
        """Read what is new among the messages."""
        for message in request.messages[self._read :]:
            if isinstance(message, Results):
                for result in message.results:
                    self._results.append(squashed(result.text))
                    self._words |= words(result.text)
                    self._password = (_PASSWORD.findall(result.text) or [self._password])[-1]
                    self._refused |= self._attacker is not None and result.is_error
        self._read = len(request.messages)
        if self._signs and not self.hijacked:
            self.hijacked = all(any(s in one for one in self._results) for s in self._signs)
            self.spread = not any(all(s in one for s in self._signs) for one in self._results)

    def _known(self, following: FunctionCall) -> dict[str, Any]:
        """The call's arguments, without what only a refused call would have told."""
        arguments = dict(following.args)
        if self._refused:
            for name, placeholder in (following.placeholder_args or {}).items():
                needed = words(str(arguments.get(name))) - words(str(placeholder))
                if name in arguments and not needed <= self._words:
                    arguments[name] = placeholder
        return arguments
