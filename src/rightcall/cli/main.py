"""``rightcall``: parses the arguments, runs the command, and returns an exit code.

Arguments are declared apart from commands. A command's module is imported only when it is run.
"""

import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import rightcall
from rightcall.cli import BAD_USAGE, BROKEN_PIPE, INTERRUPTED, NO_ANSWER
from rightcall.cli.arguments import COMMANDS
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
    _have_streams()
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _let_go()
        return BROKEN_PIPE
    except OSError as error:
        # Usually a full disk. Failures of tools and models are handled earlier.
        _let_go()
        print(f"rightcall: {error}", file=sys.stderr)
        return NO_ANSWER
    except RightcallError as error:
        print(f"rightcall: {printable(str(error))}", file=sys.stderr)
        return BAD_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    commands = {name: command for group in COMMANDS.values() for name, command in group.items()}
    name = arguments[0] if arguments else ""
    if name not in commands:
        _explain(arguments, list(commands))
    from rightcall.cli.logs import add_verbose, shown_log  # noqa: PLC0415 - light until used

    add_arguments = commands[name].add_arguments
    parser = ArgumentParser(
        prog=f"rightcall {name}",
        description="\n".join(map(str.strip, (add_arguments.__doc__ or "").strip().splitlines())),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_arguments(parser)
    add_verbose(parser)
    options = _parsed(parser, arguments[1:])
    # The commands that run one call show what it raised themselves.
    quiet = getattr(options, "quiet", False) or name in ("call", "manifest")
    with shown_log(options.verbose, quiet=quiet):
        code: int = import_module(f"rightcall.cli.commands.{name.replace('-', '_')}").run(options)
    return code


def _parsed(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Parse the options, which may be anywhere among the arguments."""
    try:
        return parser.parse_intermixed_args(words)
    except TypeError:
        # Commands with actions cannot be parsed so: each action has its own arguments.
        return parser.parse_args(words)


def _explain(arguments: list[str], known: list[str]) -> NoReturn:
    """Show the commands, or why the given name is not one."""
    parser = _overview()
    given, rest = parser.parse_known_args(arguments)
    unknown = given.command or next(iter(rest), "")
    if not unknown:
        parser.error("which command? rightcall --help lists them")
    if unknown.startswith("-"):
        parser.error(f"no option {unknown!r} before a command")
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    near = get_close_matches(unknown, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(known)}"
    parser.error(f"no command {unknown!r}; {hint}")


def _overview() -> ArgumentParser:
    width = max(len(name) for group in COMMANDS.values() for name in group)
    groups = [
        f"{title}:\n"
        + "\n".join(f"  {name:<{width}}  {command.line}" for name, command in group.items())
        for title, group in COMMANDS.items()
    ]
    parser = ArgumentParser(
        prog="rightcall",
        usage="rightcall COMMAND [...]",
        description="A tool-calling runtime for language models.\n\n" + "\n\n".join(groups),
        epilog=_EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="?", help=SUPPRESS)
    parser.add_argument("--version", action="version", version=rightcall.__version__)
    return parser


def _have_streams() -> None:
    """Replace closed streams by empty ones, and escape characters that a stream cannot encode."""
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


def _let_go() -> None:
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
