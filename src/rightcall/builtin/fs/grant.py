"""The words of an operator's grant into what they grant: ``ROOT[:ro]``."""

from rightcall.builtin.fs.beneath import Root
from rightcall.errors import UsageError

_SUFFIXES = {":ro": True, ":rw": False}


def granted(text: str) -> Root:
    """The root that ``ROOT``, ``ROOT:ro`` or ``ROOT:rw`` grants; all of it for writing unless ``:ro``.

    The last of the three is for a directory whose own name ends in ``:ro``.
    """
    path, read_only = text, False
    for suffix, value in _SUFFIXES.items():
        if text.endswith(suffix):
            path, read_only = text.removesuffix(suffix), value
            break
    if not path:
        raise UsageError(f"{text!r} grants no directory; write ROOT or ROOT:ro")
    return Root(path, read_only=read_only)
