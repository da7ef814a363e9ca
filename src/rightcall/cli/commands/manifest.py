"""Tools from an operator's manifest: check the file, show what it allows, run one of its tools."""

import shlex
from argparse import Namespace
from collections.abc import Iterator

from rightcall.cli import NO_ANSWER, OK
from rightcall.cli.commands.call import put
from rightcall.core.sanitize import printable
from rightcall.declare.toolbox import Toolbox
from rightcall.gate.executor import Executor
from rightcall.manifest.command_tool import Element, Entry, Group, parts
from rightcall.manifest.document import inspect, load


def run(options: Namespace) -> int:
    """Check, show or run."""
    return {"check": _check, "show": _show, "run": _run}[options.action](options)


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
            tools = "1 tool" if len(reading.entries) == 1 else f"{len(reading.entries)} tools"
            print(printable(f"{file}: {tools}, nothing wrong"))
        wrong += len(reading.problems)
    return NO_ANSWER if wrong else OK


def _show(options: Namespace) -> int:
    for entry in load(options.file, sandbox=options.sandbox).entries:
        print(printable(f"{entry.name}: {entry.description}"))
        for title, text in _lines(entry):
            print(printable(f"  {title:<8} {text}"))
    return OK


def _lines(entry: Entry) -> Iterator[tuple[str, str]]:
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


def _element(element: Element) -> str:
    before, placeholder, after = parts(element)
    name = [] if placeholder is None else [f"<{placeholder.name}>"]
    shown = " ".join([*map(shlex.quote, before), *name, *after])
    return f"[{shown}]" if isinstance(element, Group) else shown


def _run(options: Namespace) -> int:
    async def yes(_: object) -> bool:
        # The person who types the call has approved it.
        return True

    return put(options, Toolbox(load(options.file, sandbox=options.sandbox)), Executor(approve=yes))
