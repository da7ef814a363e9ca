"""The words of an operator's grant."""

import pytest

from rightcall.builtin.files.root import granted
from rightcall.errors import UsageError


@pytest.mark.parametrize(
    ("directory", "suffix", "read_only"),
    [("data", "", False), ("data", ":ro", True), ("data", ":rw", False), ("data:ro", ":rw", False)],
)
def test_a_grant_says_what_and_whether_only_for_reading(directory, suffix, read_only, tmp_path):
    (tmp_path / directory).mkdir()
    root = granted(f"{tmp_path / directory}{suffix}")
    assert (root.names[0], root.read_only) == (str(tmp_path / directory), read_only)


@pytest.mark.parametrize("text", ["", ":ro"])
def test_a_grant_names_a_directory(text):
    with pytest.raises(UsageError, match="grants no directory; write ROOT or ROOT:ro"):
        granted(text)


def test_a_grant_of_nothing_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be granted"):
        granted(f"{tmp_path}/nothing:ro")
