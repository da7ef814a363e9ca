"""The gates that were opened on the command line, into the tools behind them."""

from argparse import Namespace
from collections.abc import Iterator

from rightcall.core.tool import Tool
from rightcall.declare.toolbox import Toolbox


def opened(options: Namespace, taken: tuple[str, ...]) -> Toolbox:
    """The tools behind the gates that were opened. ``taken`` are names that a manifest may not use."""
    behind = Toolbox(list(_builtins(options)))
    if not options.manifests:
        return behind
    from rightcall.manifest.document import load  # noqa: PLC0415 - light until used

    for file in options.manifests:
        names = (*taken, *behind.names())
        behind += list(load(file, sandbox=options.sandbox, taken=names))
    return behind


def _builtins(options: Namespace) -> Iterator[Tool]:
    from rightcall import builtin  # noqa: PLC0415 - light until used

    if options.allow_fs:
        from rightcall.builtin.files.root import granted  # noqa: PLC0415

        yield builtin.fs(granted(options.allow_fs))
    if options.allow_web:
        yield builtin.web()
    if options.web_search:
        yield builtin.web_search(options.web_search)
    if options.allow_shell:
        yield builtin.shell()
    if options.memory:
        yield builtin.memory(options.memory)
    if options.plan:
        yield builtin.plan()
