"""Shows, or writes to a file, the raw requests to a model and the raw replies."""

import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import json as fast_json
from msgspec import to_builtins

from rightcall.core.events import ModelEvent
from rightcall.core.ports import Model
from rightcall.core.request import Profile, Request
from rightcall.core.sanitize import printable
from rightcall.core.transport import StreamedResponse, Timeouts, Transport
from rightcall.errors import UsageError

BETWEEN = b": rightcall: the next reply\n\n"
"""The separator between replies in a file: a comment, which every parser of event streams skips."""
_LONGEST = 2000
"""Characters that are shown of one string in a prompt; an image has millions."""


class RawFile:
    """Writes the vendor's raw bytes of every reply, one after the other."""

    def __init__(self, path: str) -> None:
        try:
            self._file: BinaryIO = Path(path).open("wb")  # noqa: SIM115 - as long as the session
        except OSError as error:
            raise UsageError(f"--raw {path}: {error.strerror}") from error
        self._last = b""

    def begin(self) -> None:
        """Begin another reply."""
        if self._last:
            # An interrupted reply may lack its final line end.
            if self._last != b"\n":
                self._file.write(b"\n\n")
            self._file.write(BETWEEN)

    def write(self, chunk: bytes) -> None:
        """Write, and flush, so that the bytes before a crash are there."""
        self._file.write(chunk)
        self._file.flush()
        self._last = chunk[-1:] or self._last

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TappedTransport:
    """A transport that shows its traffic: request bodies to ``sent``, replies to ``raw``."""

    def __init__(
        self, transport: Transport, raw: RawFile | None, sent: Callable[[bytes], None] | None
    ) -> None:
        self._transport = transport
        self._raw = raw
        self._sent = sent

    def post(
        self, url: str, /, *, headers: Mapping[str, str], body: bytes, timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send a body, and show it."""
        if self._sent is not None:
            self._sent(body)
        return self._tap_reply(self._transport.post(url, headers=headers, body=body, timeouts=timeouts))

    def get(
        self, url: str, /, *, headers: Mapping[str, str], timeouts: Timeouts
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """A GET request, which is not shown: it is no model's reply."""
        return self._transport.get(url, headers=headers, timeouts=timeouts)

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    @asynccontextmanager
    async def _tap_reply(
        self, exchange: AbstractAsyncContextManager[StreamedResponse]
    ) -> AsyncIterator[StreamedResponse]:
        async with exchange as incoming:
            if self._raw is None:
                yield incoming
            else:
                self._raw.begin()
                yield StreamedResponse(
                    incoming.status, incoming.headers, _copy_chunks(incoming.chunks, self._raw)
                )


async def _copy_chunks(chunks: AsyncIterator[bytes], raw: RawFile) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        raw.write(chunk)
        yield chunk


def show_body(body: bytes) -> None:
    """Show a request's body, as JSON if it is JSON."""
    try:
        shown = json.dumps(_cut_strings(json.loads(body)), ensure_ascii=False, indent=2)
    except ValueError:
        shown = body[:_LONGEST].decode(errors="replace")
    show_prompt(shown)


def show_prompt(text: str) -> None:
    """Show a model's prompt to people."""
    print(printable(f"--- prompt\n{text}\n---"), file=sys.stderr, flush=True)


def _cut_strings(value: object) -> object:
    match value:
        case str() if len(value) > _LONGEST:
            return f"{value[:_LONGEST]}… ({len(value):,} characters)"
        case list():
            return [_cut_strings(each) for each in value]
        case dict():
            return {name: _cut_strings(each) for name, each in value.items()}
        case _:
            return value


class ShownModel:
    """A model without HTTP, whose requests are shown by ``words``."""

    def __init__(self, model: Model, words: Callable[[Request], str] | None = None) -> None:
        self._model = model
        self._words = words or _request_words

    @property
    def profile(self) -> Profile:
        """The model's profile."""
        return self._model.profile

    def stream(self, request: Request, /) -> AsyncIterator[ModelEvent]:
        """The events of one reply, after the request was shown."""
        show_prompt(self._words(request))
        return self._model.stream(request)

    async def close(self) -> None:
        """Close the model."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()


def _request_words(request: Request) -> str:
    fields = ("system", "messages", "specs", "choice", "options", "max_tokens")
    plain = {name: to_builtins(getattr(request, name)) for name in fields}
    return fast_json.format(json.dumps(_cut_strings(plain), default=str), indent=2)
