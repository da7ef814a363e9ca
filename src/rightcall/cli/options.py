"""The options that several commands share. Imports nothing, so that help is quick."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from math import inf, isfinite

DEFAULT_MODEL = "embedded"
"""The default local model for rendering prompts."""


def add_run_options(parser: ArgumentParser) -> None:
    """Options for a run and for its record."""
    add_agent_options(parser)
    add_dry_run(parser)
    _add_conversation_options(parser)
    parser.add_argument(
        "--journal", metavar="FILE", help="record the run in a .jsonl or .sqlite (.sqlite3, .db) file"
    )


def add_agent_options(parser: ArgumentParser) -> None:
    """Options for the model's instructions and tools, and for approvals."""
    parser.add_argument(
        "-m",
        "--model",
        metavar="NAME",
        help=(
            "provider:model, address|model, a name from 'rightcall models', or FILE.py:NAME for a "
            "model of your own (default: 'rightcall models default', else the embedded one)"
        ),
    )
    parser.add_argument(
        *("-s", "--system", "--instructions"),
        dest="instructions",
        default="",
        metavar="TEXT",
        help="the system prompt",
    )
    add_tool_options(parser)
    _add_telling(parser)
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
    parser.add_argument(
        "--policy", metavar="FILE.toml", help="hold calls to an operator's rules; see rightcall policy"
    )
    parser.add_argument(
        "--facts", metavar="FILE.toml|NAME", help="facts that are laid over the tools, for the rules"
    )
    parser.add_argument("--quiet", action="store_true", help="the answer, and nothing about the run")
    parser.add_argument(
        "--reasoning", action="store_true", help="print the model's reasoning; one line by default"
    )
    _add_wire_options(parser)
    _add_limits(parser)
    asked = "Some tools want a person's yes. On a terminal you are asked; elsewhere it is no."
    add_approval_options(parser, asked)


def _add_telling(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--defer",
        action="store_true",
        help="send no tool until the model has found it by a search; for many tools",
    )
    parser.add_argument(
        "--descriptions",
        choices=("full", "short", "lines"),
        default="full",
        help="how much of each tool is sent: all, a line and its schema, or a line (default: full)",
    )


def add_dry_run(parser: ArgumentParser) -> None:
    """The dry-run option."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="change nothing: only reading tools run, other calls are answered as not done",
    )


def _add_conversation_options(parser: ArgumentParser) -> None:
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


def _add_limits(parser: ArgumentParser) -> None:
    limits = parser.add_argument_group("limits and sampling")
    limits.add_argument(
        "--max-turns", type=count_of, metavar="N", help="how often the model may be asked"
    )
    limits.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="time for the whole run")
    limits.add_argument(
        "--max-tokens", type=count_of, metavar="N", help="tokens that one reply may have"
    )
    limits.add_argument(
        "--temperature", type=_number, metavar="NUMBER", help="how freely the next token is chosen"
    )
    limits.add_argument(
        "--seed", type=int, metavar="N", help="the same seed gives the same reply, where the model can"
    )


def _add_wire_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the wire")
    group.add_argument(
        "--raw", metavar="FILE", help="keep the vendor's own bytes; 'rightcall sse FILE' reads them"
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


def add_approval_options(parser: ArgumentParser, asked: str) -> None:
    """The options that answer approvals in place of a person."""
    who = parser.add_argument_group("approvals", asked).add_mutually_exclusive_group()
    who.add_argument("--yes", action="store_true", help="allow every call that wants approval")
    who.add_argument("--no", action="store_true", help="deny every call that wants approval")


def repeated(add: Callable[..., object], *options: str, metavar: str, words: str) -> None:
    """A repeatable option; its values form a list, under the last of the names."""
    *spellings, name = options
    words = f"{words}; may be given again"
    add(*spellings, dest=name, action="append", default=[], metavar=metavar, help=words)


def add_tool_options(parser: ArgumentParser) -> None:
    """The options that choose the tools. Every gate is closed by default."""
    group = parser.add_argument_group("tools")
    which = "the tools that a Python file declares, or one of them"
    repeated(group.add_argument, "-T", "--tool", "tools", metavar="FILE.py[:NAME]", words=which)
    which = "the tools of MCP servers: a file of them (.json), an address, or a command in quotes"
    repeated(group.add_argument, "--mcp", "servers", metavar="FILE|COMMAND", words=which)
    group.add_argument(
        "--no-default-tools",
        dest="default_tools",
        action="store_false",
        help="do not offer the date, the time and arithmetic",
    )
    group = parser.add_argument_group("gates", "What tools may access; nothing by default.")
    which = "the programs that an operator's manifest allows"
    repeated(group.add_argument, "--manifest", "manifests", metavar="FILE", words=which)
    group.add_argument(
        "--sandbox", metavar="DIR", help="the directory that $SANDBOX stands for in a manifest"
    )
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


def count_of(text: str) -> int:
    """A whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def _seconds(text: str) -> float:
    seconds = _number(text)
    if seconds <= 0:
        raise ArgumentTypeError(f"{text!r} is not above zero")
    return seconds


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not isfinite(number):
        raise ArgumentTypeError(f"{text!r} is not a number")
    return number
