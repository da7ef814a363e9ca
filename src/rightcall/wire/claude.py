"""Which Claude models take strict tools, by a model's name and the place that the name betrays."""

import re

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?(?!\d)")
_FIRST = (4, 5)
"""The first version that takes them; Opus 4.1 did in the beta, and is not on the list any more.
https://platform.claude.com/docs/en/build-with-claude/structured-outputs"""
_ON_BEDROCK = ((4, 5), (4, 6))
"""https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html; what came after refuses
them there (https://github.com/pydantic/pydantic-ai, providers/bedrock.py)."""


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
