"""What the tests of engines share."""

from collections.abc import AsyncIterator
from pathlib import Path

from rightcall.local.engine import Finish, Piece, Sampling
from rightcall.local.engines.llamacpp import embedded_path

HELLO = "<|im_start|>user\nSay hi<|im_end|>\n<|im_start|>assistant\n"
EXACT = Sampling(temperature=0, max_tokens=40)
ENDLESS = Sampling(temperature=0, max_tokens=1500, extra={"ignore_eos": True})
REPEAT = "Repeat: hello <call>{abc}\nRepeat: hello <call>{abc}\nRepeat:"
"""The embedded model goes on with `` hello <call>``, and then, left alone, with ``{abc}``."""


async def said(pieces: AsyncIterator[Piece | Finish]) -> tuple[str, Finish]:
    """The text of a completion, and how it finished."""
    found = [piece async for piece in pieces]
    *texts, finish = found
    assert isinstance(finish, Finish)
    assert all(isinstance(piece, Piece) and piece.text for piece in texts)
    return "".join(piece.text for piece in texts), finish


def that_begins(folder: Path) -> Path:
    """The embedded model, but its file asks for a beginning before every prompt."""
    place = folder / "begins.gguf"
    raw = bytearray(embedded_path().read_bytes())
    key = b"tokenizer.ggml.add_bos_token"
    at = raw.index(key) + len(key) + 4
    assert raw[at] == 0
    raw[at] = 1
    place.write_bytes(raw)
    return place
