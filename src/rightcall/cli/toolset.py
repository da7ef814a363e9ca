"""A command's options into the tools that a model may call."""

from argparse import Namespace

from rightcall.cli.gates import opened
from rightcall.cli.load import load_tools
from rightcall.declare.toolbox import Toolbox


def gather(options: Namespace) -> Toolbox:
    """Every tool that the options ask for. One of the user's own takes the place of a default's name."""
    own = Toolbox([load_tools(place) for place in options.tools])
    behind = opened(options, own.names())
    if not options.default_tools:
        return own + behind
    from rightcall.builtin import default_tools  # noqa: PLC0415 - light until used

    taken = {*own.names(), *behind.names()}
    return Toolbox(Toolbox(default_tools()).filter(lambda tool: tool.name not in taken), own, behind)
