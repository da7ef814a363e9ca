"""A program and its arguments into a warning, when it would run what the model writes."""

import re
from itertools import pairwise
from pathlib import Path

from rightcall.core.jsontext import shorten
from rightcall.manifest.elements import placeholders
from rightcall.manifest.entry import Element, Group, Literally, Placeholder
from rightcall.manifest.fields import Spot

_RUNS_TEXT = re.compile(r"(sh|bash|dash|ash|zsh|ksh|fish|csh|tcsh|python|perl|ruby|node|php|lua)[0-9.]*")
_CODE_FLAG = re.compile(r"-[a-zA-Z]*[ceE]|--eval|--command|-r")
_RUNS_OTHERS = frozenset(
    {"busybox", "chroot", "doas", "env", "nice", "nohup", "setsid", "ssh"}
    | {"stdbuf", "sudo", "timeout", "unshare", "watch", "xargs"}
)


def check_interpreter(command: str, argv: tuple[Element, ...], spot: Spot) -> None:
    """Note a program that would run what the model writes."""
    names = {Path(command).name, Path(command).resolve().name}
    if names & _RUNS_OTHERS and any(placeholders(argv)):
        spot.warn("this program runs other programs, and the model fills in some of its arguments")
    if not any(map(_RUNS_TEXT.fullmatch, names)):
        return
    flat = [text for element in argv for text in _flat(element)]
    for flag, value in pairwise(flat):
        if value is None and flag is not None and _CODE_FLAG.fullmatch(flag):
            spot.wrong(
                f"what the model writes would be run as a program, after {shorten(flag)}",
                "name the program that is meant, not an interpreter",
            )
            return
    if flat[:1] == [None]:
        spot.wrong(
            "the model would choose the program that this interpreter runs",
            "write the script's absolute path as the first element",
        )


def _flat(element: Element) -> tuple[str | None, ...]:
    """The literal texts of an element, and None for what is filled in."""
    match element:
        case Literally(text):
            return (text,)
        case Placeholder():
            return (None,)
        case Group(before, _, after):
            return (*before, None, *after)
