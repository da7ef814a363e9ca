"""Tools from an operator's manifest: check the file, show what it allows, run one of its tools.

A manifest is a JSON file that says which programs of this machine a model may run, and how.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.exits import NO_ANSWER, OK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rightcall.manifest.entry import Element, Entry


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|show|run")
    checking = actions.add_parser("check", help="say everything that is wrong with manifests")
    checking.add_argument("files", nargs="+", metavar="FILE.json")
    showing = actions.add_parser("show", help="what a manifest lets a model run, and how")
    showing.add_argument("file", metavar="FILE.json")
    running = actions.add_parser("run", help="call one of its tools, as a model would")
    running.add_argument("file", metavar="FILE.json")
    running.add_argument("tool", metavar="TOOL", help="the tool's name")
    running.add_argument(
        "arguments", nargs="?", default="", help="the arguments, as a model would write them"
    )
    for each in (checking, showing, running):
        each.add_argument("--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for")


def run(options: Namespace) -> int:
    """Check, show or run."""
    match options.action:
        case "check":
            return _check(options)
        case "show":
            return _show(options)
        case _:
            return _run(options)


def _check(options: Namespace) -> int:
    from rightcall.cli.safe import harmless  # noqa: PLC0415 - help and errors need none of this
    from rightcall.manifest.document import inspect  # noqa: PLC0415

    wrong = 0
    taken: list[str] = []
    for file in options.files:
        reading = inspect(file, sandbox=options.sandbox, taken=taken)
        taken += [entry.name for entry in reading.entries]
        found = [(each, "error") for each in reading.problems]
        found += [(each, "warning") for each in reading.warnings]
        for each, kind in sorted(found, key=lambda pair: (pair[0].line, pair[0].column)):
            print(harmless(f"{each.place}: {kind}: {each.words}"))
        if not reading.problems:
            tools = "1 tool" if len(reading.entries) == 1 else f"{len(reading.entries)} tools"
            print(harmless(f"{file}: {tools}, nothing wrong"))
        wrong += len(reading.problems)
    return NO_ANSWER if wrong else OK


def _show(options: Namespace) -> int:
    from rightcall.cli.safe import harmless  # noqa: PLC0415
    from rightcall.manifest.document import load  # noqa: PLC0415

    for entry in load(options.file, sandbox=options.sandbox).entries:
        print(harmless(f"{entry.name}: {entry.description}"))
        for title, text in _lines(entry):
            print(harmless(f"  {title:<8} {text}"))
    return OK


def _lines(entry: "Entry") -> "Iterator[tuple[str, str]]":
    import shlex  # noqa: PLC0415

    pieces = [shlex.quote(entry.command), *map(_element, entry.argv)]
    yield "runs", " ".join(pieces)
    yield "in", entry.cwd
    yield "sees", ", ".join(entry.env_passthrough) or "nothing of the environment"
    bounds = f"{entry.timeout_ms / 1000:g} s, {entry.max_output_bytes:,} bytes of output"
    yield "within", f"{bounds}, {entry.max_processes} processes"
    if entry.isolation is not None:
        network = "with" if entry.isolation.network else "without"
        writes = ", ".join(entry.isolation.write) or "nothing"
        yield "walled", f"by {entry.isolation.by}, {network} network, writing {writes}"
    approval = ", asks a person first" if entry.approval else ""
    yield "effect", f"{entry.effect}{approval}"


def _element(element: "Element") -> str:
    import shlex  # noqa: PLC0415

    from rightcall.manifest.entry import Group, Literally, Placeholder  # noqa: PLC0415

    match element:
        case Literally(text):
            return shlex.quote(text)
        case Placeholder(name):
            return f"<{name}>"
        case Group(before, placeholder, after):
            return "[" + " ".join([*map(shlex.quote, before), f"<{placeholder.name}>", *after]) + "]"


def _run(options: Namespace) -> int:
    import asyncio  # noqa: PLC0415

    from rightcall.cli.safe import ended, write  # noqa: PLC0415
    from rightcall.core.call import Call  # noqa: PLC0415
    from rightcall.declare.toolbox import Toolbox  # noqa: PLC0415
    from rightcall.gate.executor import Executor  # noqa: PLC0415
    from rightcall.manifest.document import load  # noqa: PLC0415

    async def yes(_: object) -> bool:
        # Whoever types the call has said so.
        return True

    tools = Toolbox(load(options.file, sandbox=options.sandbox))
    call = Call(id="1", name=options.tool, arguments=options.arguments)
    (done,) = asyncio.run(Executor(approve=yes).execute([call], tools))
    write(ended(done.result.text), sys.stdout)
    if not done.result.is_error:
        return OK
    print(f"rightcall: {done.outcome.kind}", file=sys.stderr)
    return NO_ANSWER
