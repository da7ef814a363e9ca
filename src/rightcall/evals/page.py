"""Renders scores and a comparison as one HTML file: a chart, tables, and every case that went wrong.

It has no script and loads nothing. Text from a model, a case or a tool is escaped, and invisible
characters are shown as their code points.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from rightcall.core.sanitize import printable
from rightcall.evals.comparing import Comparison, Paired
from rightcall.evals.intervals import Share
from rightcall.evals.picture import bars
from rightcall.evals.scores import Scores
from rightcall.evals.verdict import Verdict

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
    parts += [bars(_groups(scores)), "<p>Bars are shares of right choices; lines are Wilson's 95%.</p>"]
    parts += _overview(scores)
    for each in scores:
        parts += _section(each)
    return "\n".join([*parts, "</body></html>", ""])


def _groups(scores: Sequence[Scores]) -> list[tuple[str, dict[str, Share]]]:
    whole = {each.title: each.choice for each in scores}
    # With one configuration, the tools show more than the total alone.
    together = [("all questions", whole)] if len(scores) > 1 else []
    return [
        (title, {printable(name): share for name, share in shares.items()})
        for title, shares in [
            *together,
            *[(_headed(each), {"all": each.choice, **each.worst(_MOST_BARS)}) for each in scores],
        ]
    ]


def _headed(scores: Scores) -> str:
    tools = len(scores.by_tool)
    some = f": the {_MOST_BARS} of {tools} tools with the most wrong" if tools > _MOST_BARS else ""
    return printable(f"{scores.title}{some}")


def _comparison(found: Comparison) -> Iterator[str]:
    verdict = '<span class="bad">worse</span>' if found.regression else "not shown to be worse"
    yield f"<p>{_safe(found.after.title)} against {_safe(found.before.title)}: {verdict} "
    yield f"(McNemar's exact test, p at most {found.alpha:g}).</p>"
    yield from _table(
        ("", "before", "after", "became worse", "became better", "p"),
        [_paired(each) for each in (found.choice, found.whole) if each is not None],
    )
    changed = [each for each in found.by_tool if each.worse or each.better]
    if changed:
        yield f"<p>The choice by tool; p is corrected for {len(found.by_tool)} of them (Holm).</p>"
        heads = ("expected", "before", "after", "became worse", "became better", "p")
        yield from _table(heads, map(_paired, changed))


def _paired(each: Paired) -> list[str]:
    worse = f"{len(each.worse)}: {', '.join(each.worse)}" if each.worse else "0"
    better = f"{len(each.better)}: {', '.join(each.better)}" if each.better else "0"
    return [each.what, str(each.before), str(each.after), worse, better, f"{each.p:.2g}"]


def _overview(scores: Sequence[Scores]) -> Iterator[str]:
    yield from _table(
        ("", "tools", "choice", "arguments", "invented names", "no reply", "tokens in", "tokens out"),
        [
            [
                each.title,
                str(each.tools),
                str(each.choice),
                str(each.arguments) if each.arguments.of else "not judged",
                str(sum(each.invented.values())),
                str(len(each.errors)),
                f"{each.usage.input_tokens:,}",
                f"{each.usage.output_tokens:,}",
            ]
            for each in scores
        ],
    )


def _section(scores: Scores) -> Iterator[str]:
    yield f"<h2>{_safe(scores.title)}</h2>"
    rows, arguments_of = [], scores.arguments_by_tool
    for tool, share in scores.by_tool.items():
        arguments = arguments_of[tool]
        rows.append([tool, str(share), str(arguments) if arguments.of else "not judged"])
    yield from _table(("expected", "choice", "arguments"), rows)
    if scores.confusions:
        yield "<h3>What was called in its place</h3>"
        pairs = [[expected, called, str(count)] for expected, called, count in scores.confusions]
        yield from _table(("expected", "called", "how often"), pairs)
    if scores.invented:
        yield "<h3>Names that are no tool's</h3>"
        named = [[name, str(count)] for name, count in scores.invented.items()]
        yield from _table(("name", "how often"), named)
    wrong = [each for each in scores.verdicts if not each.right]
    yield f"<h3>What went wrong ({len(wrong)} of {len(scores.verdicts)})</h3>"
    yield from _table(("case", "question", "expected", "called", "with"), map(_wrong, wrong))


def _wrong(each: Verdict) -> list[str]:
    return [each.id, each.question, each.expected, each.called, each.error or "\n".join(each.given)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    cells = "".join(f"<th>{_safe(cell)}</th>" for cell in head)
    yield f"<table><thead><tr>{cells}</tr></thead><tbody>"
    for row in rows:
        cells = "".join(f"<td><code>{_safe(cell)}</code></td>" for cell in row)
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table>"


def _safe(text: str) -> str:
    return escape(printable(text))
