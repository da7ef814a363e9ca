"""The tokens that a vendor adds to a request for having tools, and for forcing one, if published.

Anthropic puts a system prompt of its own before the tools, and publishes how long it is for each model,
by ``tool_choice``: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview (2026). Its
numbers for Fable, Opus 5 and the 5.5 models were not verified, so they are not here; of the rest, only
Sonnet 4.6 was verified again in November 2026. Other vendors publish nothing of the kind.
"""

import re
from typing import NamedTuple


class ChoiceCost(NamedTuple):
    """Tokens that a vendor adds to every request with tools."""

    free: int
    """If the model chooses (``auto``), or may call none."""
    forced: int
    """If it must call some tool, or a specific one."""


_ANTHROPIC = {
    "opus-4-8": ChoiceCost(290, 410),
    "opus-4-7": ChoiceCost(675, 804),
    "opus-4-6": ChoiceCost(497, 589),
    "opus-4-5": ChoiceCost(496, 588),
    "opus-4-1": ChoiceCost(313, 315),
    "opus-4": ChoiceCost(313, 315),
    "opus-4-0": ChoiceCost(313, 315),
    "sonnet-5": ChoiceCost(354, 474),
    "sonnet-4-6": ChoiceCost(497, 589),
    "sonnet-4-5": ChoiceCost(496, 588),
    "sonnet-4": ChoiceCost(313, 315),
    "sonnet-4-0": ChoiceCost(313, 315),
    "haiku-4-5": ChoiceCost(496, 588),
    "3-5-haiku": ChoiceCost(264, 355),
}
# A date, a Bedrock version or an alias may follow; another number is another model.
_MODEL = re.compile(r"claude-([a-z0-9-]+?)(?:-\d{8}|-latest|@\w+)?(?:-v\d+)?(?::\d+)?(?:\[\w+\])?$")


def choice_cost(model: str) -> ChoiceCost | None:
    """The tokens that a model's vendor adds; None if not published."""
    found = _MODEL.search(model)
    return None if found is None else _ANTHROPIC.get(found[1])
