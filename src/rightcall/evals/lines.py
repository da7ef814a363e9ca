"""Formats scores and comparisons as lines for a terminal."""

from collections.abc import Iterator, Sequence

from rightcall.core.parts import Usage
from rightcall.core.sanitize import printable
from rightcall.evals.comparing import Comparison, Paired
from rightcall.evals.scores import Scores
from rightcall.evals.verdict import Verdict

_MOST_SHOWN = 10
_MOST_TOOLS = 30


def lines_of(scores: Scores, *, wrong: bool = False) -> Iterator[str]:
    """The figures of one configuration; with ``wrong``, also every case that went wrong."""
    offered = f", {scores.tools} tools offered" if scores.tools else ""
    yield printable(f"{scores.title}: {len(scores.verdicts)} questions{offered}")
    shown, arguments_of = scores.worst(_MOST_TOOLS), scores.arguments_by_tool
    width = max(len("arguments"), *map(len, shown), 0)
    yield f"  {'choice':{width}}  {scores.choice}"
    if scores.arguments.of:
        yield f"  {'arguments':{width}}  {scores.arguments}"
    all_tools = len(arguments_of)
    some = f", the {len(shown)} of {all_tools} with the most wrong" if len(shown) < all_tools else ""
    yield f"  by tool{some}"
    for tool, share in shown.items():
        arguments = arguments_of[tool]
        more = f"   arguments {arguments.right}/{arguments.of}" if arguments.of else ""
        yield printable(f"    {tool:{width}}  {share}{more}")
    if confusions := scores.confusions:
        yield "  expected, and called in its place"
        for expected, called, count in confusions[:_MOST_SHOWN]:
            yield printable(f"    {expected} -> {called}: {count}")
        if len(confusions) > _MOST_SHOWN:
            yield f"    and {len(confusions) - _MOST_SHOWN} other pairs"
    invented = scores.invented
    named = ", ".join(f"{name} ({count})" for name, count in invented.items())
    yield printable(f"  invented names: {sum(invented.values())}{': ' if named else ''}{named}")
    yield f"  tokens: {_tokens(scores.usage, len(scores.verdicts))}"
    if errors := scores.errors:
        yield printable(f"  no reply: {len(errors)}, the first {errors[0].id}: {errors[0].error}")
    if wrong:
        yield from _wrong(scores.verdicts)


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Both shares, the changes, and the verdict."""
    yield printable(f"{found.before.title} -> {found.after.title}")
    for each in (found.choice, found.whole):
        if each is not None:
            yield from _paired(each)
    changed = [each for each in found.by_tool if each.worse or each.better]
    if changed:
        yield f"  choice by tool, p corrected for {len(found.by_tool)}"
    for each in changed:
        shares = f"{each.before.right}/{each.before.of} -> {each.after.right}/{each.after.of}"
        yield printable(f"    {each.what}: {shares}, {_split(each)}")
    p = f"p at most {found.alpha:g}"
    yield f"  regression: {f'yes ({p})' if found.regression else 'no'}"


def _paired(each: Paired) -> Iterator[str]:
    change = each.after.value - each.before.value
    yield f"  {each.what}: {each.before.value:.0%} -> {each.after.value:.0%} ({change:+.0%})"
    yield f"    {_split(each)} (McNemar, exact)"
    if each.worse:
        yield printable(f"    worse: {_some(each.worse)}")


def _split(each: Paired) -> str:
    return f"worse {len(each.worse)}, better {len(each.better)}, p = {each.p:.2g}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _tokens(usage: Usage, questions: int) -> str:
    each = usage.tokens / questions if questions else 0
    cost = "" if not usage.cost else f", ${usage.cost:.4f}"
    return f"{usage.input_tokens:,} in, {usage.output_tokens:,} out, {each:,.0f} a question{cost}"


def _wrong(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for each in verdicts:
        if each.right:
            continue
        said = each.error or f"{each.called} {' '.join(each.given)}".strip()
        yield printable(f"  {each.id}: {each.question}").replace("\n", " ")
        yield printable(f"      expected {each.expected}, got {said}").replace("\n", " ")
