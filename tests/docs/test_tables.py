"""The tables of the reference are what the code says, complete, and every row says something."""

import re
from typing import get_args

import pytest

from docs.api_pages import FOLDER, LEVELS, STABILITY, pages, public_names
from docs.environment_tables import read_by_the_code, variables
from docs.marked import DOCS, written
from docs.reference_tables import TABLES
from rightcall.core.budget import StopWord
from rightcall.errors import ErrorKind

REFERENCE = [(page, name) for page, names in TABLES.items() for name in names]


@pytest.mark.parametrize(("page", "name"), REFERENCE)
def test_a_table_is_as_the_code_says(page, name):
    assert written(DOCS / page, name) == TABLES[page][name](), "make tables"


@pytest.mark.parametrize(("page", "name"), REFERENCE)
def test_every_row_ends_with_words(page, name):
    if name not in ("extras", "stability"):
        assert [line for line in TABLES[page][name]().splitlines() if re.search(r"\|\s+\|$", line)] == []


def test_every_variable_that_the_code_reads_is_listed():
    assert read_by_the_code() - set(re.findall(r"`([A-Z_0-9]+)`", variables())) == set()


def test_every_word_for_a_stop_and_an_error_has_its_row():
    for name, words in (("stop reasons", StopWord), ("error kinds", ErrorKind)):
        rows = re.findall(r"^\| `(\w+)` \|", TABLES["reference/outcomes.md"][name](), re.MULTILINE)
        assert sorted(rows) == sorted(get_args(words))


def test_the_page_of_models_says_what_to_do_about_every_kind_of_error():
    _, _, rest = (DOCS / "models.md").read_text().partition("| `error.kind` |")
    assert sorted(re.findall(r"^\| `(\w+)` \|", rest.partition("\n\n")[0], re.MULTILINE)) == sorted(
        get_args(ErrorKind)
    )


@pytest.mark.parametrize("path", STABILITY)
def test_every_public_name_is_stable_or_provisional(path):
    listed = [name for level in LEVELS for name in STABILITY[path][level]]
    assert sorted(listed) == public_names(path)


def test_the_pages_of_the_api_are_as_the_code_says():
    there = {path: path.read_text() for path in FOLDER.glob("*.md")}
    assert there == dict(pages()), "make tables"
