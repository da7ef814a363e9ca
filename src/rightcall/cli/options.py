"""The flags that several commands share, each declared once. Imports nothing, so that help is quick."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any, NamedTuple

DEFAULT_MODEL = "embedded"
"""The default local model for rendering prompts."""
TOOLS = "FILE.py[:NAME]"
"""How the tools of a Python file are named."""


def count_of(text: str) -> int:
    """A whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def seconds_of(text: str) -> float:
    """A number above zero."""
    seconds = number_of(text)
    if seconds <= 0:
        raise ArgumentTypeError(f"{text!r} is not above zero")
    return seconds


def number_of(text: str) -> float:
    """A finite number."""
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not isfinite(number):
        raise ArgumentTypeError(f"{text!r} is not a number")
    return number


class Flag(NamedTuple):
    """A flag: how it is spelled, and what ``add_argument`` takes besides."""

    spellings: tuple[str, ...]
    settings: Mapping[str, Any]


def _flag(*spellings: str, **settings: Any) -> Flag:
    return Flag(spellings, settings)


def _switch(*spellings: str, **settings: Any) -> Flag:
    return Flag(spellings, {"action": "store_true", **settings})


def _repeatable(*spellings: str, dest: str, metavar: str, help: str) -> Flag:  # noqa: A002 - argparse's word
    return Flag(spellings, {"dest": dest, **_list_settings(metavar, help)})


def _list_settings(metavar: str, words: str) -> dict[str, Any]:
    return {
        "action": "append",
        "default": [],
        "metavar": metavar,
        "help": f"{words}; may be given again",
    }


_FLAGS: Mapping[str, Flag] = {
    "config": _flag("--config", metavar="FILE.toml"),
    "defer": _switch(
        "--defer", help="send no tool until the model has found it by a search; for many tools"
    ),
    "descriptions": _flag(
        "--descriptions",
        choices=("full", "short", "lines"),
        default="full",
        help="how much of each tool is sent: all, a line and its schema, or a line (default: full)",
    ),
    "dry-run": _switch(
        "--dry-run", help="change nothing: only reading tools run, other calls are answered as not done"
    ),
    "facts": _flag(
        "--facts",
        metavar="FILE.toml|NAME",
        help="facts that are laid over the tools, for the rules: a file, or a name of starters",
    ),
    "instructions": _flag(
        *("-s", "--system", "--instructions"),
        dest="instructions",
        default="",
        metavar="TEXT",
        help="the system prompt",
    ),
    "journal": _flag("--journal", metavar="FILE"),
    "json": _switch("--json", help="lines of JSON"),
    "manifest": _repeatable(
        "--manifest", dest="manifests", metavar="FILE.json", help="the tools of an operator's manifest"
    ),
    "max-tokens": _flag(
        "--max-tokens", type=count_of, metavar="N", help="tokens that one reply may have"
    ),
    "mcp": _repeatable(
        "--mcp",
        dest="servers",
        metavar="FILE|COMMAND",
        help="the tools of MCP servers: a file of them (.json), an address, or a command in quotes",
    ),
    "model": _flag(
        *("-m", "--model"),
        metavar="NAME",
        help="as ask --model takes it (default: 'rightcall models default', else the embedded one)",
    ),
    "policy": _flag("--policy", metavar="FILE.toml"),
    "reasoning": _switch("--reasoning", help="include the model's reasoning"),
    "sandbox": _flag(
        "--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for in a manifest"
    ),
    "schema": _flag(
        "--schema",
        metavar="SCHEMA",
        help="the form of the answer: a JSON Schema, a file of one, or 'name, age int'",
    ),
    "seed": _flag(
        "--seed", type=int, metavar="N", help="the same seed gives the same reply, where the model can"
    ),
    "temperature": _flag(
        "--temperature", type=number_of, metavar="NUMBER", help="how freely the next token is chosen"
    ),
}
"""By name: what ``add`` gives a command. A command may change what it says of a flag."""


def add(parser: Any, *names: str, **changes: Any) -> None:
    """Give a command, or a group of its help, flags that others have too."""
    for name in names:
        flag = _FLAGS[name]
        parser.add_argument(*flag.spellings, **{**flag.settings, **changes})


def add_repeatable(add: Callable[..., object], *options: str, metavar: str, words: str) -> None:
    """A repeatable option; its values form a list, under the last of the names."""
    *spellings, name = options
    add(*spellings, dest=name, **_list_settings(metavar, words))


