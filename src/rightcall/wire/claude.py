"""What applies to Claude in every dialect: how thinking is requested, and what newer models refuse.

What each model accepts is on the pages "What's new" and "Migration guide" of
https://platform.claude.com/docs/en/about-claude/models/overview: opus-5-5/whats-new-opus-5-5,
sonnet-5-5/migration-guide, haiku-5-5/migration-guide and fable-5/introducing-… (November 2026).

A computer is one tool here, but for newer models a toolset with one definition. Newer models call an
action by its name (``left_click``) and name the toolset beside it; older ones call ``computer`` with
the action among the arguments. A transcript has only the older form, so that every tool, policy and
model reads the same; it is converted to the form of the request's tools.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.lazy import pattern
from rightcall.core.message import Message, Reasoning, Reply
from rightcall.errors import EncodeError

MIN_BUDGET = 1024
"""The smallest thinking budget that is accepted."""

# Adaptive thinking exists since 4.6:
# https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
_BUDGETED = pattern(
    r"claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?=$|[@:]|-(?:20\d{6}|v\d|latest)))"
)
"""Names of models that think with a token budget and do not support adaptive thinking."""

_BUDGETS: Mapping[str, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_000,
}

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""The beta that ``drop_unbound_thoughts`` needs."""

_VERSION = pattern(r"claude-(?:([a-z]+)-)?(\d+)(?:[-.](\d{1,2})(?!\d))?(?!\d)")
_ALWAYS = pattern(r"claude-(?:fable|mythos)-")
"""Model lines that have always thought without being asked, and never accepted a forced tool choice. For
Mythos this is assumed from what Anthropic says of Fable, its twin."""
_ADAPTIVE_ONLY = (4, 7)
"""From this version on a budget is refused:
https://platform.claude.com/docs/en/build-with-claude/thinking"""
_BEFORE_XHIGH = (4, 6)
"""The only version that accepts effort levels but not ``xhigh``:
https://platform.claude.com/docs/en/build-with-claude/effort"""
_FIRST = (4, 5)
"""The first version that accepts strict tools; Opus 4.1 did in the beta, and is no longer listed.
https://platform.claude.com/docs/en/build-with-claude/structured-outputs"""
_ON_BEDROCK = ((4, 5), (4, 6))
"""Versions that accept strict tools on Bedrock:
https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html; later versions refuse them
there (https://github.com/pydantic/pydantic-ai, providers/bedrock.py)."""

_SETS_ALONE = (5, 5)
"""From this version on Anthropic's and Google's endpoints accept only the toolset for computer use; for
Fable and Mythos from 5.2 on. Bedrock still accepts the single tool.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool"""


