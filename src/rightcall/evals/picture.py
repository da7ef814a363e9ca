"""Draws shares as a plain SVG chart: a bar for each, and a line for its confidence interval."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rightcall.evals.intervals import Share

_WIDTH = 760
_NAMES = 200
_VALUES = 130
_BAR = 22
_TITLE = 34
_COLOURS = ("#2b6cb0", "#d9480f", "#2f855a", "#6b46c1", "#b7791f", "#718096")
_MOST_LETTERS = 30


def bars(groups: Sequence[tuple[str, Mapping[str, Share]]]) -> str:
    """An SVG: one colour for each group, and its bars below its title."""
    height = sum(_TITLE + _BAR * len(shares) for _, shares in groups) + 30
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *_drawn(groups, height), "</svg>"])


def _drawn(groups: Sequence[tuple[str, Mapping[str, Share]]], height: int) -> Iterator[str]:
    for percent in (0, 25, 50, 75, 100):
        x = _x(percent / 100)
        yield f'<line x1="{x}" x2="{x}" y1="20" y2="{height - 22}" stroke="#e2e8f0"/>'
        yield f'<text x="{x}" y="{height - 6}" text-anchor="middle" fill="#718096">{percent}%</text>'
    top = 0
    for at, (title, shares) in enumerate(groups):
        top += _TITLE
        colour = _COLOURS[at % len(_COLOURS)]
        yield _text(0, top - 10, title, ' font-weight="bold"')
        for name, share in shares.items():
            yield from _bar(name, share, top, colour)
            top += _BAR


def _bar(name: str, share: Share, top: int, colour: str) -> Iterator[str]:
    low, high = share.interval
    middle = top + _BAR / 2
    words = name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"
    yield _text(_NAMES - 8, middle + 4, words, ' text-anchor="end"')
    width = round(_x(share.value) - _NAMES, 1)
    yield f'<rect x="{_NAMES}" y="{top + 4}" width="{width}" height="{_BAR - 8}" fill="{colour}"/>'
    yield (
        f'<path d="M{_x(low)} {middle}H{_x(high)}M{_x(low)} {middle - 5}v10M{_x(high)} {middle - 5}v10" '
        'stroke="#1a202c" fill="none"/>'
    )
    yield _text(_WIDTH - _VALUES + 12, middle + 4, f"{share.value:.0%} ({share.right} of {share.of})")


def _x(value: float) -> float:
    return round(_NAMES + value * (_WIDTH - _NAMES - _VALUES), 1)


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="#1a202c"{more}>{escape(words)}</text>'
