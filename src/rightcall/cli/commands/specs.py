"""Print what a model is told about the tools in a file."""

import sys
from argparse import ArgumentParser, Namespace

from rightcall.cli.exits import OK


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("tools", metavar="FILE.py[:NAME]")


def run(options: Namespace) -> int:
    """Print the specs as JSON."""
    from msgspec import json  # noqa: PLC0415 - help and errors need none of this

    from rightcall.cli.load import load_tools  # noqa: PLC0415
    from rightcall.cli.safe import ended, write  # noqa: PLC0415

    specs = [tool.spec for tool in load_tools(options.tools)]
    write(ended(json.format(json.encode(specs), indent=2).decode()), sys.stdout)
    return OK
