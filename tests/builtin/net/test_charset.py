"""Bytes into text, whatever they claim to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.builtin.net.readable import decode

CASES = {
    "what the header says": ("Größe".encode("cp1252"), "windows-1252", "Größe"),
    "what browsers mean by latin 1": (b"\x93quoted\x94", "iso-8859-1", "\u201cquoted\u201d"),
    "nothing said, and UTF-8": ("Größe".encode(), None, "Größe"),
    "nothing said, and not UTF-8": ("Größe und mehr".encode("latin-1"), None, "Größe und mehr"),
    "a header that is wrong": ("Größe und Länge".encode("latin-1"), "utf-8", "Größe und Länge"),
    "a header that no one knows": ("Größe".encode(), "x-klingon", "Größe"),
    "a header that is no character set": ("Größe".encode(), "zip", "Größe"),
    "a header that would unpack": ("Größe".encode(), "unicode_escape", "Größe"),
    "a header with a NUL": (b"abc", "utf-8\x00", "abc"),
    "a mark against the header": (b"\xef\xbb\xbf" + "Größe".encode(), "latin-1", "Größe"),
    "a mark of 16 bits": ("Größe".encode("utf-16"), None, "Größe"),
    "the page's own word": (
        b"<meta charset=shift_jis>" + "日本".encode("shift_jis"), None, "<meta charset=shift_jis>日本"
    ),
    "the page's own word, the long way": (
        b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>" + "мир".encode("koi8-r"),
        None,
        "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>мир",
    ),
    "the header against the page": (b"<meta charset=utf-8>\xe4", "cp1252", "<meta charset=utf-8>ä"),
    "the word of XML": (
        b"<?xml encoding='iso-8859-2'?>\xb1", None, "<?xml encoding='iso-8859-2'?>ą"
    ),
    "a few bad bytes": (b"plain text, mostly \xff fine", "utf-8", "plain text, mostly \ufffd fine"),
    "cut in the middle of a character": ("Größe".encode()[:3], "utf-8", "Gr"),
    "nothing": (b"", "utf-8", ""),
}  # fmt: skip


@pytest.mark.parametrize(("body", "declared", "text"), CASES.values(), ids=CASES)
def test_a_body_is_read(body, declared, text):
    assert decode(body, declared) == text


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_give_text_that_can_be_sent_on(body, declared):
    assert decode(body, declared).encode() is not None
