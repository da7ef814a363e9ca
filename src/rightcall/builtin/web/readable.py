"""A body and its type into text that a model can read."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile

from msgspec import Struct

from rightcall.builtin.web.charset import decode
from rightcall.errors import ToolFailure, UsageError
from rightcall.process.command import Command, Exited
from rightcall.process.runner import run

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    {
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/jsonlines",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/xml-dtd",
        "application/yaml",
    }
)
_LOOKS_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_LONGEST_TITLE = 200
_SNIFFED = 1024
_PROGRAM = str(Path(__file__).with_name("convert.py"))
_SECONDS = 10.0
_MOST_BYTES = 16 * 1024 * 1024


class Page(Struct, frozen=True, gc=False):
    """What there is to read."""

    text: str
    title: str = ""


async def read(body: bytes, content_type: str, url: str) -> Page:
    """The page in a body. Raises ToolFailure for what is no text."""
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower() or _sniff(body)
    charset = re.search(r"charset\s*=\s*\"?([^\";\s]+)", parameters, re.IGNORECASE)
    if not _is_text(kind):
        raise ToolFailure(f"That is not text but {_named(kind)}, and cannot be read here.")
    text = decode(body, charset[1] if charset else None)
    if kind in _HTML:
        return await _from_html(text, url)
    return Page(text.replace("\r\n", "\n").replace("\x00", ""))


def _is_text(kind: str) -> bool:
    return (
        kind.startswith("text/")
        or kind in _HTML
        or kind in _TEXT
        or kind.endswith(("+json", "+xml", "+yaml"))
    )


def _sniff(body: bytes) -> str:
    head = body[:_SNIFFED]
    if _LOOKS_HTML.match(head):
        return "text/html"
    return "application/octet-stream" if b"\x00" in head else "text/plain"


def _named(kind: str) -> str:
    return (
        kind
        if re.fullmatch(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}", kind)
        else "something else"
    )


async def _from_html(html: str, url: str) -> Page:
    with NamedTemporaryFile("wb", prefix="rightcall-", suffix=".html") as file:
        file.write(html.replace("\x00", "").encode())
        file.flush()
        argv = (sys.executable, "-I", "-S", _PROGRAM, _library(), file.name, url)
        done = await run(
            Command(argv=argv, timeout=_SECONDS, stderr="discard", max_output_bytes=_MOST_BYTES)
        )
    if done.exit != Exited(0) or done.output.left_out:
        raise ToolFailure("The page is HTML that cannot be turned into text within bounds.")
    title, _, text = (done.output.head + done.output.tail).decode(errors="replace").partition("\n")
    return Page(text, one_line(title))


def _library() -> str:
    """The directory that the converter is imported from. Raises UsageError if there is none."""
    found = find_spec("html_to_markdown")
    if found is None or found.origin is None:
        raise UsageError("reading web pages needs the library html-to-markdown; install rightcall[web]")
    return str(Path(found.origin).parent.parent)


def one_line(text: str) -> str:
    """Text that cannot pass for more than the line it stands on."""
    text = _SPACE.sub(" ", text).strip()
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def require_converter() -> None:
    """Raise UsageError if what turns HTML into text is not installed."""
    _library()
