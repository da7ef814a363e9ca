"""Show a model a picture and a file, and let a tool answer with a picture.

python examples/images.py photo.png report.pdf "Does the photo belong to the report?"
"""

import asyncio
import struct
import sys
import zlib
from pathlib import Path
from typing import Annotated

from pydantic import Field

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"
Height = Annotated[int, Field(ge=0, le=50)]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@rc.tool(effect="pure")
def draw_bars(heights: Annotated[list[Height], Field(min_length=1, max_length=50)]) -> list[object]:
    """Draw a bar chart, and look at it."""
    # A grey PNG, one pixel to a bar. Whatever makes the bytes will do: a file, Pillow, matplotlib.
    high = max(1, *heights)
    levels = [bytes(0 if each >= level else 255 for each in heights) for level in range(high, 0, -1)]
    rows = b"".join(b"\0" + level for level in levels)
    header = struct.pack(">IIBBBBB", len(heights), high, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts)
    return [f"{len(heights)} bars:", rc.image(png)]


async def main(files: list[Path], question: str) -> None:
    async with rc.Agent(MODEL, [draw_bars]) as agent:
        # Text and files, in the order in which they are read. A plain string is text, never a path.
        result = await agent.run([*files, question])
    for call in result.calls:
        shown = [part.about for part in call.result.content if isinstance(part, rc.Media)]
        print(f"{call.name} {call.arguments} -> {', '.join(shown) or call.result.text}")
    print(result.text)


if __name__ == "__main__":
    *paths, words = sys.argv[1:] or ["Draw the first five square numbers as bars."]
    asyncio.run(main([Path(each) for each in paths], words))
