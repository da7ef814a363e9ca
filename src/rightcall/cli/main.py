"""``rightcall``: parses the arguments, runs the command, and returns an exit code.

``rightcall.cli.commands`` says what can be typed; what carries a command out is imported when it is run.
"""

import os
import re
import sys
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

import rightcall
from rightcall.cli import BAD_USAGE, BROKEN_PIPE, INTERRUPTED, NO_ANSWER
from rightcall.cli.commands import COMMANDS, FIRST, FORMER, GROUPS, CommandGroup, CommandRow
from rightcall.cli.options import add_verbose
from rightcall.core.sanitize import printable
from rightcall.errors import RightcallError

_EXAMPLES = """\
examples:
  rightcall ask "What is 17 * 23?"
  rightcall keys set anthropic && rightcall models default anthropic:claude-opus-4-8
  rightcall ask -T weather.py "Weather in Paris?"
  cat f.py | rightcall ask "Review this." > review.txt
  rightcall chat --tool shop.py --journal runs.jsonl
  rightcall COMMAND --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    # Replace closed streams by empty ones, and escape characters that a stream cannot encode.
    for name, mode, errors in (
        ("stdin", "r", "replace"),
        ("stdout", "w", "backslashreplace"),
        ("stderr", "w", "backslashreplace"),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - as long as the process
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=errors)
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:
        # Usually a full disk. Failures of tools and models are handled earlier.
        _discard_output()
        print(f"rightcall: {error}", file=sys.stderr)
        return NO_ANSWER
    except RightcallError as error:
        print(f"rightcall: {printable(str(error))}", file=sys.stderr)
        return BAD_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    words = FORMER.get(arguments[0], arguments[0]).split() if arguments else []
    words += arguments[1:]
    if words and words[0] in GROUPS:
        words = _with_command_first(words)
    name = " ".join(words[:2]) if words and words[0] in GROUPS else "".join(words[:1])
    if name not in COMMANDS:
        _explain(words)
    command = COMMANDS[name]
    parser = ArgumentParser(
        prog=f"rightcall {name}",
        description="\n".join(map(str.strip, (command.arguments.__doc__ or "").strip().splitlines())),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    add_verbose(parser)
    rest = words[len(name.split()) :]
    _refuse_unknown(parser, name, rest)
    try:
        # Intermixed, what follows -- would be read as options, too.
        options = parser.parse_args(rest) if "--" in rest else parser.parse_intermixed_args(rest)
    except TypeError:
        # Commands with actions cannot be parsed so: each action has its own arguments.
        options = parser.parse_args(rest)
    # argparse takes the sign away, and some words mean a program only behind it.
    options.behind_dashes = rest[rest.index("--") + 1 :] if "--" in rest else []
    from rightcall.cli.work import run_command  # noqa: PLC0415 - what carries it out is not light

    quiet = getattr(options, "quiet", False) or command.shows_errors
    return run_command(command.work, options, quiet=quiet)


_OPTION = re.compile(r"-[A-Za-z]|--[A-Za-z][\w-]*")
_MEANT = {
    ("serve", "-m"): "--model NAME=SPEC",
    ("serve", "-p"): "--listen [HOST:]PORT",
    ("serve", "--port"): "--listen [HOST:]PORT",
    ("serve", "--host"): "--listen [HOST:]PORT",
}
"""What options of other commands, or of other programs, are called here."""


def _refuse_unknown(parser: ArgumentParser, name: str, rest: list[str]) -> None:
    """Say the nearest option for one that is not there; argparse would blame what follows it."""
    known: set[str] = set()
    parsers = [parser]
    while parsers:
        for action in parsers.pop()._actions:  # noqa: SLF001 - argparse lists them nowhere else
            known.update(action.option_strings)
            if isinstance(action.choices, dict):
                parsers.extend(action.choices.values())
    for word in rest:
        option = word.partition("=")[0]
        if word == "--":
            return
        if option in known or not _OPTION.fullmatch(option):
            continue
        near = _MEANT.get((name, option), "")
        if not near:
            near = _nearest(option, sorted(known))
        parser.error(f"no option {option!r}" + (f"; did you mean {near}?" if near else ""))


def _nearest(word: str, known: Iterable[str]) -> str:
    """Returns the known word that was meant, most likely; empty if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    return next(iter(get_close_matches(word, list(known), n=1)), "")


def _with_command_first(words: list[str]) -> list[str]:
    """Returns a group's words, its command before the flags: ``runs -v list`` is ``runs list -v``."""
    at = 1
    while at < len(words) and words[at] in ("-v", "-vv", "--verbose"):
        at += 1
    return [words[0], *words[at : at + 1], *words[1:at], *words[at + 1 :]]


def _explain(words: list[str]) -> NoReturn:
    """Show the commands, or those of a group, or why the given name is not one."""
    group = words[0] if words and words[0] in GROUPS else ""
    parser = _overview(group)
    given, rest = parser.parse_known_args(words[1:] if group else words)
    unknown = given.command or next(iter(rest), "")
    if not unknown:
        parser.error(f"which command? {f'rightcall {group}'.strip()} --help lists them")
    if unknown.startswith("-"):
        parser.error(f"no option {unknown!r} before a command")
    known: dict[str, str] = {}
    for name in (*COMMANDS, *GROUPS):
        if name.startswith(group):
            known.setdefault(name.rpartition(" ")[2], name)
    near = _nearest(unknown, known)
    if near:
        hint = f"did you mean {known[near]!r}?"
    elif group:
        hint = f"there is {', '.join(GROUPS[group].commands)}"
    else:
        first = [name for commands in FIRST.values() for name in commands]
        hint = f"there is {', '.join([*first, *GROUPS])}"
    parser.error(f"no command {f'{group} {unknown}'.strip()!r}; {hint}")


def _overview(group: str) -> ArgumentParser:
    """The parser whose help lists the first commands and the groups, or the commands of a group."""
    if group:
        sections = {"commands": _lines(GROUPS[group].commands)}
        description = f"{GROUPS[group].line.capitalize()}."
    else:
        sections = {title: _lines(commands) for title, commands in FIRST.items()}
        sections["more, each with commands of its own"] = _lines(GROUPS)
        description = "A tool-calling runtime for language models."
    text = "\n\n".join(f"{title}:\n{lines}" for title, lines in sections.items())
    prog = f"rightcall {group}".strip()
    parser = ArgumentParser(
        prog=prog,
        usage=f"{prog} COMMAND [...]",
        description=f"{description}\n\n{text}",
        epilog=f"  {prog} COMMAND --help" if group else _EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="?", help=SUPPRESS)
    parser.add_argument("--version", action="version", version=rightcall.__version__)
    return parser


def _lines(rows: Mapping[str, CommandRow] | Mapping[str, CommandGroup]) -> str:
    return "\n".join(f"  {name:<9}  {row.line}" for name, row in rows.items())


def _discard_output() -> None:
    """Redirect output to /dev/null: Python flushes at exit, which would fail on a closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
