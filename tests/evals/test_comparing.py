"""Two ways of asking, held against each other, and the page that shows it."""

import re
from html.parser import HTMLParser

import pytest

from rightcall.errors import UsageError
from rightcall.evals import Scores, Verdict, compare, html_report
from rightcall.evals.report import comparison_lines, lines_of


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
        "    worse 0, better 0, p = 1 (McNemar, exact)\n"
        "  choice and arguments: 100% -> 0% (-100%)\n"
        "    worse 10, better 0, p = 0.002 (McNemar, exact)\n"
        "    worse: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n"
        "  regression: yes (p at most 0.05)"
    )


def of_tools(**right: list[bool]) -> Scores:
    verdicts = [
        Verdict(id=f"{tool}{at}", question="?", expected=tool, called="x", choice=each)
        for tool, of in right.items()
        for at, each in enumerate(of)
    ]
    return Scores(title="m", verdicts=tuple(verdicts))


def test_one_tool_that_became_worse_is_seen_where_another_became_better():
    found = compare(of_tools(a=YES, b=NO, c=YES), of_tools(a=NO, b=YES, c=[*YES[:9], False]))
    assert (found.choice.p, found.regression) == (1.0, True)
    # Holm: the least of three p is taken three times, the next twice, and none is less than one before.
    assert [(each.what, each.p) for each in found.by_tool] == [
        ("a", 3 * 2 / 1024),
        ("b", 3 * 2 / 1024),
        ("c", 1.0),
    ]
    assert [line for line in comparison_lines(found) if "->" in line][2:] == [
        "    a: 10/10 -> 0/10, worse 10, better 0, p = 0.0059",
        "    b: 0/10 -> 10/10, worse 0, better 10, p = 0.0059",
        "    c: 10/10 -> 9/10, worse 1, better 0, p = 1",
    ]
    assert not compare(of_tools(a=YES, b=NO), of_tools(a=YES, b=YES)).regression


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


def test_of_many_tools_the_worst_are_drawn_and_all_are_in_the_table():
    many = of_tools(**{f"tool_{at}": [at % 2 == 0] for at in range(80)})
    page = html_report([many])
    assert page.count("<rect") == 31
    assert "the 30 of 80 tools with the most wrong" in page
    assert page.count("<td><code>tool_78</code></td>") == 1
    lines = list(lines_of(many))
    assert "  by tool, the 30 of 80 with the most wrong" in lines
    assert len(lines) < 60
