"""Refuses a vendor's tool in ``vendor_tools`` that the caller must run, if there is no tool for it.

The vendor defines such a tool, its model calls it, and then the run waits for a result. So
``vendor_tools`` may hold one only if the agent has a tool of that name; otherwise an error is raised
before anything is sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.errors import UsageError
from rightcall.loop.setup import Setup

_DECLARE: Mapping[str, str] = {
    "bash": 'rc.builtin.shell(signature="anthropic")',
    "text_editor": "rc.builtin.text_editor(root)",
    "memory": "rc.builtin.memory(root)",
    "shell": 'rc.builtin.shell(signature="openai")',
    "apply_patch": "rc.builtin.apply_patch(root)",
    "computer": "rc.builtin.computer(driver)",
    "local_shell": 'rc.builtin.shell(signature="openai_local")',
    "tool_search": 'rc.Tool("tool_search", …, native={"openai_responses": {"type": "tool_search", …}})',
}
"""What to use instead, by the kind of the tool."""


def check_vendor_tools(setup: Setup) -> None:
    """Raise UsageError for a vendor's tool whose calls no tool here would answer."""
    given = setup.options.get("vendor_tools")
    if given is None:
        return
    for tool in given if isinstance(given, Sequence) and not isinstance(given, str) else ():
        if isinstance(tool, Mapping) and (kind := _kind(tool)) and not _is_there(tool, kind, setup):
            raise UsageError(
                f"vendor_tools has {tool['type']!r}, whose calls are this program's to run, with "
                f"no tool for them: give the agent {_DECLARE[kind]}, which is sent as the vendor's own, "
                "and leave it out of vendor_tools"
            )


def _kind(tool: Mapping[str, Any]) -> str:
    """Returns the kind of a tool that the caller must run; empty for any other."""
    word = tool.get("type")
    if not isinstance(word, str):
        return ""
    if word.startswith(("computer_use_preview", "computer-preview", "computer_toolset_")):
        return "computer"
    stem, _, dated = word.rpartition("_")
    kind = stem if dated.isdigit() else word
    if kind == "shell":
        place = tool.get("environment")
        is_hosted = isinstance(place, Mapping) and str(place.get("type")).startswith("container")
        return "" if is_hosted else kind
    if kind == "tool_search" and tool.get("execution") != "client":
        return ""
    return kind if kind in _DECLARE else ""


def _is_there(tool: Mapping[str, Any], kind: str, setup: Setup) -> bool:
    name = tool.get("name")
    return setup.tools.get(name if isinstance(name, str) else kind) is not None
