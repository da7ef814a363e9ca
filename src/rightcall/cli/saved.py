"""Saves the media that the model made as files."""

import mimetypes
from collections.abc import Iterable
from pathlib import Path

from rightcall.core.media_type import essence
from rightcall.core.message import Reply, Transcript
from rightcall.core.parts import Media
from rightcall.errors import UsageError

_ENDINGS = {"audio/pcm": ".pcm", "audio/l16": ".pcm", "audio/wav": ".wav", "image/webp": ".webp"}
"""File extensions that not every system's table has."""


def made_in(messages: Transcript) -> list[Media]:
    """The images, audio and files in the model's replies."""
    return [media for message in messages if isinstance(message, Reply) for media in message.media]


def save(made: Iterable[Media], folder: Path) -> list[str]:
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
