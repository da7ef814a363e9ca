"""The default model, and the local models that have a name."""

import sys
from argparse import Namespace

from rightcall.cli import OK
from rightcall.cli.formatting import json_line, table_lines
from rightcall.cli.load import is_place
from rightcall.cli.user_config import MODEL_VARIABLE, change_settings, default_model
from rightcall.core.jsontext import JsonObject
from rightcall.core.sanitize import printable
from rightcall.errors import UsageError
from rightcall.local.engines.llamacpp import embedded_path
from rightcall.local.families.family_list import detect
from rightcall.local.gguf import read_header
from rightcall.models import catalogue
from rightcall.models.catalogue import EMBEDDED, SERVERS, CatalogueEntry, is_local
from rightcall.models.providers import PROVIDERS


def run(options: Namespace) -> int:
    """Choose, list, add or remove; by default list."""
    match options.action:
        case "default":
            _default(options.name)
        case "add":
            added = catalogue.add(options.name, options.path)
            print(printable(f"{added.name} is {added.path}"))
        case "remove":
            removed = catalogue.remove(options.name)
            print(printable(f"{removed.name} is forgotten; {removed.path} stays"))
        case _:
            try:
                embedded = _describe_model(CatalogueEntry(name=EMBEDDED, path=embedded_path()))
            except UsageError as error:
                nothing = {"path": None, "bytes": None, "family": "", "context_window": None}
                embedded = {"name": EMBEDDED, **nothing, "problem": str(error)}
            listed = [_describe_model(entry) for entry in catalogue.entries()]
            _list([embedded, *listed], as_json=options.json)
    return OK


def _default(name: str | None) -> None:
    if name is not None:
        _check(name)
        change_settings(model=name)
    chosen = default_model()
    print(printable(chosen))
    if name is not None and chosen != name:
        print(f"rightcall: in this shell {MODEL_VARIABLE} names another", file=sys.stderr)


def _check(name: str) -> None:
    """Raise UsageError for an impossible model name; only the host knows whether a model exists."""
    place, _, model = name.partition(":")
    if is_place(name) or (name.startswith(("http://", "https://")) and "|" in name):
        return
    if place in PROVIDERS and model:
        return
    if is_local(name) and name not in PROVIDERS:
        if place not in SERVERS:
            catalogue.file_of(name)
        return
    raise UsageError(f"{name!r} names no model: write provider:model, of {', '.join(PROVIDERS)}")


def _list(models: list[JsonObject], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.writelines(json_line(model) for model in models)
        return
    for line in table_lines([("name", "size", "family", "file"), *map(_row, models)]):
        print(line)


def _row(model: JsonObject) -> tuple[str, str, str, str]:
    size = model["bytes"]
    shown = "?"
    if isinstance(size, int):
        shown = f"{size / 1e6:,.0f} MB"
    problem = f" ({model['problem']})" if model["problem"] else ""
    return str(model["name"]), shown, str(model["family"]), f"{model['path'] or ''}{problem}"


def _describe_model(entry: CatalogueEntry) -> JsonObject:
    """Facts from the file's header. A missing or broken file is listed as such."""
    family = ""
    window = None
    problem = ""
    try:
        header = read_header(entry.path)
        family = detect(header.templates.get("default", "")).name
        window = header.context_window
    except UsageError as error:
        if entry.size is None:
            problem = "the file is gone"
        else:
            problem = str(error)
    return {
        "name": entry.name,
        "path": str(entry.path),
        "bytes": entry.size,
        "family": family,
        "context_window": window,
        "problem": problem,
    }
