"""Print the specs of the tools in a file, as a model gets them."""

import sys
from argparse import Namespace

from msgspec import json

from rightcall.cli import OK
from rightcall.cli.load import load_tools
from rightcall.cli.wording import write


def run(options: Namespace) -> int:
    """Print the specs as JSON."""
    specs = [tool.spec for tool in load_tools(options.tools)]
    write(json.format(json.encode(specs), indent=2).decode(), sys.stdout)
    return OK
