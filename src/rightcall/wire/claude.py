"""What holds for Claude in every dialect that it is asked in: who thinks with a budget of tokens."""

import re
from collections.abc import Mapping

MIN_BUDGET = 1024
"""The smallest thinking budget that is accepted."""

# Adaptive thinking is there since 4.6:
# https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
_BUDGETED = re.compile(
    r"claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?=$|[@:]|-(?:20\d{6}|v\d|latest)))"
)
"""Names of models that think with a budget of tokens, and know nothing of adaptive thinking."""

_BUDGETS: Mapping[str, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_000,
}


def budget_of(word: str, model: str, max_tokens: int | None) -> int | None:
    """The tokens that a word for an effort means to a model; None for one that takes the word itself.

    The budget is a part of ``max_tokens``, of which half is left for the answer.
    """
    if word not in _BUDGETS or not _BUDGETED.search(model):
        return None
    wanted = _BUDGETS[word]
    return max(wanted if max_tokens is None else min(wanted, max_tokens // 2), MIN_BUDGET)
