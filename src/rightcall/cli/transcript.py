"""A conversation into a file, and back."""

import json
import os
from pathlib import Path

import msgspec

from rightcall.core.history import mend
from rightcall.core.message import Transcript
from rightcall.errors import UsageError

MAX_FILE = 256 * 1024 * 1024
"""A file of more bytes than this is not a conversation."""

_decode = msgspec.json.Decoder(Transcript).decode


def save(messages: Transcript, path: Path) -> None:
    """Write the messages as a JSON array: all of it, or the file stays as it was."""
    # A model may write half a surrogate pair, which no file in UTF-8 can hold.
    text = json.dumps(msgspec.to_builtins(messages), ensure_ascii=False, indent=1) + "\n"
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        fresh.write_bytes(text.encode(errors="replace"))
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def load(path: Path) -> Transcript:
    """The messages in a file, with every call answered."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path} is larger than {MAX_FILE:,} bytes")
        return mend(_decode(path.read_bytes())).messages
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} does not hold a conversation: {error}") from error
