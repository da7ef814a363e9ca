"""What a run did into short words for a person."""

from rightcall.cli.safe import harmless, one_line
from rightcall.cli.summary import Summary
from rightcall.core.parts import Media
from rightcall.core.progress import CallProgress
from rightcall.core.result import Result
from rightcall.core.usage import Usage


def shortly(result: Result, most: int) -> str:
    """A result on one line, media by their size."""
    media = [
        f"[{harmless(part.media_type)}, {len(part.data):,} bytes]"
        for part in result.content
        if isinstance(part, Media)
    ]
    return " ".join(filter(None, (one_line(result.text, most), *media)))


def how_far(progress: CallProgress) -> str:
    """How far a call is: ``3 of 10, unpacking``."""
    total = "" if progress.total is None else f" of {progress.total:g}"
    return ", ".join(filter(None, (f"{progress.done:g}{total}", one_line(progress.text, 80))))


def spent(summary: Summary) -> str:
    """What a run took: ``2.1 s, 2 turns, 310 tokens in (128 cached), 25 out, $0.0012``."""
    turns = f"{summary.turns} turn{'' if summary.turns == 1 else 's'}"
    return f"{summary.seconds:.1f} s, {turns}, {tokens(summary.usage)}"


def tokens(usage: Usage) -> str:
    """Tokens, and dollars where the price is known."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    cost = "" if usage.cost is None else f", ${usage.cost:.{2 if usage.cost >= 1 else 4}f}"
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{cost}"


def done(summary: Summary) -> str:
    """What an interrupted run had done."""
    if not summary.calls:
        return "interrupted; no call had finished"
    names = ", ".join(f"{record.name} {record.outcome}" for record in summary.calls)
    return one_line(f"interrupted; done: {names}", 400)
