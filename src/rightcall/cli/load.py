"""Loads the tools, models, journals and saved conversations that a command line names.

``path.py`` is everything that a Python file declares, and ``path.py:name`` is one object in it.
"""

import json
import os
import re
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall import builtin, manifest
from rightcall.agent import Agent
from rightcall.builtin.files.root import parse_root_grant
from rightcall.core.history import mend
from rightcall.core.jsontext import JsonError, JsonObject, JsonValue, parse
from rightcall.core.message import Transcript, user_text
from rightcall.core.ports import Model
from rightcall.core.tool import Tool, object_schema
from rightcall.declare.function import FunctionTool
from rightcall.declare.toolbox import Toolbox
from rightcall.errors import RightcallError, UsageError
from rightcall.record.file_journal import FileJournal
from rightcall.record.journal_kinds import JOURNAL_ENDINGS, kind_by_name
from rightcall.wire.history import ChatHistory, from_messages

MAX_FILE = 256 * 1024 * 1024
"""The largest conversation file, in bytes."""
_decode = msgspec.json.Decoder(Transcript).decode


def load_toolbox(options: Namespace) -> Toolbox:
    """Every tool that the options request. A user's tool replaces a default tool of the same name."""
    own = load_tools(*options.tools)
    behind = Toolbox(list(_builtins(options)))
    behind = add_manifests(behind, options, taken=own.names())
    if not options.default_tools:
        return own + behind
    taken = {*own.names(), *behind.names()}
    defaults = Toolbox(builtin.default_tools())
    return Toolbox(defaults.filter(lambda tool: tool.name not in taken), own, behind)


def _builtins(options: Namespace) -> Iterator[Tool]:
    """The built-in tools that the options enable."""
    if options.allow_fs:
        yield builtin.fs(parse_root_grant(options.allow_fs))
    search = None
    if options.web_search:
        search = builtin.web_search(options.web_search)
    if options.allow_web:
        yield builtin.web(search)
    elif search is not None:
        yield search
    if options.allow_shell:
        yield builtin.shell()
    if options.memory:
        yield builtin.memory(options.memory)
    if options.plan:
        yield builtin.plan()


def add_manifests(box: Toolbox, options: Namespace, taken: tuple[str, ...] = ()) -> Toolbox:
    """The toolbox with the manifests' tools. ``taken`` are names that they may not use."""
    for file in options.manifests:
        names = (*taken, *box.names())
        box += list(manifest.load(file, sandbox=options.sandbox, taken=names))
    return box


def load_tools(*places: str, takes_functions: bool = False) -> Toolbox:
    """The tools at these paths: what a file declares by ``@tool``, ``Tool`` or ``Toolbox``, or lists.

    ``takes_functions``: of a file that declares none, its own public functions.
    """
    boxes = []
    for place in places:
        path, name = split(place)
        module = load_module(Path(path))
        if name:
            boxes.append(Toolbox(named_object(module, path, name)))
            continue
        declared = _declared_tools(module)
        if not declared and takes_functions:
            boxes.append(Toolbox(_functions_of(module)))
            if boxes[-1].names():
                continue
        if not declared:
            raise UsageError(f"{path} declares no tools; decorate a function with @rc.tool")
        boxes.append(Toolbox(list(declared.values())))
    return Toolbox(boxes)


def _functions_of(module: ModuleType) -> list[Any]:
    """The public functions that a file defines itself."""
    found = []
    for name, value in vars(module).items():
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
            found.append(value)
    return found


def declares_tools(place: str) -> bool:
    """Whether the file of a place declares tools."""
    return bool(_declared_tools(load_module(Path(split(place)[0]))))


def _declared_tools(module: ModuleType) -> dict[int, Tool]:
    tools = {}
    for value in vars(module).values():
        for tool in tools_in(value):
            tools[id(tool)] = tool
    return tools


def load_model(place: str) -> Model:
    """The model at a path: an object with a ``profile`` and a ``stream``."""
    path, name = split(place)
    if not name:
        raise UsageError(f"{place}: say which model in it, as {place}:NAME")
    found = named_object(load_module(Path(path)), path, name)
    is_model = hasattr(found, "profile") and callable(getattr(found, "stream", 0))
    if isinstance(found, type) or not is_model:
        raise UsageError(f"{place} is not a model: one has a profile and a stream(request)")
    model: Model = found
    return model


def load_agent(place: str) -> Agent[Any, Any]:
    """The agent at ``FILE.py:NAME``, or at ``module:NAME`` of an importable module."""
    found = object_at("--agent", place)
    if not isinstance(found, Agent):
        raise UsageError(f"{place} is not an agent")
    return found


def object_at(option: str, place: str) -> Any:
    """The object at ``FILE.py:NAME``, or at ``module:NAME`` of an importable module."""
    path, name = split(place)
    if not name:
        raise UsageError(f"{option} {place}: say which in it, as {place}:NAME")
    if is_place(place):
        return named_object(load_module(Path(path)), path, name)
    # Started as a script, Python would not look where the user stands.
    sys.path.insert(0, "")
    try:
        return named_object(import_module(path), path, name)
    except ImportError as error:
        raise UsageError(f"{option} {place}: {error}") from error
    finally:
        sys.path.remove("")


def is_place(text: str) -> bool:
    """Whether this is the path of a Python file, or of an object in one."""
    return split(text)[0].endswith(".py")


