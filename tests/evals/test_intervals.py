"""Intervals and the paired test, against values from the literature and by hand."""

import pytest

from rightcall.evals.scores import Share, mcnemar


@pytest.mark.parametrize(
    ("share", "low", "high"),
    [
        # Newcombe 1998, table I: 81/263, 15/148, 0/20, 1/29
        (Share(81, 263), 0.2553, 0.3662),
        (Share(15, 148), 0.0624, 0.1605),
        (Share(0, 20), 0.0, 0.1611),
        (Share(1, 29), 0.0061, 0.1718),
        (Share(20, 20), 0.8389, 1.0),
        (Share(0, 0), 0.0, 1.0),
    ],
)
def test_wilsons_interval(share, low, high):
    assert share.interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [(0, 0, 1.0), (3, 3, 1.0), (6, 0, 2 / 64), (0, 6, 2 / 64), (9, 1, 22 / 1024), (2000, 0, 0.0)],
)
def test_mcnemars_exact_test_counts_both_sides(worse, better, p):
    assert mcnemar(worse, better) == pytest.approx(p)


def test_a_share_says_all_of_itself():
    assert str(Share(45, 50)) == "45/50   90%  [79%, 96%]"
    assert str(Share(0, 0)) == "0/0"
