"""The messages of a transcript, and an estimate of their tokens."""

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

from msgspec import UNSET, Struct, field, json
from msgspec.structs import replace

from rightcall.core.jsontext import JsonValue, dump
from rightcall.core.options import NameCheckedMeta
from rightcall.core.parts import Call, Media, Result, Text, Usage
from rightcall.errors import UsageError

if TYPE_CHECKING:
    from rightcall.core.tool import Spec


class Citation(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The source of something in a reply, in the same form for every vendor.

    The vendor's own form stays in the vendor data, and is sent back to it from there.
    """

    start: int | None = None
    """Where the cited span begins in the reply's ``text``; None if not given."""
    end: int | None = None
    """Where it ends; equal to ``start`` if the vendor gives a position between two characters."""
    url: str = ""
    title: str = ""
    file: str = ""
    """The vendor's id of a file, or the file's name if it has none."""
    quote: str = ""
    """The quoted text of the source."""


class Token(Struct, frozen=True, gc=False, omit_defaults=True):
    """A token that the model wrote, and its log probability."""

    text: str
    logprob: float
    """The natural logarithm of its probability."""
    top: tuple[tuple[str, float], ...] = ()
    """The most likely tokens at its place with their log probabilities, as many as were requested."""


StopReason: TypeAlias = Literal[
    "end", "calls", "length", "stop_sequence", "refusal", "pause", "filtered", "error"
]
"""Why generation stopped. ``pause``: the vendor wants to be asked to continue. ``error``: the reply
broke off, and may be incomplete."""

Author: TypeAlias = Literal["user", "developer", "runtime", "agent"]
"""Who wrote a user message: the person, the application, rightcall itself, or another agent's model
that delegates a task."""


class Reasoning(Struct, frozen=True, gc=False, omit_defaults=True, tag="reasoning"):
    """The model's reasoning, as far as the vendor shows it."""

    text: str
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    """Signatures and encrypted thoughts, by dialect; sent back unchanged to the same dialect."""


class Unknown(Struct, frozen=True, gc=False, omit_defaults=True, tag="unknown"):
    """A part that the decoder did not know; kept, and sent back to the same dialect."""

    vendor: Mapping[str, JsonValue]


class CompactionMark(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """What is sent in place of the messages before the one that has this mark.

    Places are counted back from that message, so that they stay right if the beginning of a transcript
    is cut off.
    """

    kept: int | None = None
    """How many messages right before it are still sent, after it. None: nothing was left out."""
    pinned: tuple[int, ...] = ()
    """How far before it each older message is that is still sent, in front of it."""
    left_out: int = 0
    """How many messages the summary stands for, with those of the summaries before."""
    summary: str = ""
    """What the messages left out held, in short."""
    shortened: int | None = None
    """Large results of messages further than this before it are sent as stubs; None for none."""
    large: int = 0
    """How many bytes of text a result may have, and is not large."""
    whole: tuple[str, ...] = ()
    """The tools whose results are never shortened."""
    tainted: bool | None = None
    """Whether the run had read untrusted text when it was made; None without trust rules."""


class _UserMeta(NameCheckedMeta):
    """The metaclass of User: a text, or a list of parts, becomes its parts. Decoding is not this."""

    if not TYPE_CHECKING:

        def __call__(self, content: Any = UNSET, *rest: Any, **fields: Any) -> Any:
            """Make a message; what is no part raises UsageError."""
            if content is UNSET:
                return super().__call__(**fields)
            if type(content) is not tuple:
                content = _parts_of(content)
            for part in content:
                if not isinstance(part, Text | Media):
                    raise UsageError(_NO_PARTS.format(part))
            return super().__call__(content, *rest, **fields)


_NO_PARTS = (
    'rc.User takes a text or parts, as rc.User("Hello.") or rc.User((rc.models.Text("Hello."),)), '
    "and not {!r}"
)


def _parts_of(content: object) -> tuple[object, ...]:
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, list):
        return tuple(content)
    raise UsageError(_NO_PARTS.format(content))


class User(Struct, frozen=True, gc=False, omit_defaults=True, tag="user", metaclass=_UserMeta):
    """A message to the model: ``rc.User("Hello.")``, or its parts."""

    content: tuple[Text | Media, ...]
    author: Author = "user"
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    pinned: bool = False
    """It is sent for as long as the conversation lasts, whatever is summarised."""
    compaction: CompactionMark | None = None
    """Set if rightcall put this message in place of earlier ones."""

    if TYPE_CHECKING:  # a text becomes its parts

        def __init__(
            self,
            content: str | Sequence[Text | Media],
            author: Author = "user",
            vendor: Mapping[str, JsonValue] = {},
            pinned: bool = False,  # noqa: FBT001, FBT002 - as the fields are
            compaction: CompactionMark | None = None,
        ) -> None: ...

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    def without_outsiders(self) -> "User":
        """The message without attachments that somebody else could have written."""
        own = [part for part in self.content if isinstance(part, Text) or not part.untrusted]
        if len(own) == len(self.content):
            return self
        return replace(self, content=tuple(own))


class Reply(Struct, frozen=True, gc=False, omit_defaults=True, tag="reply"):
    """A reply of the model: its parts in order, and why it stopped."""

    content: tuple[Text | Reasoning | Call | Media | Unknown, ...]
    stop: StopReason = "end"
    stop_word: str = ""
    """The vendor's own word for why it stopped; for a reply that broke off, the cause."""
    usage: Usage = Usage()
    model: str = ""
    """The model that answered, as the vendor names it."""
    vendor: Mapping[str, JsonValue] = field(default_factory=dict)
    answered_by: str = ""
    """Which of several models answered, by its name in ``fallback``."""
    fault: str = ""
    """What the vendor could not accept of the model's output, as a message for the model."""
    written_by: str = ""
    """The host that it came from. Parts that only this host understands are sent back only to it."""
    citations: tuple[Citation, ...] = ()
    """The sources of its text, if the vendor gives them; spans refer to ``text``."""
    logprobs: tuple[Token, ...] = ()
    """The probability of each token, if requested."""
    tainted: bool | None = None
    """Whether the run had read untrusted text when it was written; None without trust rules."""
    elsewhere: Mapping[str, Usage] = field(default_factory=dict)
    """The part of ``usage`` that other models took, by model: an advisor, or a vendor's fallback."""

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    @property
    def reasoning(self) -> str:
        """The reasoning parts, joined."""
        return "".join([part.text for part in self.content if isinstance(part, Reasoning)])

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, audio and files that the model produced, in order."""
        return tuple([part for part in self.content if isinstance(part, Media)])

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in order."""
        content = self.content
        if len(content) == 1:
            # Most replies are one text or one call, and this is asked for ten times in a turn.
            part = content[0]
            if isinstance(part, Call):
                return (part,)
            return ()
        return tuple([part for part in self.content if isinstance(part, Call)])


class Results(Struct, frozen=True, gc=False, omit_defaults=True, tag="results"):
    """The results of the calls in the reply before it, in the order of those calls."""

    results: tuple[Result, ...]


Message: TypeAlias = User | Reply | Results
Transcript: TypeAlias = tuple[Message, ...]


def user_text(text: str, author: Author = "user") -> User:
    """Returns a user message of plain text."""
    return replace(_EMPTY_USER, content=(Text(text),), author=author)


_EMPTY_USER = User(())
"""Copied for each new message: that is faster than the constructor, which checks names."""


def holds_much(messages: Transcript, *, begun: bool = False) -> bool:
    """Whether a message holds a file too large to encode on the event loop.

    If the conversation is ``begun``, only messages since the last reply count: older ones are encoded
    already.
    """
    for message in reversed(messages):
        if begun and isinstance(message, Reply):
            return False
        holders = message.results if isinstance(message, Results) else (message,)
        for holder in holders:
            for part in holder.content:
                if type(part) is Media and len(part.data) > _MUCH:
                    return True
    return False


_MUCH = 256 * 1024
"""Bytes of a file that take so long to encode that the event loop would be blocked."""


_PER_TOOL = 12
"""What a tool definition adds around its name, description and schema, in the vendors' formats."""
_PER_MESSAGE = 8
_PER_CALL = 50
"""Anthropic's models take 30 to 57 tokens for a call besides its name and arguments, others 3 to 20."""
_PER_RESULT = 30
_PER_MEDIA = 1_600
"""The tokens of a large image. Documents are sent page by page, as images and text."""
_BYTES_PER_TOKEN = {"audio": 100, "video": 400, "application": 10, "text": 2}

_ASCII = bytes(range(128))
_BUT_DIGITS = bytes(set(range(256)) - set(string.digits.encode()))
_BUT_MARKS = bytes(set(range(256)) - set(string.punctuation.encode()))


def estimate_tokens(message: Message) -> int:
    """Estimates the tokens of a message, rather too many than too few.

    Letters and spaces count four to a token, bytes of other scripts two, marks one and a third, digits
    one. Checked against SmolLM2's tokenizer, a hard case with its small English vocabulary and a token
    for every digit, that is 1.0 to 1.4 times the truth for English, code, HTML and JSON, 0.9 to 1.0 for
    numbers and logs, 0.75 to 0.85 for German, French and Spanish, 0.85 to 1.2 for other scripts, and 0.5
    to 0.8 for hashes, base64 and emoji. Of 184 vendors' replies, most with calls, 8 had more tokens than
    estimated.
    """
    return _tokens(message, text_tokens)


def most_tokens(message: Message) -> int:
    """Returns a number of tokens that the estimate does not exceed, without looking at the text."""
    return _tokens(message, _most_of_text)


def _tokens(message: Message, count: Callable[[str], int]) -> int:
    tokens = _PER_MESSAGE
    if isinstance(message, Results):
        for result in message.results:
            tokens += _PER_RESULT
            for inner in result.content:
                tokens += _part_tokens(inner, count)
    else:
        for part in message.content:
            tokens += _part_tokens(part, count)
    return tokens


def _part_tokens(part: Text | Media | Reasoning | Call | Unknown, count: Callable[[str], int]) -> int:
    if isinstance(part, Text):
        # Before the match, which takes three times as long: every turn of a run counts its messages.
        return count(part.text)
    match part:
        case Reasoning(text, vendor):
            return max(count(text), _vendor_tokens(vendor))
        case Call():
            words = count(part.name) + count(part.arguments)
            return _PER_CALL + words + _vendor_tokens(part.vendor)
        case Media(data, media_type):
            rate = _BYTES_PER_TOKEN.get(media_type.partition("/")[0])
            if rate is None:
                return _PER_MEDIA
            return max(_PER_MEDIA, len(data) // rate)
        case Unknown(vendor):
            return _vendor_tokens(vendor)
        case _:
            assert_never(part)


def _most_of_text(text: str) -> int:
    """Returns two for each character: what the estimate makes of an emoji, its dearest."""
    return 2 * len(text)


def text_tokens(text: str) -> int:
    """Estimates the tokens of a text."""
    data = text.encode(errors="surrogatepass")
    if len(data) == len(text):
        foreign = 0
    else:
        foreign = len(data.translate(None, _ASCII))
    marks = len(data.translate(None, _BUT_MARKS))
    digits = len(data.translate(None, _BUT_DIGITS))
    quarters = len(data) + foreign + 2 * marks + 3 * digits
    return -(-quarters // 4)


def _vendor_tokens(vendor: Mapping[str, JsonValue]) -> int:
    """Encrypted thoughts are about as long as the thoughts."""
    if vendor:
        return len(json.encode(vendor)) // 4
    return 0


def spec_tokens(specs: "Iterable[Spec]") -> int:
    """Estimates the tokens of tool definitions."""
    written = [spec.name + spec.description + dump(spec.parameters) for spec in specs]
    return _PER_TOOL * len(written) + sum(map(text_tokens, written))
