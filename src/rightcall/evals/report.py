"""Renders scores and a comparison: as lines for a terminal, and as one HTML file.

The page has a chart, tables, and every case that went wrong. It has no script and loads nothing. Text
from a model, a case or a tool is escaped, and invisible characters are shown as their code points.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from rightcall.core.sanitize import printable
from rightcall.evals.scores import Comparison, PairedMeasure, Scores, Share

_WIDTH = 760
_NAMES = 200
_VALUES = 130
_BAR = 22
_TITLE = 34
_COLOURS = ("#2b6cb0", "#d9480f", "#2f855a", "#6b46c1", "#b7791f", "#718096")
_MOST_LETTERS = 30


def draw_bars(groups: Sequence[tuple[str, Mapping[str, Share]]]) -> str:
    """An SVG: one colour for each group, and its bars below its title.

    Each bar has a line for its confidence interval.
    """
    height = sum(_TITLE + _BAR * len(shares) for _, shares in groups) + 30
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="12">'
    )
    parts = [head]
    for percent in (0, 25, 50, 75, 100):
        x = _x(percent / 100)
        parts.append(f'<line x1="{x}" x2="{x}" y1="20" y2="{height - 22}" stroke="#e2e8f0"/>')
        label = f'<text x="{x}" y="{height - 6}" text-anchor="middle" fill="#718096">{percent}%</text>'
        parts.append(label)
    top = 0
    for at, (title, shares) in enumerate(groups):
        top += _TITLE
        colour = _COLOURS[at % len(_COLOURS)]
        parts.append(_text(0, top - 10, title, ' font-weight="bold"'))
        for name, share in shares.items():
            parts += _bar(name, share, top, colour)
            top += _BAR
    return "\n".join([*parts, "</svg>"])


def _bar(name: str, share: Share, top: int, colour: str) -> Iterator[str]:
    low, high = share.interval
    middle = top + _BAR / 2
    if len(name) <= _MOST_LETTERS:
        words = name
    else:
        words = f"{name[: _MOST_LETTERS - 1]}…"
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


_MOST_BARS = 30
_HEAD = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ text-align: left; padding: .25rem .75rem; border-bottom: 1px solid #e2e8f0; }}
td {{ vertical-align: top; max-width: 24rem; }}
code {{ white-space: pre-wrap; overflow-wrap: break-word; }}
.bad {{ color: #c53030; font-weight: bold; }}
svg {{ max-width: 100%; height: auto; }}
</style></head><body>
"""


def html_report(
    scores: Sequence[Scores], comparison: Comparison | None = None, *, title: str = "Eval"
) -> str:
    """The whole page."""
    parts = [_HEAD.format(title=_safe(title)), f"<h1>{_safe(title)}</h1>"]
    if comparison is not None:
        parts += _comparison(comparison)
    parts += [
        draw_bars(_groups(scores)),
        "<p>Bars are shares of right choices; lines are Wilson's 95%.</p>",
    ]
    parts += _overview(scores)
    for each in scores:
        parts += _section(each)
    return "\n".join([*parts, "</body></html>", ""])


def _groups(scores: Sequence[Scores]) -> list[tuple[str, dict[str, Share]]]:
    groups = []
    # With one configuration, the tools show more than the total alone.
    if len(scores) > 1:
        groups.append(("all questions", {printable(each.title): each.choice for each in scores}))
    for each in scores:
        title = each.title
        tools = len(each.by_tool)
        if tools > _MOST_BARS:
            title += f": the {_MOST_BARS} of {tools} tools with the most wrong"
        shares = {"all": each.choice}
        for name, share in each.worst(_MOST_BARS).items():
            shares[printable(name)] = share
        groups.append((printable(title), shares))
    return groups


def _comparison(found: Comparison) -> Iterator[str]:
    verdict = "not shown to be worse"
    if found.regression:
        verdict = '<span class="bad">worse</span>'
    yield f"<p>{_safe(found.after.title)} against {_safe(found.before.title)}: {verdict} "
    yield f"(McNemar's exact test, p at most {found.alpha:g}).</p>"
    measures = [_measure_cells(found.choice)]
    if found.whole is not None:
        measures.append(_measure_cells(found.whole))
    yield from _table(("", "before", "after", "became worse", "became better", "p"), measures)
    changed = [each for each in found.by_tool if each.worse or each.better]
    if changed:
        yield f"<p>The choice by tool; p is corrected for {len(found.by_tool)} of them (Holm).</p>"
        heads = ("expected", "before", "after", "became worse", "became better", "p")
        yield from _table(heads, map(_measure_cells, changed))


def _measure_cells(each: PairedMeasure) -> list[str]:
    worse = "0"
    if each.worse:
        worse = f"{len(each.worse)}: {', '.join(each.worse)}"
    better = "0"
    if each.better:
        better = f"{len(each.better)}: {', '.join(each.better)}"
    return [each.what, str(each.before), str(each.after), worse, better, f"{each.p:.2g}"]


def _overview(scores: Sequence[Scores]) -> Iterator[str]:
    rows = []
    for each in scores:
        usage = each.usage
        invented = str(sum(each.invented.values()))
        tokens = (f"{usage.input_tokens:,}", f"{usage.output_tokens:,}")
        judged = (str(each.choice), _arguments_cell(each.arguments))
        rows.append([each.title, str(each.tools), *judged, invented, str(len(each.errors)), *tokens])
    yield from _table(
        ("", "tools", "choice", "arguments", "invented names", "no reply", "tokens in", "tokens out"),
        rows,
    )


