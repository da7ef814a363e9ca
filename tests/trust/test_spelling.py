"""Texts in one spelling, and patterns that are compared in it."""

import time

import pytest

from rightcall.trust.spelling import (
    active,
    apart,
    compares,
    grouped,
    matches,
    parents,
    tokens,
    unnumbered,
)
from rightcall.trust.typed_values import read_typed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Pay 1,000.50 to Bob", ["pay", "1000.5", "to", "bob"]),
        ("'Bob' \"bob\" (BOB)", ["bob", "bob", "bob"]),
        ("bob@X.example, mailto:Bob@x.example", ["bob@x.example", "bob@x.example"]),
        ("https://WWW.Site.example/A/b/ www.site.example/A/b", ["site.example/A/b", "site.example/A/b"]),
        ("at 13:05, not 13", ["at", "13:05", "not", "13"]),
        ("May 3rd, 2024; 3 May 2024; 2024-5-3", ["2024-05-03"] * 3),
        ("on June 13", ["on", "--06-13"]),
        ("/home/a/B.txt ./b.txt ~/.ssh", ["/home/a/b.txt", "b.txt", "~/.ssh"]),
        ("a\\b.txt", ["a/b.txt"]),
        ("docs/../secret docs/.. docs/.", ["docs/../secret", "docs/..", "docs/."]),
        ("a@www.b.example evil.com/?u=https://a.b", ["a@www.b.example", "evil.com/?u=https://a.b"]),
        ("see docs/a. See a.txt/.. or (b.txt).", ["see", "docs/a", "see", "a.txt/..", "or", "b.txt"]),
        ("all * of it", ["all", "*", "of", "it"]),
        ("\uff45vil\uff0ecom evil\u3002com ev\u200bil.com", ["evil.com"] * 3),
        ("王伟 likes", ["王", "伟", "likes"]),
        ("https://good.example%2F@evil.example/", ["//good.example%2f@evil.example"]),
        ("", []),
    ],
    ids=range(17),
)
def test_a_text_is_its_tokens(text, found):
    assert tokens(text) == found


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see evil.com now", ["evil.com"]),
        ("see report.txt now", []),
        ("![x](https://evil.example/?q=1)", ["evil.example/?q=1"]),
        ("//evil.example/x", ["evil.example/x"]),
        ("javascript:alert(1)", ["javascript:alert(1"]),
        ("tel:+1555", ["tel:+1555"]),
        ("write to a@b", ["a@b"]),
        ("10.0.0.7 and 10.0.0.7/x", ["10.0.0.7", "10.0.0.7/x"]),
        ("evil.example/x", ["evil.example/x"]),
        ("The end. No link", []),
    ],
)
def test_what_leads_somewhere_is_found(text, links):
    assert list(active(text)) == links


def test_a_page_has_the_places_above_it():
    assert list(parents("a.example/b/c?d")) == ["a.example", "a.example/b", "a.example/b/c"]


@pytest.mark.parametrize("text", ["+1 (555) 123-4567", "1 555 1234567", "1-555-123.4567"])
def test_a_number_in_groups_is_one_number(text):
    assert list(grouped(text)) == ["15551234567"]


def test_a_sentence_that_follows_without_a_space_is_no_part_of_a_host():
    assert tokens(apart("go to site.com.They know")) == ["go", "to", "site.com", "they", "know"]


@pytest.mark.parametrize(
    "piece",
    [
        "-",
        "a-",
        "%",
        ".",
        "a.",
        "/",
        "a/",
        "@",
        "a@",
        "1,",
        "(",
        "http:",
        "www.",
        "\n",
        " ",
        ". ",
        "1 ",
        "may ",
    ],
)
def test_no_text_takes_long(piece):
    started = time.process_time()
    tokens(piece * 20_000)
    tokens(apart(unnumbered(piece * 20_000)))
    read_typed(piece * (20_000 // len(piece)))
    list(grouped(piece * 20_000))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*@firm.example", "bob@firm.example"),
        ("*@firm.example", "BOB@Firm.Example"),
        ("https://api.firm.example/*", "https://api.firm.example/v1/x?y=1"),
        ("https://api.firm.example/*", "api.firm.example"),
        ("*.firm.example", "a.firm.example"),
        ("*.firm.example/*", "https://a.firm.example/x"),
        ("bob@firm.example", "mailto:bob@firm.example"),
        ("GB29*", "gb29nwbk"),
    ],
)
def test_a_pattern_matches_what_it_says(pattern, text):
    assert matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*@firm.example", "eve@evil.example,bob@firm.example"),
        ("*@firm.example", "eve@evil.example bob@firm.example"),
        ("*@firm.example", "eve@evil.example@firm.example"),
        ("*@firm.example", "bob@firm.example.evil.example"),
        ("https://*.firm.example/*", "https://evil.example/x.firm.example/"),
        ("https://api.firm.example/*", "https://api.firm.example@evil.example/"),
        ("https://api.firm.example/*", "https://api.firm.example%2F@evil.example/"),
        ("https://api.firm.example/*", "https://api.firm.example.evil.example/"),
        ("https://api.firm.example/v1/*", "https://api.firm.example/v1/../admin"),
        ("https://api.firm.example/v1/*", "https://api.firm.example/v1/%2e%2e/admin"),
        ("https://api.firm.example/*", "https://api.firm.example\\@evil.example/"),
        ("a.example", "axexample"),
    ],
)
def test_a_pattern_matches_nothing_that_merely_holds_it(pattern, text):
    assert not matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "is_so"),
    [
        ("<= 100", "100", True),
        ("< 100", "100", False),
        (">5", "6.5", True),
        ("= 3", "3.0", True),
        ("> 5", "x", False),
    ],
)
def test_a_bound_compares_numbers(pattern, text, is_so):
    assert compares(pattern, text) is is_so
