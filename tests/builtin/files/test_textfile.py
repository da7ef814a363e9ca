"""Bytes into text and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.builtin.files.textfile import TextFile, decode, is_binary, name_kind

LINES = st.lists(st.sampled_from(["a", "bb", "", "é", "\r", "\n", "\r\n"]), max_size=30).map("".join)


@given(LINES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_what_is_decoded_comes_back_byte_for_byte(text, encoding):
    data = text.encode(encoding)
    file = decode(data)
    assert file is not None
    assert (file.encode(), file.original) == (data, text)


@given(st.binary(max_size=50))
def test_any_bytes_come_back_or_are_no_text(data):
    file = decode(data)
    assert file is None or file.encode() == data


@given(LINES, st.data())
def test_an_edit_changes_no_line_end_but_its_own(original, data):
    file = TextFile(original)
    start = data.draw(st.integers(0, len(file.text)))
    length = data.draw(st.integers(0, len(file.text) - start))
    changed = file.replace_at([start], length, "<new>")
    assert changed.text == file.text[:start] + "<new>" + file.text[start + length :]
    head, _, tail = changed.original.partition("<new>")
    assert original.startswith(head)
    assert original.endswith(tail)


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\nb\nc\n", "a\nx\ny\nc\n"),
        ("a\r\nb\r\nc\n", "a\r\nx\r\ny\r\nc\n"),
        ("a\nb\nc\r\n", "a\nx\ny\nc\r\n"),
    ],
    ids=["crlf", "lf", "mostly crlf", "mostly lf"],
)
def test_new_lines_end_like_most(original, expected):
    file = TextFile(original)
    start = file.text.index("b")
    assert file.replace_at([start], 1, "x\ny").original == expected
    assert file.replace_at([start], 1, "x\r\ny").original == expected


def test_several_places_are_replaced_at_once():
    file = TextFile("a-\r\na-\na-")
    assert file.replace_at([0, 3, 6], 1, "bb").original == "bb-\r\nbb-\nbb-"


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        ("naïve".encode(), "utf-8", "naïve"),
        ("naïve “so”".encode("cp1252"), "cp1252", "naïve “so”"),
        (b"\x81 is in no code page", "latin-1", "\x81 is in no code page"),
        ("naïve".encode("utf-8-sig"), "utf-8", "naïve"),
        ("naïve".encode("utf-16"), "utf-16-le", "naïve"),
        (b"\xfe\xff" + "naïve".encode("utf-16-be"), "utf-16-be", "naïve"),
        ("naïve".encode("utf-32"), "utf-32-le", "naïve"),
        (b"", "utf-8", ""),
    ],
)
def test_encodings_are_told_apart(data, encoding, text):
    file = decode(data)
    assert file is not None
    assert (file.encoding, file.text) == (encoding, text)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"),
        (b"\x7fELF\x02\x01\x01\0", "an ELF program"),
        (b"SQLite format 3\0...", "an SQLite database"),
        (b"some\0thing", "binary data"),
        (bytes(range(1, 32)) * 4, "binary data"),
        (b"\xff\xfe\0", "binary data"),
    ],
)
def test_what_is_no_text_is_named(data, kind):
    assert decode(data) is None
    assert name_kind(data) == kind


def test_colours_of_a_terminal_are_text():
    assert not is_binary(b"\x1b[31mred\x1b[0m\n" * 10)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"eins\nzwei\ndr", "eins\nzwei\n"),
        ("eins é".encode()[:-1], "eins "),
        ("eins\nzw".encode("utf-16")[:-1], "eins\n"),
        (b"no line ends", "no line ends"),
    ],
)
def test_text_that_is_cut_loses_what_is_half(data, text):
    file = decode(data, is_cut=True)
    assert file is not None
    assert file.text == text


@pytest.mark.parametrize(
    ("original", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("\n", [""]),
        ("a\r\nb\rc", ["a", "b\rc"]),
    ],
)
def test_lines_end_where_they_end(original, lines):
    assert TextFile(original).lines == lines
