"""The table of media in the docs is what the encoders go by."""

from importlib import import_module
from pathlib import Path

from rightcall.core.parts import MediaKind
from rightcall.wire.dialects import DIALECTS
from rightcall.wire.media import BYTES, MediaTable, Takes
from rightcall.wire.openai_chat.hosts import COMPATIBLE, DEEPSEEK, OPENAI

PAGE = Path(__file__).parents[2] / "docs/media.md"
COLUMNS: dict[MediaKind, str] = {
    "image": "image",
    "pdf": "PDF",
    "document": "office document",
    "text": "text file",
    "audio": "audio",
    "video": "video",
}
LOCAL: MediaTable = {"text": Takes(BYTES)}


def tables() -> dict[str, MediaTable]:
    found: dict[str, MediaTable] = {}
    for name in DIALECTS:
        if name == "openai_chat":
            found["`openai_chat`"] = OPENAI.media_table
            found["`openai_chat`, imitators"] = COMPATIBLE.media_table
            found["`openai_chat`, DeepSeek"] = DEEPSEEK.media_table
        else:
            found[f"`{name}`"] = import_module(f"rightcall.wire.{name}.tables").MEDIA
    return {**found, "local models": LOCAL}


def test_the_table_is_the_encoders():
    lines = [f"| | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, table in tables().items():
        cells = [", ".join(table[kind].ways) if kind in table else "no" for kind in COLUMNS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    text = PAGE.read_text()
    written = text.partition("<!-- media:")[2].partition("-->\n")[2].partition("<!-- /media")[0]
    assert written == "\n".join(lines) + "\n"
