"""The tool that stands for a call which the vendor itself runs once a person has approved it.

It is in no toolbox and no model is told of it. Running it means yes, and the dialect sends that to the
vendor; any other outcome means no.
"""

from rightcall.core.decision import APPROVED, VENDOR_CALL
from rightcall.core.facts import Facts
from rightcall.core.tool import Tool


def _approve(server: str, tool: str, arguments: object) -> str:  # noqa: ARG001 - what was asked
    return APPROVED


vendor_call = Tool(
    VENDOR_CALL,
    "Let the vendor call a tool of a server that it is connected to.",
    {
        "type": "object",
        "properties": {"server": {"type": "string"}, "tool": {"type": "string"}, "arguments": {}},
        "required": ["server", "tool", "arguments"],
    },
    _approve,
    approval=True,
    facts=Facts(
        untrusted=False,
        private=False,
        reach="outside",
        dangers=("money", "deletes", "credentials"),
        targets=("server", "tool"),
    ),
)
