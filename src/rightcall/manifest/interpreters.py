"""Detects programs whose arguments are code, and tools that would run what the model writes.

A manifest names its programs so that a model cannot choose them. But shells, interpreters, editors and
many plain tools take code as an argument, and others start any program that they are given.
``interpreters.json`` lists them and the argument; for a wrapper, the program that it starts is examined.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.core.jsontext import shorten

_INTERPRETERS = re.compile(
    r"r?bash|sh|dash|ash|r?zsh|m?ksh|r?ksh|pdksh|fish|t?csh|nu|xonsh|pwsh|powershell|python|pypy|ipython|perl"
    r"|ruby|irb|node|nodejs|deno|bun|ts-node|tsx|php|lua|luajit|tclsh|wish|expect|osascript|rscript|r|julia"
    r"|octave|guile|racket|sbcl|clisp|ocaml|ghci|runghc|escript|erl|elixir|iex|swipl|groovy|scala|jshell"
    r"|gnuplot|gjs"
)
_CODE_FLAG = re.compile(r"-[a-zA-Z]*[ceEpmrR]|--eval|--command|--print")
_VALUE_FLAGS = frozenset(
    {"-W", "-X", "-I", "-L", "-M", "-O", "+O", "-o", "+o", "-C", "-d", "-l", "-x"}
    | {"--rcfile", "--init-file", "--require", "--import", "--loader", "--check-hash-based-pycs"}
)
_ENDS = {("-",), ("--",)}
"""Arguments that are neither an option nor a program."""
_FIX = 'write it out, list its values in an enum, or write "allow_interpreter": true if it is meant'


class CommandArgument(Struct, frozen=True):
    """One argument: its possible texts; empty if the model may write anything."""

    texts: tuple[str, ...] = ()
    shifts: bool = False
    """Whether it can be omitted or repeated, so that the position of what follows changes."""
    guarded: bool = False
    """Whether ``--`` comes before it, so that it may begin with ``-``."""

    @property
    def is_free(self) -> bool:
        """Whether the model writes it."""
        return not self.texts


class _Wrapper(Struct, frozen=True, forbid_unknown_fields=True):
    """Wrappers: each starts the program after its own options and ``skip`` arguments."""

    programs: tuple[str, ...]
    flags: str = ""
    """Its options that take a value."""
    skip: int = 0


class _Scripted(Struct, frozen=True, forbid_unknown_fields=True):
    """Programs that take code in some of their arguments."""

    programs: tuple[str, ...]
    flags: str = ""
    """The options whose value is code, or names a file of code."""
    first: bool = False
    """Whether the first non-option argument is code, unless an option was."""
    values: str = ""
    """Other options that take a value."""
    guarded: bool = False
    """Whether it parses options even after ``--``."""
    every: bool = False
    """Whether any argument can be, or contain, code."""
    unless: str = ""
    """The option that disables that."""


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    wrappers: tuple[_Wrapper, ...]
    scripted: tuple[_Scripted, ...]


_LOADER: Any = __spec__.loader
"""Reads also what is in a zip file."""
_TABLE = msgspec.json.decode(
    _LOADER.get_data(str(Path(__file__).with_name("interpreters.json"))), type=_Table
)
_WRAPPERS: dict[str, _Wrapper] = {}
for _wrapper in _TABLE.wrappers:
    _WRAPPERS.update(dict.fromkeys(_wrapper.programs, _wrapper))
_SCRIPTED: dict[str, _Scripted] = {}
for _scripted in _TABLE.scripted:
    _SCRIPTED.update(dict.fromkeys(_scripted.programs, _scripted))


def is_wrapper(command: str) -> bool:
    """Whether a program starts another one."""
    return any(name in _WRAPPERS for name in _names(command))


def refusal(command: str, words: Sequence[CommandArgument]) -> tuple[str, str] | None:
    """Why a program with these arguments would run what the model writes, and how to fix it."""
    if not any(word.is_free for word in words):
        return None
    if found := _judge(command, words):
        return found
    if not is_wrapper(command):
        return None
    # An unknown option of a wrapper could hide where its program begins.
    for place, word in enumerate(words):
        for text in word.texts:
            if found := _judge(text, words[place + 1 :]):
                return found
    return None


def _names(command: str) -> Iterator[str]:
    """The names of a program in the tables: its own and that of its link's target, without versions."""
    path = Path(command)
    places = (path, path.resolve()) if path.is_absolute() else (path,)
    for name in dict.fromkeys([place.name.lower() for place in places]):
        yield name
        yield re.split(r"\.|-?[0-9]", name, maxsplit=1)[0]
        if name.startswith(("ld-linux", "ld-musl", "ld.so")):
            yield "ld-linux"


