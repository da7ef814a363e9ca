"""A pattern is compiled when it is first used."""

import re

import pytest

from rightcall.core.lazy import pattern


def test_it_has_the_methods_of_a_compiled_pattern():
    words = pattern(r"[a-z]+", re.IGNORECASE)
    assert words.sub("-", "One two 3") == "- - 3"
    assert words.findall("One two 3") == ["One", "two"]
    assert (words.pattern, bool(words.flags & re.IGNORECASE)) == ("[a-z]+", True)


def test_it_is_compiled_at_its_first_use_and_each_method_is_looked_up_once():
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
    words = pattern("[a-z]+")
    assert "search" not in vars(words)
    assert words.search("1 a")
    assert vars(words)["search"] == words.search