def _arguments_cell(arguments: Share) -> str:
    if arguments.of:
        return str(arguments)
    return "not judged"


def _section(scores: Scores) -> Iterator[str]:
    yield f"<h2>{_safe(scores.title)}</h2>"
    arguments_of = scores.arguments_by_tool
    rows = []
    for tool, share in scores.by_tool.items():
        rows.append([tool, str(share), _arguments_cell(arguments_of[tool])])
    yield from _table(("expected", "choice", "arguments"), rows)
    if scores.confusions:
        yield "<h3>What was called in its place</h3>"
        yield from _table(("expected", "called", "how often"), scores.confusions)
    if scores.invented:
        yield "<h3>Names that are no tool's</h3>"
        yield from _table(("name", "how often"), scores.invented.items())
    wrong = []
    for each in scores.verdicts:
        if not each.right:
            given = each.error or "\n".join(each.given)
            wrong.append([each.id, each.question, each.expected, each.called, given])
    yield f"<h3>What went wrong ({len(wrong)} of {len(scores.verdicts)})</h3>"
    yield from _table(("case", "question", "expected", "called", "with"), wrong)


def _table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> Iterator[str]:
    cells = "".join(f"<th>{_safe(cell)}</th>" for cell in head)
    yield f"<table><thead><tr>{cells}</tr></thead><tbody>"
    for row in rows:
        cells = "".join(f"<td><code>{_safe(str(cell))}</code></td>" for cell in row)
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table>"


def _safe(text: str) -> str:
    return escape(printable(text))


_MOST_SHOWN = 10
_MOST_TOOLS = 30


def lines_of(scores: Scores, *, wrong: bool = False) -> Iterator[str]:
    """The figures of one configuration; with ``wrong``, also every case that went wrong."""
    offered = ""
    if scores.tools:
        offered = f", {scores.tools} tools offered"
    yield printable(f"{scores.title}: {len(scores.verdicts)} questions{offered}")
    shown = scores.worst(_MOST_TOOLS)
    arguments_of = scores.arguments_by_tool
    width = max(len("arguments"), *map(len, shown), 0)
    yield f"  {'choice':{width}}  {scores.choice}"
    if scores.arguments.of:
        yield f"  {'arguments':{width}}  {scores.arguments}"
    all_tools = len(arguments_of)
    some = ""
    if len(shown) < all_tools:
        some = f", the {len(shown)} of {all_tools} with the most wrong"
    yield f"  by tool{some}"
    for tool, share in shown.items():
        arguments = arguments_of[tool]
        more = ""
        if arguments.of:
            more = f"   arguments {arguments.right}/{arguments.of}"
        yield printable(f"    {tool:{width}}  {share}{more}")
    if confusions := scores.confusions:
        yield "  expected, and called in its place"
        for expected, called, count in confusions[:_MOST_SHOWN]:
            yield printable(f"    {expected} -> {called}: {count}")
        if len(confusions) > _MOST_SHOWN:
            yield f"    and {len(confusions) - _MOST_SHOWN} other pairs"
    invented = f"  invented names: {sum(scores.invented.values())}"
    if scores.invented:
        names = ", ".join(f"{name} ({count})" for name, count in scores.invented.items())
        invented += f": {names}"
    yield printable(invented)
    usage = scores.usage
    each_takes = usage.tokens / max(1, len(scores.verdicts))
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out, {each_takes:,.0f} a question"
    if usage.cost:
        tokens += f", ${usage.cost:.4f}"
    yield f"  tokens: {tokens}"
    if errors := scores.errors:
        yield printable(f"  no reply: {len(errors)}, the first {errors[0].id}: {errors[0].error}")
    if wrong:
        for each in scores.verdicts:
            if each.right:
                continue
            reply = each.error or f"{each.called} {' '.join(each.given)}".strip()
            yield printable(f"  {each.id}: {each.question}").replace("\n", " ")
            yield printable(f"      expected {each.expected}, got {reply}").replace("\n", " ")


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Both shares, the changes, and the verdict."""
    yield printable(f"{found.before.title} -> {found.after.title}")
    for each in (found.choice, found.whole):
        if each is not None:
            change = each.after.value - each.before.value
            yield f"  {each.what}: {each.before.value:.0%} -> {each.after.value:.0%} ({change:+.0%})"
            yield f"    {_split(each)} (McNemar, exact)"
            if each.worse:
                names = ", ".join(each.worse[:_MOST_SHOWN])
                if len(each.worse) > _MOST_SHOWN:
                    names += f" and {len(each.worse) - _MOST_SHOWN} more"
                yield printable(f"    worse: {names}")
    changed = [each for each in found.by_tool if each.worse or each.better]
    if changed:
        yield f"  choice by tool, p corrected for {len(found.by_tool)}"
    for each in changed:
        shares = f"{each.before.right}/{each.before.of} -> {each.after.right}/{each.after.of}"
        yield printable(f"    {each.what}: {shares}, {_split(each)}")
    if found.regression:
        yield f"  regression: yes (p at most {found.alpha:g})"
    else:
        yield "  regression: no"


def _split(each: PairedMeasure) -> str:
    return f"worse {len(each.worse)}, better {len(each.better)}, p = {each.p:.2g}"