def _judge(command: str, words: Sequence[CommandArgument]) -> tuple[str, str] | None:
    for name in _names(command):
        found = None
        if name in _WRAPPERS:
            found = _look_through(name, _WRAPPERS[name], words)
        elif name in _SCRIPTED:
            found = _judge_scripted(name, _SCRIPTED[name], words)
        elif _INTERPRETERS.fullmatch(name):
            found = _judge_interpreter(words)
        if found:
            return found
    return None


def _look_through(
    name: str, wrapper: _Wrapper, words: Sequence[CommandArgument]
) -> tuple[str, str] | None:
    """Check the program that a wrapper starts; the model must not choose it."""
    flags = wrapper.flags.split()
    skip = wrapper.skip
    is_value = False
    for place, word in enumerate(words):
        option = _option(word)
        if word.texts in _ENDS:
            continue
        if is_value and not word.shifts:
            is_value = False
        elif word.is_free and (skip == 0 or word.shifts):
            return f"the model would choose the program that {name} runs", _FIX
        elif name == "env" and option and re.match(r"-[a-zA-Z]*S|--s", option):
            if any(later.is_free for later in words[place:]):
                return f"the model would write to the program in {shorten(option)}", _FIX
        elif option:
            is_value = option in flags
        elif name == "env" and any("=" in text for text in word.texts):
            continue
        elif skip:
            skip -= 1
        else:
            for text in word.texts:
                if refused := _judge(text, words[place + 1 :]):
                    return refused
            return None
    return None


def _judge_interpreter(words: Sequence[CommandArgument]) -> tuple[str, str] | None:
    """Check what comes before an interpreter's script; everything after it is the script's arguments."""
    before = None
    for word in words:
        option = _option(word)
        if word.is_free and before is None:
            return (
                "the model would choose the program that this interpreter runs",
                "write the script's absolute path as the first element",
            )
        if word.is_free:
            return (
                f"what the model writes would be run as a program, after {shorten(before)}",
                "name the program that is meant, not an interpreter",
            )
        if option:
            is_code = any(map(_CODE_FLAG.fullmatch, word.texts))
            if is_code or option in _VALUE_FLAGS:
                before = option
        elif before in _VALUE_FLAGS:
            before = None
        elif word.texts not in _ENDS:
            return None
    return None


def _judge_scripted(
    name: str, rule: _Scripted, words: Sequence[CommandArgument]
) -> tuple[str, str] | None:
    if rule.every and not any(rule.unless and rule.unless in word.texts for word in words):
        return f"{name} can run programs that stand in its arguments, and the model writes some", _FIX
    if rule.guarded and any(word.is_free and word.guarded for word in words):
        return f'{name} takes what begins with "-" for an option even after "--"', _FIX
    flags = rule.flags.split()
    values = rule.values.split()
    before = None
    is_first = rule.first
    for word in words:
        option = _option(word)
        if word.texts in _ENDS and not _takes(flags, before or ""):
            before = None
        elif before is not None and _takes(flags, before):
            if word.is_free:
                return f"what the model writes would be run as a program, after {shorten(before)}", _FIX
            before = None
            is_first = is_first and name == "git"
        elif before is not None and before in values and not word.shifts:
            before = None
        elif option:
            before = option
        elif is_first and word.is_free:
            return f"the model would write the program that {name} runs", _FIX
        else:
            before = None
            is_first = is_first and word.shifts
    return None


def _option(word: CommandArgument) -> str | None:
    for text in word.texts:
        if text[:1] in {"-", "+"} and text not in {"-", "--"}:
            return text
    return None


def _takes(flags: Sequence[str], given: str) -> bool:
    """Whether an option is one of these: also abbreviated, or the last of several combined letters."""
    if given.startswith("--"):
        return any(flag.startswith(given) for flag in flags)
    return given in flags or (len(given) > 2 and f"-{given[-1]}" in flags)  # noqa: PLR2004
