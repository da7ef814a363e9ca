"""Claude's computer use: one tool here, but for newer models a toolset with one definition.

Newer models call an action by its name (``left_click``) and name the toolset beside it; older ones call
``computer`` with the action among the arguments. A transcript has only the older form, so that every
tool, policy and model reads the same; it is converted to the form of the request's tools.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool
"""

from collections.abc import Mapping
from typing import Any

from rightcall.core.jsontext import JsonObject, dump
from rightcall.wire.claude import computer_of

FAMILY = "computer"
SET_NAME = "toolset_name"
"""The member of calls and results that names their toolset."""
_ACTION = "action"
_SET = "computer_toolset_"
_NEWEST = "computer_20251124"
"""The newest definition of the older form."""


def known_to(model: str, definition: dict[str, Any]) -> dict[str, Any]:
    """The definition of a computer in the version that the model accepts; others unchanged."""
    if definition.get("type") != _NEWEST:
        return definition
    version = computer_of(model) or _NEWEST
    if version.startswith(_SET):
        return {"type": version}
    left_out = () if version == _NEWEST else ("enable_zoom",)
    return {key: definition[key] for key in definition if key not in left_out} | {"type": version}


def is_set(definition: Mapping[str, Any]) -> bool:
    """Whether a definition is that of the toolset."""
    return str(definition.get("type", "")).startswith(_SET)


def joined(action: str, arguments: str) -> str:
    """The arguments of an action as arguments of ``computer``. What is not an object stays unchanged."""
    inner = arguments.strip() or "{}"
    if not inner.startswith("{"):
        return arguments
    rest = inner[1:].lstrip()
    comma = "" if rest.startswith("}") else ","
    return f"{{{dump(_ACTION)}:{dump(action)}{comma}{rest}"


def parted(name: str, arguments: JsonObject) -> tuple[str, JsonObject] | None:
    """The action and its arguments in a call of ``computer``; None for other calls."""
    action = arguments.get(_ACTION)
    if name != FAMILY or not isinstance(action, str):
        return None
    return action, {key: value for key, value in arguments.items() if key != _ACTION}
