"""``toolwright``: look at tools and call them, as a model would."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import toolwright
from toolwright.errors import ToolwrightError

OK, CALL_FAILED, BAD_USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code says how it went."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except ToolwrightError as error:
        print(f"toolwright: {error}", file=sys.stderr)
        return BAD_USAGE
    return code


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="toolwright",
        description="A tool-calling runtime for language models.",
    )
    parser.add_argument("--version", action="version", version=toolwright.__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    specs = commands.add_parser("specs", help="print what a model is told about the tools in a file")
    specs.add_argument("tools", metavar="FILE.py[:NAME]")
    specs.set_defaults(run=_specs)
    call = commands.add_parser("call", help="put a call through the gate and print the result")
    call.add_argument("tools", metavar="FILE.py[:NAME]")
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    call.add_argument(
        "arguments", nargs="?", default="", help="the arguments, as a model would write them"
    )
    call.set_defaults(run=_call)
    return parser


def _specs(options: Namespace) -> int:
    from msgspec import json  # noqa: PLC0415 - help and errors need none of this

    from toolwright.cli.load import load_tools  # noqa: PLC0415

    specs = [tool.spec for tool in load_tools(options.tools)]
    print(json.format(json.encode(specs), indent=2).decode())
    return OK


def _call(options: Namespace) -> int:
    from toolwright.cli.load import load_tools  # noqa: PLC0415
    from toolwright.core.call import Call  # noqa: PLC0415
    from toolwright.core.parts import Media  # noqa: PLC0415
    from toolwright.execute.executor import Executor  # noqa: PLC0415

    call = Call(id="1", name=options.tool, arguments=options.arguments)
    (done,) = asyncio.run(Executor().execute([call], load_tools(options.tools)))
    for part in done.result.content:
        if isinstance(part, Media):
            print(f"[{part.media_type}, {len(part.data):,} bytes]")
        else:
            print(part.text)
    if not done.result.is_error:
        return OK
    print(f"toolwright: {done.outcome.kind}", file=sys.stderr)
    if detail := getattr(done.outcome, "error", ""):
        print(detail.rstrip(), file=sys.stderr)
    return CALL_FAILED


if __name__ == "__main__":
    sys.exit(main())
