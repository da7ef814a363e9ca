"""A program into its type errors; nothing of it is run."""

import re
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from rightcall.core.extras import load

SCRIPT = "program.py"
_FOUND = re.compile(r"program\.py:(\d+):\d+: \w+\[([\w-]+)\] (.*)")


class TypeProblem(Struct, frozen=True):
    """One error that a type checker found."""

    line: int
    rule: str
    """The checker's own name for the error."""
    words: str


def is_installed() -> bool:
    """Whether a type checker is installed: it comes with the extra ``code``."""
    return find_spec("pydantic_monty") is not None


def problems_of(error: Any) -> list[TypeProblem]:
    """The errors that an exception of Monty's checker lists; empty if it lists none."""
    return [TypeProblem(int(line), *rest) for line, *rest in _FOUND.findall(error.display())]


def checked_types(program: str, stubs: str) -> list[TypeProblem]:
    """The type errors of a program that calls the functions in ``stubs``. Starts a process."""
    monty = load("pydantic_monty")
    with monty.Monty() as pool:
        try:
            with pool.checkout(
                script_name=SCRIPT,
                type_check=True,
                type_check_stubs=stubs,
                type_check_format="concise",
            ) as session:
                # As the body of a function that is never called.
                lines = [f"    {line}" for line in program.splitlines()]
                session.feed_start("\n".join(["def program():", *lines, "    pass\n"]))
        except (monty.MontyTypingError, monty.MontySyntaxError) as error:
            return [TypeProblem(each.line - 1, each.rule, each.words) for each in problems_of(error)]
    return []
