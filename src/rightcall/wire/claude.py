"""What holds for Claude in every dialect: who thinks with a budget, and who takes strict tools."""

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

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?(?!\d)")
_FIRST = (4, 5)
"""The first version that takes them; Opus 4.1 did in the beta, and is not on the list any more.
https://platform.claude.com/docs/en/build-with-claude/structured-outputs"""
_ON_BEDROCK = ((4, 5), (4, 6))
"""https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html; what came after refuses
them there (https://github.com/pydantic/pydantic-ai, providers/bedrock.py)."""


def budget_of(word: str, model: str, max_tokens: int | None) -> int | None:
    """The tokens that a word for an effort means to a model; None for one that takes the word itself.

    The budget is a part of ``max_tokens``, of which half is left for the answer.
    """
    if word not in _BUDGETS or not _BUDGETED.search(model):
        return None
    wanted = _BUDGETS[word]
    return max(wanted if max_tokens is None else min(wanted, max_tokens // 2), MIN_BUDGET)


def strict_refusal(model: str) -> str:
    """Why a model is not sent strict tools unasked; empty for one that takes them, or without a name."""
    if not model:
        return ""
    found = _VERSION.search(model)
    if found is None:
        return f"{model} is not known to take strict tools."
    version = (int(found[1]), int(found[2] or 0))
    if "@" in model:
        # https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs
        return "Vertex AI takes strict tools only where the organisation's policy allows them."
    if "anthropic." in model and version not in _ON_BEDROCK:
        return f"Amazon Bedrock is not known to take strict tools for {model}."
    return "" if version >= _FIRST else f"{model} is older than strict tools."
