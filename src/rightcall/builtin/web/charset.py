"""A document's bytes into text, whatever they claim to be.

The order is the one that browsers have agreed on (https://encoding.spec.whatwg.org): a byte order mark,
the header, the document's own word, a guess. A claim that the bytes contradict is dropped.
"""

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python has codecs that are no character sets, such as zip and rot13; only these are taken from a page.
_KNOWN = frozenset({
    "utf-8", "utf-16-le", "utf-16-be", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "cp866", "cp874", "cp932", "cp949", "iso8859-2",
    "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-10",
    "iso8859-13", "iso8859-14", "iso8859-15", "iso8859-16", "koi8-r", "koi8-u", "mac-roman",
    "mac-cyrillic", "gb18030", "big5", "euc_jp", "iso2022_jp",
})  # fmt: skip
# What pages say, and what they mean by it: the larger set that holds the one they name.
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
"""One bad character in so many is a few."""


def decode(body: bytes, declared: str | None = None) -> str:
    """The text of a body. The last character may be cut in two; any that cannot be read are marked."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    own = _META.search(body, 0, _LOOKED_AT) or _XML.search(body, 0, _LOOKED_AT)
    claims = (_codec(declared or ""), _codec(own[1].decode("ascii")) if own else None, "utf-8")
    for claim in claims:
        # Any bytes are some text of 16 bits a character, but hardly one without a single NUL.
        if claim is None or (claim.startswith("utf-16") and b"\x00" not in body):
            continue
        text = _read(body, claim, "strict")
        if text is not None:
            return text
    # Nothing fits as a whole. A few bad bytes do not make UTF-8 something else; many do.
    marked = body.decode("utf-8", "replace")
    bad = marked.count("\ufffd")
    return marked if bad * _FEW < len(marked) else body.decode("cp1252", "replace")


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
    except (LookupError, ValueError):
        return None
    name = _MEANT.get(name, name)
    return name if name in _KNOWN else None


def _read(body: bytes, name: str, errors: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)(errors).decode(body)
    except UnicodeDecodeError:
        return None
