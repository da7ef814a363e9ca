"""The passages of runs in which searched words were found, with some text around them."""

import re
from collections.abc import Sequence

from rightcall.serve.studio.index import SHIFT, Index
from rightcall.serve.studio.run_facts import RunFacts

_AROUND = 60
"""Characters before and after."""
_MOST_TEXTS = 20


def snippets_of(index: Index, q: str, shown: Sequence[RunFacts]) -> dict[int, list[list[object]]]:
    """By run: pieces of text, each with whether it is a match.

    The texts are searched here and not by the index, which would search again for each run. A word that
    was found in another spelling, such as with other accents, has no snippet.
    """
    words = re.findall(r"\w+", q)
    if not words:
        return {}
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\w*" for word in words), re.IGNORECASE)
    query = f"SELECT body FROM texts WHERE rowid >= ? AND rowid < ? LIMIT {_MOST_TEXTS}"  # noqa: S608
    found = {}
    for facts in shown:
        for (body,) in index.query(query, (facts.id << SHIFT, (facts.id + 1) << SHIFT)):
            if (at := pattern.search(body)) is not None:
                found[facts.id] = _pieces(body, at.start(), pattern)
                break
    return found


def _pieces(body: str, at: int, pattern: re.Pattern[str]) -> list[list[object]]:
    start, end = max(at - _AROUND, 0), min(at + 2 * _AROUND, len(body))
    text = f"{'…' if start else ''}{body[start:end]}{'…' if end < len(body) else ''}"
    pieces: list[list[object]] = []
    last = 0
    for match in pattern.finditer(text):
        pieces += [[text[last : match.start()], False], [match[0], True]]
        last = match.end()
    pieces.append([text[last:], False])
    return [piece for piece in pieces if piece[0]]