def budget_for_effort(word: str, model: str, max_tokens: int | None) -> int | None:
    """The token budget for an effort level; None for a model that takes the level itself.

    The budget is part of ``max_tokens``, half of which is left for the answer.
    """
    if word not in _BUDGETS or not _BUDGETED.search(model):
        return None
    wanted = _BUDGETS[word]
    return max(wanted if max_tokens is None else min(wanted, max_tokens // 2), MIN_BUDGET)


def check_budget(budget: int, max_tokens: int | None, dialect: str) -> None:
    """Raise EncodeError if the answer would have no room beside this thinking budget."""
    if max_tokens is not None and max_tokens <= budget:
        raise EncodeError(
            dialect,
            f"max_tokens ({max_tokens:,}) must be more than the thinking budget ({budget:,}), which is "
            f"part of it and at least {MIN_BUDGET:,}; raise the one or lower the other.",
            where="max_tokens",
        )


def effort_for_budget(tokens: int, model: str) -> str | None:
    """The effort level for a token budget; None for a model that takes the budget itself."""
    _, version = _parse_model(model)
    if version < _ADAPTIVE_ONLY and not _ALWAYS.search(model):
        return None
    return next((word for word, budget in _BUDGETS.items() if budget >= tokens), "max")


def effort_of(word: str, model: str) -> str:
    """The vendor's effort level, or the next higher one that the model supports."""
    if word == "xhigh" and _parse_model(model)[1] == _BEFORE_XHIGH:
        return "max"
    return word


def least_thinking(model: str) -> tuple[JsonObject, JsonObject]:
    """The ``thinking`` and ``output_config`` for the least thinking that the model allows.

    Some refuse ``disabled``: Sonnet 5.5 has its own value for thinking only between calls, and Fable,
    Mythos and Opus 5.5 always think, so that a low effort is the least.
    """
    line, version = _parse_model(model)
    if _ALWAYS.search(model) or (line == "opus" and version >= (5, 5)):
        return {}, {"effort": "low"}
    if line == "sonnet" and version >= (5, 5):
        return {"type": "between_tools"}, {}
    return {"type": "disabled"}, {}


@lru_cache(maxsize=256)
def can_be_forced(model: str) -> bool:
    """Whether a model accepts a forced tool call. Some answer 400, whether they think or not.

    'tool_choice: type "tool" and "any" are not supported for this model', on every platform
    (https://github.com/vercel/ai/issues/21364). Haiku 5.5 still accepts it. On Bedrock Sonnet 5 accepts
    it only while thinking is disabled (https://github.com/anthropics/skills, model-migration.md).
    """
    line, version = _parse_model(model)
    if line == "sonnet" and version == (5, 0) and "anthropic." in model:
        return False
    return not (_ALWAYS.search(model) or (line in ("opus", "sonnet") and version >= (5, 5)))


@lru_cache(maxsize=256)
def computer_of(model: str) -> str:
    """The type of the computer-use tool that a model accepts; empty where that is unknown."""
    line, version = _parse_model(model)
    if version == (0, 0):
        return ""
    alone = (5, 2) if line in ("fable", "mythos") else _SETS_ALONE
    if version >= alone and "anthropic." not in model:
        return "computer_toolset_20260801"
    is_older = version < (4, 5) or (version == (4, 5) and line != "opus")
    if is_older:
        return "computer_20250124"
    return "computer_20251124"


def drop_unbound_thoughts(
    thinking: JsonObject, messages: Sequence[Message], model: str
) -> JsonObject | None:
    """The ``thinking`` that drops thoughts whose prompt has changed; None where it is not needed.

    Newer models accept a thought back only after exactly the system text, tools and messages that
    preceded it, and otherwise refuse the request. Tool search and trimmed histories change these. The
    setting exists only for adaptive thinking, which is these models' default.
    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
    """
    line, version = _parse_model(model)
    is_bound = version >= ((5, 1) if line in ("fable", "mythos") else (5, 5))
    if not is_bound or thinking.get("type", "adaptive") != "adaptive":
        return None
    replies = []
    for message in messages:
        if isinstance(message, Reply):
            replies.append(message)
    if not any(isinstance(part, Reasoning) for reply in replies for part in reply.content):
        return None
    wish: JsonObject = {"prefix_mismatch_behavior": "drop_block"}
    return {"type": "adaptive", **thinking, "block_binding": wish}


@lru_cache(maxsize=256)
def _parse_model(model: str) -> tuple[str, tuple[int, int]]:
    """The model line and version in a name; an empty string and zeros for other models."""
    found = _VERSION.search(model)
    if found is None:
        return ("", (0, 0))
    return (found[1] or "", (int(found[2]), int(found[3] or 0)))


def strict_refusal(model: str) -> str:
    """Why strict tools are not the default for a model; empty if they are, or if it has no name."""
    if not model:
        return ""
    _, version = _parse_model(model)
    if version == (0, 0):
        return f"{model} is not known to take strict tools."
    if "@" in model:
        # https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs
        return "Vertex AI takes strict tools only where the organisation's policy allows them."
    if "anthropic." in model and version not in _ON_BEDROCK:
        return f"Amazon Bedrock is not known to take strict tools for {model}."
    if version >= _FIRST:
        return ""
    return f"{model} is older than strict tools."


COMPUTER = "computer"
TOOLSET_MEMBER = "toolset_name"
"""The member of calls and results that names their toolset."""
_ACTION = "action"
_SET = "computer_toolset_"
_SINGLE_TOOL = "computer_20251124"
"""The newest definition of the older form."""


def definition_for_model(model: str, definition: dict[str, Any]) -> dict[str, Any]:
    """The definition of a computer in the version that the model accepts; others unchanged."""
    if definition.get("type") != _SINGLE_TOOL:
        return definition
    version = computer_of(model) or _SINGLE_TOOL
    if version.startswith(_SET):
        return {"type": version}
    left_out = () if version == _SINGLE_TOOL else ("enable_zoom",)
    return {key: definition[key] for key in definition if key not in left_out} | {"type": version}


def is_set(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is that of the toolset."""
    return str(definition.get("type", "")).startswith(_SET)


def join_action(action: str, arguments: str) -> str:
    """The arguments of an action as arguments of ``computer``. What is not an object stays unchanged."""
    inner = arguments.strip() or "{}"
    if not inner.startswith("{"):
        return arguments
    rest = inner[1:].lstrip()
    comma = "" if rest.startswith("}") else ","
    return f"{{{dump(_ACTION)}:{dump(action)}{comma}{rest}"


def split_action(name: str, arguments: JsonObject) -> tuple[str, JsonObject] | None:
    """The action and its arguments in a call of ``computer``; None for other calls."""
    action = arguments.get(_ACTION)
    if name != COMPUTER or not isinstance(action, str):
        return None
    return action, {key: value for key, value in arguments.items() if key != _ACTION}
