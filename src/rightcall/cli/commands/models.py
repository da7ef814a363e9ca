"""The local models that have a name: list them, give a GGUF file a name, take a name away.

Only the names are kept, in models.json under the XDG configuration directory; files stay where they are.
"""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.exits import OK

if TYPE_CHECKING:
    from rightcall.catalogue import Entry
    from rightcall.core.jsontext import JsonObject


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.set_defaults(json=False)
    actions = parser.add_subparsers(dest="action", metavar="list|add|remove")
    listing = actions.add_parser("list", help="every name, its file, and what the file holds")
    listing.add_argument("--json", action="store_true", help="one line of JSON for each")
    adding = actions.add_parser("add", help="give a file a name")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("path", metavar="PATH.gguf")
    removing = actions.add_parser("remove", help="take a name away; the file stays")
    removing.add_argument("name", metavar="NAME")


def run(options: Namespace) -> int:
    """List, add or remove; list, unless told."""
    from rightcall import catalogue  # noqa: PLC0415 - help and errors need none of this
    from rightcall.cli.safe import harmless  # noqa: PLC0415

    match options.action:
        case "add":
            added = catalogue.add(options.name, options.path)
            print(harmless(f"{added.name} is {added.path}"))
        case "remove":
            removed = catalogue.remove(options.name)
            print(harmless(f"{removed.name} is forgotten; {removed.path} stays"))
        case _:
            listed = [_described(entry) for entry in catalogue.entries()]
            _list([_embedded(), *listed], as_json=options.json)
    return OK


def _list(models: "list[JsonObject]", *, as_json: bool) -> None:
    from rightcall.cli.described import line_of  # noqa: PLC0415
    from rightcall.cli.safe import harmless  # noqa: PLC0415

    if as_json:
        sys.stdout.writelines(line_of(model) for model in models)
        return
    rows = [("name", "size", "family", "file"), *(_row(model) for model in models)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        print(harmless("  ".join([*cells, row[3]])))


def _row(model: "JsonObject") -> tuple[str, str, str, str]:
    size = model["bytes"]
    shown = f"{size / 1e6:,.0f} MB" if isinstance(size, int) else "?"
    problem = f" ({model['problem']})" if model["problem"] else ""
    return str(model["name"]), shown, str(model["family"]), f"{model['path'] or ''}{problem}"


def _embedded() -> "JsonObject":
    from rightcall.catalogue import EMBEDDED, Entry  # noqa: PLC0415
    from rightcall.errors import UsageError  # noqa: PLC0415
    from rightcall.local.engines.llamacpp import embedded_path  # noqa: PLC0415

    try:
        return _described(Entry(name=EMBEDDED, path=embedded_path()))
    except UsageError as error:
        nothing = {"path": None, "bytes": None, "family": "", "context_window": None}
        return {"name": EMBEDDED, **nothing, "problem": str(error)}


def _described(entry: "Entry") -> "JsonObject":
    """What the head of the file says. A file that is gone or broken is listed, and said to be so."""
    from rightcall.errors import UsageError  # noqa: PLC0415
    from rightcall.local.families.known import detect  # noqa: PLC0415
    from rightcall.local.gguf import read_header  # noqa: PLC0415

    family, window, problem = "", None, ""
    try:
        header = read_header(entry.path)
        family = detect(header.templates.get("default", "")).name
        window = header.context_window
    except UsageError as error:
        problem = "the file is gone" if entry.size is None else str(error)
    return {
        "name": entry.name,
        "path": str(entry.path),
        "bytes": entry.size,
        "family": family,
        "context_window": window,
        "problem": problem,
    }
