"""Converts a response body to text that a model can read, whatever its declared type.

A document's encoding is found in the order that browsers have agreed on
(https://encoding.spec.whatwg.org): a byte order mark, the header, the document's own declaration, a
guess. A claim that the bytes contradict is dropped.
"""

import codecs
import re
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from msgspec import Struct

from rightcall.core.optional_libraries import require
from rightcall.errors import ToolFailure
from rightcall.platforms import posix_only
from rightcall.process.command import Command, Exited
from rightcall.process.runner import run

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python also has codecs that are no character sets, such as zip and rot13; pages may use only these.
_KNOWN = frozenset({
    "utf-8", "utf-16-le", "utf-16-be", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "cp866", "cp874", "cp932", "cp949", "iso8859-2",
    "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-10",
    "iso8859-13", "iso8859-14", "iso8859-15", "iso8859-16", "koi8-r", "koi8-u", "mac-roman",
    "mac-cyrillic", "gb18030", "big5", "euc_jp", "iso2022_jp",
})  # fmt: skip
# Encodings that pages declare, and the larger set that is meant.
_MEANT = {
    "utf-16": "utf-16-le",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(
    rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE
)
_LOOKED_AT = 4096
_FEW = 20
"""One undecodable character in this many still counts as few."""


def decode(body: bytes, declared: str | None = None) -> str:
    """The text of a body. The last character may be cut in two; undecodable ones are marked."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    own = _META.search(body, 0, _LOOKED_AT) or _XML.search(body, 0, _LOOKED_AT)
    claims = (_codec(declared or ""), _codec(own[1].decode("ascii")) if own else None, "utf-8")
    for claim in claims:
        # Almost any bytes decode as UTF-16, but real UTF-16 hardly ever has no NUL byte.
        if claim is None or (claim.startswith("utf-16") and b"\x00" not in body):
            continue
        text = _read(body, claim, "strict")
        if text is not None:
            return text
    # Nothing decodes the whole. A few bad bytes are still UTF-8; many are not.
    marked = body.decode("utf-8", "replace")
    bad = marked.count("\ufffd")
    if bad * _FEW < len(marked):
        return marked
    return body.decode("cp1252", "replace")


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
    except (LookupError, ValueError):
        return None
    name = _MEANT.get(name, name)
    if name in _KNOWN:
        return name
    return None


def _read(body: bytes, name: str, errors: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)(errors).decode(body)
    except UnicodeDecodeError:
        return None


_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    f"application/{name}"
    for name in (
        *("ecmascript", "graphql", "javascript", "json", "jsonlines", "sql", "toml", "x-ndjson", "x-sh"),
        *("x-yaml", "xml", "xml-dtd", "yaml"),
    )
)
_LOOKS_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")
_SPACE = re.compile(r"\s+")
_LONGEST_TITLE = 200
_SNIFFED = 1024
_PROGRAM = str(Path(__file__).with_name("html_program.py"))
_SECONDS = 10.0
_MOST_BYTES = 16 * 1024 * 1024


class Page(Struct, frozen=True, gc=False):
    """The readable content of a page."""

    text: str
    title: str = ""


async def read(body: bytes, content_type: str, url: str) -> Page:
    """The page in a body. Raises ToolFailure if it is not text."""
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    if not kind:
        head = body[:_SNIFFED]
        kind = "application/octet-stream" if b"\x00" in head else "text/plain"
        if _LOOKS_HTML.match(head):
            kind = "text/html"
    charset = re.search(r"charset\s*=\s*\"?([^\";\s]+)", parameters, re.IGNORECASE)
    is_text = kind in _HTML or kind in _TEXT or kind.endswith(("+json", "+xml", "+yaml"))
    if not is_text and not kind.startswith("text/"):
        named = kind if _MEDIA_TYPE.fullmatch(kind) else "something else"
        raise ToolFailure(f"That is not text but {named}, and cannot be read here.")
    text = decode(body, charset[1] if charset else None)
    if kind in _HTML:
        return await _from_html(text, url)
    return Page(text.replace("\r\n", "\n").replace("\x00", ""))


async def _from_html(html: str, url: str) -> Page:
    with NamedTemporaryFile("wb", prefix="rightcall-", suffix=".html") as file:
        file.write(html.replace("\x00", "").encode())
        file.flush()
        argv = (sys.executable, "-I", "-S", _PROGRAM, _library(), file.name, url)
        done = await run(
            Command(argv=argv, timeout=_SECONDS, stderr="discard", max_output_bytes=_MOST_BYTES)
        )
    if done.exit != Exited(0) or done.output.left_out:
        raise ToolFailure("The page is HTML that cannot be turned into text within bounds.", own=True)
    title, _, text = (done.output.head + done.output.tail).decode(errors="replace").partition("\n")
    return Page(text, one_line(title))


def _library() -> str:
    """The directory that the HTML converter is imported from. Raises MissingExtra if there is none."""
    return str(Path(require("html_to_markdown").origin or "").parent.parent)


def one_line(text: str) -> str:
    """Text on a single line, so that it cannot forge further lines."""
    text = _SPACE.sub(" ", text).strip()
    if len(text) <= _LONGEST_TITLE:
        return text
    return f"{text[: _LONGEST_TITLE - 1]}…"


def require_converter() -> None:
    """Raise MissingExtra if the HTML converter is not installed; UsageError on Windows."""
    if sys.platform == "win32":
        raise posix_only("reading web pages")
    _library()
