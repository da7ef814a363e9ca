"""Ask a model once, and show the run."""

import asyncio
import mimetypes
import os
import select
import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from rightcall.cli import INTERRUPTED
from rightcall.cli.session import Session
from rightcall.cli.summary import RunWatch
from rightcall.core.message import Reply, Transcript, User
from rightcall.core.parts import ANY_BYTES, PLAIN_TEXT, Media, Text, essence, media_kind, sniff
from rightcall.core.sanitize import printable
from rightcall.core.transport import StreamedResponse, Timeouts
from rightcall.declare.attachment import file
from rightcall.errors import RightcallError, UsageError
from rightcall.transport.http import HttpTransport

MOST_BYTES = 32 * 1024 * 1024
"""The largest attachment, in bytes. No vendor takes more."""
_OK = 200


async def read_attachment(place: str) -> Text | Media:
    """The part for an attachment.

    ``place`` is a file, standard input or an address. Text becomes text, under its name; anything else
    is sent unchanged, with its media type.
    """
    if place.startswith(("http://", "https://")):
        return await _fetch(place)
    if place == "-":
        return part_of(_check_size(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input"), "", None)
    return _read_file(place)


def _read_file(place: str) -> Text | Media:
    path = Path(place).expanduser()
    try:
        with path.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-a {place}: {error.strerror}") from error
    return part_of(_check_size(data, place), mimetypes.guess_type(path.name)[0] or "", path.name)


def part_of(data: bytes, media_type: str, name: str | None) -> Text | Media:
    """Detects the type of bytes: by signature, by declared type, else as text if they decode."""
    told = sniff(data)
    kind = told if told != ANY_BYTES else media_type
    if not kind or media_kind(kind) == "text":
        try:
            text = data.decode()
        except UnicodeDecodeError:
            kind = ANY_BYTES
        else:
            return Text(f"{name}:\n{text}" if name else text)
    return Media(data, kind, name)


async def _fetch(url: str) -> Text | Media:
    carrier = HttpTransport()
    try:
        async with carrier.get(
            url, headers={"user-agent": "rightcall"}, timeouts=Timeouts(whole=60.0)
        ) as incoming:
            status = incoming.status
            headers = incoming.headers
            data = await _body(incoming)
    except RightcallError as error:
        raise UsageError(f"-a {url}: {error}") from error
    finally:
        await carrier.close()
    if status != _OK:
        raise UsageError(f"-a {url}: the server answered with status {status}")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    name = urlsplit(url).path.rpartition("/")[2] or None
    part = part_of(_check_size(data, url), kind, name)
    if isinstance(part, Text):
        # Whoever put it there wrote it, and not the person who asks.
        return file(data, media_type=PLAIN_TEXT, name=name, untrusted=url)
    return replace(part, untrusted=url)


async def _body(incoming: StreamedResponse) -> bytes:
    """The body, up to slightly more than the limit."""
    pieces = []
    size = 0
    async for chunk in incoming.chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            break
    return b"".join(pieces)


def _check_size(data: bytes, place: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise UsageError(f"-a {place}: more than {MOST_BYTES:,} bytes are taken by no model")
    if not data:
        raise UsageError(f"-a {place}: is empty")
    return data


MAX_PROMPT = 16 * 1024 * 1024
"""The most bytes on standard input; more is probably a mistake."""
_PATIENCE = 3.0
_WAITING = "rightcall: reading standard input, too; < /dev/null leaves it alone"


def read_question(options: Namespace) -> str:
    """The text of the question: standard input, then the argument, the order that is usually meant.

    A terminal is read only for ``-``.
    """
    given: str | None = options.prompt
    is_attached = "-" in options.attachments
    if given == "-" and is_attached:
        raise UsageError("standard input is either the question or an attachment, not both")
    piped = ""
    if not is_attached and (given == "-" or not sys.stdin.isatty()):
        if given not in (None, "-"):
            _tell_if_nothing_comes()
        data = sys.stdin.buffer.read(MAX_PROMPT + 1)
        if len(data) > MAX_PROMPT:
            raise UsageError(f"standard input holds more than {MAX_PROMPT:,} bytes")
        piped = data.decode(errors="replace")
    asked = ""
    if given is not None and given != "-":
        # Undecodable bytes of the command line arrive as lone surrogates.
        asked = given.encode(errors="surrogateescape").decode(errors="replace")
    if piped.strip() and asked.strip():
        return f"{piped.rstrip()}\n\n{asked}"
    words = asked if asked.strip() else piped
    if not words.strip() and not options.attachments:
        if given is None and sys.stdin.isatty():
            raise UsageError('what is the question? rightcall ask "…"')
        raise UsageError("standard input holds no question")
    return words


async def with_attachments(words: str, places: list[str]) -> User:
    """The attachments, and then the text."""
    parts: list[Text | Media] = [await read_attachment(place) for place in places]
    if words:
        parts.append(Text(words))
    return User(tuple(parts))


def _tell_if_nothing_comes() -> None:
    """Warn about a pipe that stays open without data: reading it would wait silently."""
    if os.name != "posix":
        return
    try:
        if not select.select([sys.stdin.fileno()], [], [], _PATIENCE)[0]:
            print(_WAITING, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Not every stream has a descriptor, or one that can be polled.
        return


_ENDINGS = {"audio/pcm": ".pcm", "audio/l16": ".pcm", "audio/wav": ".wav", "image/webp": ".webp"}
"""File extensions that not every system's table has."""


def made_media(messages: Transcript) -> list[Media]:
    """The images, audio and files in the model's replies."""
    made: list[Media] = []
    for message in messages:
        if isinstance(message, Reply):
            made += message.media
    return made


def save_media(made: Iterable[Media], folder: Path) -> list[str]:
    """Write them to a folder without overwriting anything; returns a message about each."""
    told = []
    for media in made:
        if media.way != "bytes":
            told.append(f"not saved, as it is with the vendor: {media.about}")
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            told.append(f"saved {_write(media, folder)}")
        except OSError as error:
            raise UsageError(f"--save {folder}: {error.strerror or error}") from error
    return told


def _write(media: Media, folder: Path) -> Path:
    plain = essence(media.media_type)
    ending = _ENDINGS.get(plain) or mimetypes.guess_extension(plain) or ".bin"
    number = 1
    while True:
        place = folder / f"{media.kind}-{number}{ending}"
        try:
            with place.open("xb") as file:
                file.write(media.data)
        except FileExistsError:
            number += 1
        else:
            return place


def run(options: Namespace) -> int:
    """Ask; the exit code shows whether there is an answer."""
    words = read_question(options)
    try:
        return asyncio.run(_ask(options, Session(options), words))
    except KeyboardInterrupt:
        return INTERRUPTED


async def _ask(options: Namespace, session: Session, words: str) -> int:
    watch = None
    try:
        prompt = await with_attachments(words, options.attachments)
        await session.open()
        view = session.view()
        watch = RunWatch(view, prompt, session.history)
        events = session.agent(view).stream(prompt, **session.run_options(session.history))
        summary = await watch.watch(events)
        await _keep(options, made_media(summary.transcript[len(session.history) :]))
    except asyncio.CancelledError:
        if watch is not None:
            watch.show_interruption()
        raise
    else:
        return summary.code
    finally:
        await session.close()


async def _keep(options: Namespace, made: list[Media]) -> None:
    """Save the media that the model made, or tell the user which option does."""
    if options.save is None:
        told = [f"made [{each.about}]; --save FOLDER keeps it" for each in made]
    else:
        told = await asyncio.to_thread(save_media, made, options.save)
    for line in () if options.quiet else told:
        print(f"rightcall: {printable(line)}", file=sys.stderr)
