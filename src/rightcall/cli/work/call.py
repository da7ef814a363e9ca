"""The tools of a file or a manifest: print their specs, call one, check and show the manifest."""

import asyncio
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator

from msgspec import json

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.formatting import media_words, write
from rightcall.cli.load import load_tools
from rightcall.cli.summary import OutputView
from rightcall.cli.terminal import approver
from rightcall.core.parts import Call, Media
from rightcall.core.sanitize import printable
from rightcall.declare.toolbox import Toolbox
from rightcall.gate.executor import Executor
from rightcall.manifest.command_tool import ArgumentGroup, Entry, element_parts
from rightcall.manifest.document import inspect, load


def run(options: Namespace) -> int:
    """Print specs, run a call, or do what is asked of a manifest."""
    match options.action:
        case "specs":
            specs = [tool.spec for tool in load_tools(options.tools)]
            write(json.format(json.encode(specs), indent=2).decode(), sys.stdout)
            return OK
        case "call":
            approve = approver(options, OutputView(sys.stderr))
            return _call(options, load_tools(options.tools), Executor(approve=approve))
        case "check":
            return _check(options)
        case "show":
            for entry in load(options.file, sandbox=options.sandbox).entries:
                print(printable(f"{entry.name}: {entry.description}"))
                for title, text in _lines(entry):
                    print(printable(f"  {title:<8} {text}"))
            return OK
        case _:
            return _run_entry(options)


def _call(options: Namespace, tools: Toolbox, gate: Executor) -> int:
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


def _check(options: Namespace) -> int:
    wrong = 0
    taken: list[str] = []
    for file in options.files:
        reading = inspect(file, sandbox=options.sandbox, taken=taken)
        taken += [entry.name for entry in reading.entries]
        found = [(each, "error") for each in reading.problems]
        found += [(each, "warning") for each in reading.warnings]
        for each, kind in sorted(found, key=lambda pair: (pair[0].line, pair[0].column)):
            print(printable(f"{each.place}: {kind}: {each.words}"))
        if not reading.problems:
            if len(reading.entries) == 1:
                tools = "1 tool"
            else:
                tools = f"{len(reading.entries)} tools"
            print(printable(f"{file}: {tools}, nothing wrong"))
        wrong += len(reading.problems)
    if wrong:
        return NO_ANSWER
    return OK


def _lines(entry: Entry) -> Iterator[tuple[str, str]]:
    pieces = [shlex.quote(entry.command)]
    for element in entry.argv:
        before, placeholder, after = element_parts(element)
        words = [shlex.quote(each) for each in before]
        if placeholder is not None:
            words.append(f"<{placeholder.name}>")
        shown = " ".join([*words, *after])
        if isinstance(element, ArgumentGroup):
            shown = f"[{shown}]"
        pieces.append(shown)
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


def _run_entry(options: Namespace) -> int:
    async def yes(_: object) -> bool:
        # The person who types the call has approved it.
        return True

    return _call(options, Toolbox(load(options.file, sandbox=options.sandbox)), Executor(approve=yes))