def split(place: str) -> tuple[str, str]:
    """The path, and the name after its last colon; a name has no dots, slashes or drive letters."""
    path, _, name = place.rpartition(":")
    if name.isidentifier() and path:
        return (path, name)
    return (place, "")


def is_journal(path: str) -> bool:
    """Whether the file's extension is that of a journal."""
    return kind_by_name(path) is not None


def load_journal(path: str) -> FileJournal:
    """The journal in a file, by the file's extension."""
    kind = kind_by_name(path)
    if kind is None:
        raise UsageError(f"--journal {path}: the name must end in {', '.join(JOURNAL_ENDINGS)}")
    return kind.open(path)


def save_transcript(messages: Transcript, path: Path) -> None:
    """Write the messages as a JSON array, atomically."""
    # A model may write half a surrogate pair, which UTF-8 cannot encode.
    text = json.dumps(msgspec.to_builtins(messages), ensure_ascii=False, indent=1) + "\n"
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        fresh.write_bytes(text.encode(errors="replace"))
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def load_transcript(path: Path) -> Transcript:
    """The messages in a file, with every call answered. A system text among them is the developer's."""
    found = load_conversation(path)
    first = (user_text(found.system, "developer"),) if found.system else ()
    return (*first, *found.messages)


def load_conversation(path: Path) -> ChatHistory:
    """The conversation in a file, by /save or in a vendor's format, with every call answered."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path} is larger than {MAX_FILE:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        try:
            found = ChatHistory(_decode(data))
        except msgspec.ValidationError:
            # Our messages have our own types; those without are a vendor's.
            given = msgspec.json.decode(data)
            if not isinstance(given, list):
                raise
            for message in given:
                if isinstance(message, dict) and message.get("type") in ("user", "reply", "results"):
                    raise
            found = from_messages(given)
        return replace(found, messages=mend(found.messages).messages)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UsageError) as error:
        raise UsageError(f"{path} does not hold a conversation: {error}") from error


def named_object(module: ModuleType, path: str, name: str) -> Any:
    """What a file calls so."""
    if not hasattr(module, name):
        raise UsageError(f"{path} has no {name!r}")
    return getattr(module, name)


def tools_in(value: object) -> list[Tool]:
    """The tools that a value of a file is, or holds."""
    if isinstance(value, Toolbox):
        return list(value)
    if isinstance(value, Tool) and not (isinstance(value, FunctionTool) and value.unbound):
        return [value]
    tools = []
    if isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, Tool | Toolbox):
                tools += tools_in(each)
    return tools


def load_module(path: Path) -> ModuleType:
    """A Python file, run."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    # A file called json.py must not replace the module json; one that is named twice is loaded once.
    names = (path.stem, f"{path.stem} from {path.resolve()}")
    for module in map(sys.modules.get, names):
        if module is not None and getattr(module, "__file__", None) == str(path.resolve()):
            return module
    name = names[path.stem in sys.modules]
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        # What a file prints while it loads is not part of a command's output.
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except RightcallError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{path} cannot be loaded:\n{traceback.format_exc().rstrip()}") from error
    finally:
        sys.path.pop(0)
    return module


MAX_SCHEMA = 1024 * 1024
_TYPES: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
}
_FIELD = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\s+(?P<type>\w+)(?P<many>\[\])?)?\s*(?::\s*(?P<words>.+))?"
)


def read_schema(given: str) -> JsonObject:
    """The JSON Schema of an option's value.

    It is a file, the schema itself, or a short list of names: ``name, age int, bio: in one sentence``.
    Each has a name, optionally a type, optionally a colon and a description; they are separated by
    commas or, if there are several lines, one on each.
    """
    text = given.strip()
    if text.startswith("{"):
        return _parse_schema(text, "--schema")
    path = Path(text).expanduser()
    if text.endswith(".json") or ("\n" not in text and path.is_file()):
        try:
            data = path.read_bytes()[: MAX_SCHEMA + 1]
        except OSError as error:
            raise UsageError(f"--schema {text}: {error.strerror}") from error
        if len(data) > MAX_SCHEMA:
            raise UsageError(f"--schema {text}: has more than {MAX_SCHEMA:,} bytes")
        return _parse_schema(data.decode(errors="replace"), text)
    properties: dict[str, JsonValue] = {}
    for each in filter(None, map(str.strip, text.split("\n" if "\n" in text else ","))):
        found = _FIELD.fullmatch(each)
        kind = None if found is None else _TYPES.get(found["type"] or "str")
        if found is None or kind is None:
            known = ", ".join(_TYPES)
            raise UsageError(
                f"--schema: {each!r} is no name with a type; write it as 'age int', of {known}, or "
                "'tags str[]' for several; or give a file or a JSON Schema"
            )
        described: dict[str, JsonValue] = dict(kind)
        if found["many"]:
            described = {"type": "array", "items": kind}
        if found["words"]:
            described["description"] = found["words"]
        properties[found["name"]] = described
    if not properties:
        raise UsageError("--schema: names no fields")
    return object_schema(list(properties), **properties)


def _parse_schema(text: str, where: str) -> JsonObject:
    try:
        found = parse(text)
    except JsonError as error:
        raise UsageError(f"{where} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{where} is no JSON Schema: one is an object")
    return found
