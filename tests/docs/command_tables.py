"""The table of every command of the command line, with its arguments and options."""

import argparse
from argparse import ArgumentParser
from collections.abc import Iterator

from docs.marked import table
from rightcall.cli.commands import COMMANDS, FIRST, GROUPS
from rightcall.cli.options import add_verbose

HEAD = ("argument", "default", "what it does")
EVERYWHERE = ("-h", "-v")


def commands() -> str:
    """All commands, by what they are for."""
    parts = []
    for title, found in FIRST.items():
        rows = [(f"[`{name}`](#rightcall-{name})", command.line) for name, command in found.items()]
        parts.append(f"{title.capitalize()}:\n\n" + table(("command", "what it does"), rows))
    for group, (line, found) in GROUPS.items():
        rows = [
            (f"[`{group} {name}`](#rightcall-{group}-{name})", command.line)
            for name, command in found.items()
        ]
        parts.append(f"`rightcall {group}`: {line}.\n\n" + table(("command", "what it does"), rows))
    return "\n".join(parts)


def options() -> str:
    """A part for each command, with a table of what it takes."""
    parts = []
    for name, command in COMMANDS.items():
        parser = ArgumentParser(prog=f"rightcall {name}", add_help=False)
        command.arguments(parser)
        parts += [f"## rightcall {name}", _sentence(command.line)]
        for told, rows in tables_of(parser):
            parts += [told, *([table(HEAD, rows).rstrip()] if rows else [])]
    return "\n\n".join(parts) + "\n"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def tables_of(
    parser: ArgumentParser, words: str = "takes:"
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """The rows of a command, and of each of its actions, with a line above."""
    actions = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    own = [row(parser, each) for each in parser._actions if each not in actions and not is_help(each)]
    if own or not actions:
        yield f"`{parser.prog}` {words}", own
    for each in actions:
        helped = {action.dest: action.help for action in each._choices_actions}
        for name, below in each.choices.items():
            yield from tables_of(below, f"({helped[name]})")


def is_help(action: argparse.Action) -> bool:
    return bool({*EVERYWHERE} & {*action.option_strings})


def row(parser: ArgumentParser, action: argparse.Action) -> tuple[str, ...]:
    """An argument or option as it is written, its default, and its help."""
    shown = argparse.HelpFormatter(parser.prog)
    value = (
        "" if action.nargs == 0 else shown._format_args(action, action.metavar or action.dest.upper())
    )
    names = ", ".join(action.option_strings)
    words = (action.help or "").replace("%(default)s", str(action.default))
    return f"`{f'{names} {value}'.strip()}`", default_of(action), words


def default_of(action: argparse.Action) -> str:
    """A default that says something: not none, empty, or the opposite of a switch."""
    is_said = action.default not in (None, "", [], False, True, argparse.SUPPRESS)
    return f"`{action.default}`" if is_said else ""


def verbose() -> str:
    """What every command takes."""
    parser = ArgumentParser(add_help=False)
    add_verbose(parser)
    return table(HEAD, [row(parser, each) for each in parser._actions])


TABLES = {"commands": commands, "everywhere": verbose, "options": options}
