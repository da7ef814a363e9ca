"""What having tools, and forcing one, adds to a request before any definition, where a vendor says so.

Anthropic puts a system prompt of its own before the tools, and publishes how long it is for each model,
by ``tool_choice``: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview (2026). What
it says of Fable, Opus 5 and the 5.5 models was not verified, so they are not here; of the rest, Sonnet
4.6 alone was seen again in November 2026. Other vendors publish nothing of the kind.
"""

import re
from typing import NamedTuple


class ChoiceCost(NamedTuple):
    """Tokens that a vendor adds to every request with tools."""

    free: int
    """Where the model chooses (``auto``), or may call none."""
    forced: int
    """Where it must call some tool, or this one."""


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
# A date, a version of Bedrock's or an alias may follow; another number is another model.
_MODEL = re.compile(r"claude-([a-z0-9-]+?)(?:-\d{8}|-latest|@\w+)?(?:-v\d+)?(?::\d+)?(?:\[\w+\])?$")


def choice_cost(model: str) -> ChoiceCost | None:
    """What a model's vendor adds; None where nobody says."""
    found = _MODEL.search(model)
    return None if found is None else _ANTHROPIC.get(found[1])
