"""What an operator's pattern means, and what it does not."""

import pytest

from rightcall.trust.spelling import compares, matches


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
