"""Put a call through the gate, as if a model had asked for it, and print the result."""

import asyncio
import sys
from argparse import Namespace

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.load import load_tools
from rightcall.cli.summary import View
from rightcall.cli.terminal import approver
from rightcall.cli.wording import media_words, write
from rightcall.core.call import Call
from rightcall.core.parts import Media
from rightcall.core.sanitize import printable
from rightcall.declare.toolbox import Toolbox
from rightcall.gate.executor import Executor


def run(options: Namespace) -> int:
    """Run the call."""
    view = View(sys.stderr)
    return put(options, load_tools(options.tools), Executor(approve=approver(options, view)))


def put(options: Namespace, tools: Toolbox, gate: Executor) -> int:
    """Run the call; its result goes to stdout, details for the developer alone to stderr."""
    call = Call(id="1", name=options.tool, arguments=options.arguments)
    (done,) = asyncio.run(gate.execute([call], tools, dry_run=options.dry_run))
    for part in done.result.content:
        write(media_words(part) if isinstance(part, Media) else part.text, sys.stdout)
    if not done.result.is_error:
        return OK
    # Flushed first, so that the result comes first if both go to one file.
    sys.stdout.flush()
    print(f"rightcall: {done.outcome.kind}", file=sys.stderr)
    if detail := getattr(done.outcome, "error", ""):
        print(printable(detail.rstrip()), file=sys.stderr)
    return NO_ANSWER
