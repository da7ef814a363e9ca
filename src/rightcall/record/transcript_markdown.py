"""Converts messages to Markdown: a conversation to read, to send on, to keep."""

import re
from collections.abc import Iterator, Sequence

from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Media, Text
from rightcall.core.sanitize import printable


def markdown_lines(messages: Sequence[Message]) -> Iterator[str]:
    """Returns each message under its author; calls and results in blocks that their text cannot end."""
    for message in messages:
        match message:
            case User(author=author):
                yield f"## {author.capitalize()}\n"
                for part in message.content:
                    yield f"{part.text if isinstance(part, Text) else _media_words(part)}\n"
            case Reply():
                yield "## Model\n"
                if message.text:
                    yield f"{message.text}\n"
                for call in message.calls:
                    block = _code_block(call.arguments or "{}", "json")
                    yield f"`{call.name}` was called with\n\n{block}\n"
            case Results(results):
                for result in results:
                    shown = result.text or " ".join(
                        _media_words(part) for part in result.content if isinstance(part, Media)
                    )
                    yield f"`{result.name}` {result.outcome}:\n\n{_code_block(shown)}\n"


def _media_words(media: Media) -> str:
    return f"[{printable(media.about)}]"


def _code_block(text: str, kind: str = "") -> str:
    """Returns a code block that nothing in the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"
