"""Put a call through the gate, as if a model had asked for it, and print the result."""

import sys
from argparse import ArgumentParser, Namespace

from rightcall.cli.exits import NO_ANSWER, OK


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("tools", metavar="FILE.py[:NAME]")
    parser.add_argument("tool", metavar="TOOL", help="the tool's name")
    parser.add_argument(
        "arguments", nargs="?", default="", help="the arguments, as a model would write them"
    )


def run(options: Namespace) -> int:
    """Run the call; its result goes to stdout, what only the developer may see to stderr."""
    import asyncio  # noqa: PLC0415 - help and errors need none of this

    from rightcall.cli.load import load_tools  # noqa: PLC0415
    from rightcall.cli.safe import ended, harmless, write  # noqa: PLC0415
    from rightcall.core.call import Call  # noqa: PLC0415
    from rightcall.core.parts import Media  # noqa: PLC0415
    from rightcall.gate.executor import Executor  # noqa: PLC0415

    call = Call(id="1", name=options.tool, arguments=options.arguments)
    (done,) = asyncio.run(Executor().execute([call], load_tools(options.tools)))
    for part in done.result.content:
        if isinstance(part, Media):
            print(f"[{part.media_type}, {len(part.data):,} bytes]")
        else:
            write(ended(part.text), sys.stdout)
    if not done.result.is_error:
        return OK
    print(f"rightcall: {done.outcome.kind}", file=sys.stderr)
    if detail := getattr(done.outcome, "error", ""):
        print(harmless(detail.rstrip()), file=sys.stderr)
    return NO_ANSWER
