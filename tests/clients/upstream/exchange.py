"""What is asked of the scripted vendor and what it answers, in no dialect.

Each dialect's module reads its requests into ``Asked``, and writes a ``Reply`` as its vendor would,
whole or as the events of a stream.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

PIECE = 7
"""Letters in one delta: small, so that everything comes in several."""


@dataclass(frozen=True)
class Offered:
    """A tool that the client offers."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    freeform: bool = False
    """Whether it takes text instead of JSON."""
    namespace: str | None = None


@dataclass(frozen=True)
class Asked:
    """One request, as far as the script needs to know it."""

    model: str
    streamed: bool
    tools: tuple[Offered, ...]
    results: tuple[str, ...]
    """What came back of the calls so far, in order, as text."""
    text: str
    """Everything said to the model, in one."""
    thinks: bool = False
    """Whether the request asks for thoughts, or this vendor gives them unasked."""
    returned: tuple[str, ...] = ()
    """The signatures of earlier replies that came back."""
    schema: Mapping[str, Any] | None = None
    """What the answer must be, where the request says so."""


@dataclass(frozen=True)
class Call:
    """A call of a tool: arguments as a dict, or as text where the tool takes text."""

    tool: Offered
    arguments: Mapping[str, Any] | str
    id: str = ""


@dataclass(frozen=True)
class Reply:
    """What the vendor answers."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thought: str = ""
    signature: str = ""
    number: int = 0
    """Counts the replies of this vendor, for ids that never come twice."""
    cut: bool = False
    """Whether the answer ran into its limit of tokens."""
    silence: float = 0.0
    """Seconds before anything is answered."""
    strange: bool = False
    """Whether the stream also says something that no client has heard of."""
    events: int | None = None
    """After how many events the connection drops; None lets the stream end."""


@dataclass(frozen=True)
class Fault:
    """An error in place of a reply, worded by the dialect."""

    status: int
    message: str
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    """What a real vendor would not take: answered with its 400, and held against whoever sent it."""


Script: TypeAlias = Callable[[Asked], Reply | Fault]


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def only(body: Mapping[str, Any], known: frozenset[str], words: str) -> None:
    """Vendors refuse members that they do not know; ``words`` is how, with ``{}`` for the name."""
    for name in body:
        if name not in known:
            raise RefusedError(words.format(name))


def paired(calls: list[str], results: list[str], words: str) -> None:
    """Every call has exactly one result before the conversation goes on."""
    if sorted(calls) != sorted(results):
        raise RefusedError(f"{words}: calls {calls}, results {results}")
