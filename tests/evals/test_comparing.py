"""Two ways of asking, held against each other, and the page that shows it."""

import re
from html.parser import HTMLParser

import pytest

from rightcall.errors import UsageError
from rightcall.evals import Scores, Verdict, compare, html_report
from rightcall.evals.lines import comparison_lines


def scores(title: str, *right: bool, arguments: bool | None = None) -> Scores:
    verdicts = [
        Verdict(
            id=str(at),
            question="?",
            expected="a",
            called="a" if each else "b",
            choice=each,
            arguments=arguments if each else None,
        )
        for at, each in enumerate(right)
    ]
    return Scores(title=title, verdicts=tuple(verdicts))


YES, NO = [True] * 10, [False] * 10


@pytest.mark.parametrize(
    ("before", "after", "p", "worse"),
    [
        (YES, YES, 1.0, False),
        (YES, [*YES[:5], *NO[:5]], 0.0625, False),
        (YES, [*YES[:4], *NO[:6]], 0.03125, True),
        ([*YES[:4], *NO[:6]], YES, 0.03125, False),
        ([*YES, False], [*NO, True], 24 / 2048, True),
    ],
)
def test_only_a_change_for_the_worse_that_chance_does_not_explain_is_a_regression(
    before, after, p, worse
):
    found = compare(scores("old", *before), scores("new", *after))
    assert found.choice.p == pytest.approx(p)
    assert found.regression is worse
    assert found.whole is None


def test_arguments_that_became_wrong_are_a_regression_too():
    found = compare(scores("old", *YES, arguments=True), scores("new", *YES, arguments=False))
    assert found.whole is not None
    assert (found.choice.p, found.whole.worse) == (1.0, tuple(map(str, range(10))))
    assert found.regression
    assert "\n".join(comparison_lines(found)) == (
        "old -> new\n"
        "  choice: 100% -> 100% (+0%)\n"
        "    worse 0, better 0, McNemar's exact p = 1\n"
        "  choice and arguments: 100% -> 0% (-100%)\n"
        "    worse 10, better 0, McNemar's exact p = 0.002\n"
        "    worse: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n"
        "  regression: yes (p at most 0.05)"
    )


def test_the_bar_can_be_set():
    assert compare(scores("a", *YES), scores("b", *YES[:5], *NO[:5]), alpha=0.1).regression
    with pytest.raises(UsageError, match="alpha lies between 0 and 1"):
        compare(scores("a"), scores("b"), alpha=5)


def test_other_cases_cannot_be_compared():
    with pytest.raises(UsageError, match="the same cases both times"):
        compare(scores("a", *YES), scores("b", True))


class Tags(HTMLParser):
    """Every tag, every attribute, and the text between."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_a_page_shows_everything_and_obeys_nothing():
    evil = "<script>alert(1)</script><img src=x onerror=y>\"'&\x1b[2J\u202e"
    verdict = Verdict(
        id=evil,
        question=evil,
        expected=evil,
        called=evil,
        choice=False,
        given=(evil,),
        invented=(evil,),
    )
    one = Scores(title=evil, verdicts=(verdict,), tools=3)
    page = html_report([one, one], compare(one, one), title=evil)
    seen = Tags()
    seen.feed(page)
    assert not seen.tags & {"script", "img", "link", "iframe", "object", "a"}
    assert not {name for name in seen.attributes if name.startswith("on")} | (
        seen.attributes & {"src", "href", "style"}
    )
    assert "alert(1)" in seen.text
    assert "\x1b" not in page
    assert "\u202e" not in page
    addresses = re.findall(r"https?://[^\"' ]+", page)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page


def test_a_picture_has_a_bar_and_an_interval_for_every_tool():
    page = html_report([scores("m", *YES[:3], False)])
    assert page.count("<rect") == 2  # all questions, and the one tool
    assert page.count("<path") == 2
    assert "75% (3 of 4)" in page