def add_run_options(parser: ArgumentParser) -> None:
    """Options for a run and for its record."""
    add_agent_options(parser)
    add(parser, "dry-run")
    group = parser.add_argument_group(
        "conversations", "Conversations are stored; -c continues the last one."
    )
    group.add_argument(
        "-c", "--continue", dest="go_on", action="store_true", help="continue the last conversation"
    )
    group.add_argument(
        *("--cid", "--conversation"),
        dest="conversation",
        metavar="ID",
        help="continue this run, by its name or its beginning; 'rightcall journal list' shows them",
    )
    group.add_argument("-n", "--no-log", action="store_true", help="do not keep this one")
    add(parser, "journal", help="record the run in a .jsonl or .sqlite (.sqlite3, .db) file")


def add_agent_options(parser: ArgumentParser) -> None:
    """Options for the model's instructions and tools, and for approvals."""
    add(
        parser,
        "model",
        help=(
            "provider:model, address|model, a name from 'rightcall models', or FILE.py:NAME for a "
            "model of your own (default: 'rightcall models default', else the embedded one)"
        ),
    )
    add(parser, "instructions")
    add_tool_options(parser)
    add(parser, "defer", "descriptions")
    parser.add_argument(
        "--choice",
        default="auto",
        metavar="auto|required|none|TOOL",
        help="let the model choose (auto), make it call some tool, none, or this one; first turn only",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="once untrusted text was read, ask about calls whose targets nobody trusted has named",
    )
    add(parser, "policy", help="hold calls to an operator's rules; see rightcall tools policy")
    add(parser, "facts")
    parser.add_argument("--quiet", action="store_true", help="the answer, and nothing about the run")
    add(parser, "reasoning", help="print the model's reasoning; one line by default")
    group = parser.add_argument_group("the wire")
    group.add_argument(
        "--raw",
        metavar="FILE",
        help="keep the vendor's own bytes; 'rightcall debug sse FILE' reads them",
    )
    group.add_argument(
        "--show-prompt", action="store_true", help="print what the model is sent, on standard error"
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="have the vendor hold all calls and answers to their schemas, or fail",
    )
    group.add_argument(
        "--family",
        metavar="NAME|auto",
        help="read calls that a server leaves in the text, as this family of models writes them",
    )
    limits = parser.add_argument_group("limits and sampling")
    limits.add_argument(
        "--max-turns", type=count_of, metavar="N", help="how often the model may be asked"
    )
    limits.add_argument("--timeout", type=seconds_of, metavar="SECONDS", help="time for the whole run")
    add(limits, "max-tokens", "temperature", "seed")
    add_approval_options(
        parser, "Some tools want a person's yes. On a terminal you are asked; elsewhere it is no."
    )


def add_tool_options(parser: ArgumentParser) -> None:
    """The options that choose the tools. Every gate is closed by default."""
    group = parser.add_argument_group("tools")
    which = "the tools that a Python file declares, or one of them"
    add_repeatable(group.add_argument, "-T", "--tool", "tools", metavar=TOOLS, words=which)
    add(group, "mcp")
    group.add_argument(
        "--no-default-tools",
        dest="default_tools",
        action="store_false",
        help="do not offer the date, the time and arithmetic",
    )
    group = parser.add_argument_group("gates", "What tools may access; nothing by default.")
    add(group, "manifest", "sandbox")
    group.add_argument(
        "--allow-fs",
        metavar="ROOT[:ro]",
        help="read and write files under a directory; only read them with :ro",
    )
    group.add_argument("--allow-web", action="store_true", help="fetch pages from public addresses")
    searches = ("brave", "searxng", "tavily")
    group.add_argument("--web-search", choices=searches, help="search the web through this provider")
    group.add_argument(
        "--allow-shell",
        action="store_true",
        help="run any shell command, as you: nothing keeps it from doing harm",
    )
    group.add_argument("--memory", metavar="DIR", help="keep notes in a directory, from run to run")
    group.add_argument("--plan", action="store_true", help="let the model keep a plan")


def add_approval_options(parser: ArgumentParser, asked: str) -> None:
    """The options that answer approvals in place of a person."""
    who = parser.add_argument_group("approvals", asked).add_mutually_exclusive_group()
    who.add_argument("--yes", action="store_true", help="allow every call that wants approval")
    who.add_argument("--no", action="store_true", help="deny every call that wants approval")


def add_verbose(parser: ArgumentParser) -> None:
    """Add the option that every command has."""
    parser.add_argument(
        *("-v", "--verbose"),
        action="count",
        default=0,
        help="print turns, calls and tracebacks on standard error; -vv adds requests",
    )
