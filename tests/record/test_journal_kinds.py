"""What kind of journal a file is: by what it begins with, and by its name only while it is empty."""

import pytest

from rightcall.core.entry import StepDone
from rightcall.record import JsonLinesJournal, SqliteJournal
from rightcall.record.journal_kinds import (
    DATABASE,
    JOURNAL_ENDINGS,
    LINES,
    kind_by_content,
    kind_by_name,
    kind_of,
)

BY_CLASS = {JsonLinesJournal: LINES, SqliteJournal: DATABASE}


@pytest.mark.parametrize("journal", BY_CLASS)
def test_a_journal_is_known_by_its_class_and_by_its_bytes_whatever_its_name(journal, tmp_path):
    class Own(journal):
        """A user's own."""

    path = tmp_path / "runs.txt"
    with Own(path) as opened:
        opened.append("r", StepDone(key="k", value="v"))
        assert kind_of(opened) is BY_CLASS[journal]
    assert kind_by_content(path) is BY_CLASS[journal]
    misnamed = path.rename(tmp_path / f"runs{BY_CLASS[journal].endings[0]}.jsonl")
    assert kind_by_content(misnamed) is BY_CLASS[journal]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("runs.jsonl", LINES),
        ("runs.JSONL", LINES),
        ("runs.db", DATABASE),
        ("runs.txt", None),
        ("runs", None),
    ],
)
def test_an_empty_file_is_what_its_name_says_and_else_a_database(name, kind, tmp_path):
    assert kind_by_name(name) is kind
    path = tmp_path / name
    path.touch()
    assert kind_by_content(path) is (kind or DATABASE)


def test_every_ending_is_of_one_kind():
    assert len(set(JOURNAL_ENDINGS)) == len(JOURNAL_ENDINGS)
    assert set(JOURNAL_ENDINGS) == {*LINES.endings, *DATABASE.endings}
