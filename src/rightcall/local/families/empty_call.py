"""Recognises markers around nothing: a section or a call of brackets and marks that names no tool.

Models that were going to call and did not write ``<tool_call>{}</tool_call>``, ``[TOOL_CALLS][]`` or
``<function=></function>``. Nothing in it is text, so that all of it can go.
"""

import re
from typing import TypeAlias, assert_never

from rightcall.local.families.body import MAX_HEAD
from rightcall.local.families.family import (
    Family,
    Form,
    GemmaForm,
    JsonForm,
    NamedForm,
    NestedForm,
    PythonForm,
    TagForm,
)
from rightcall.local.families.scanner import Scanner

Found: TypeAlias = tuple[int, str]
"""How much of the text is an empty call, and the marker that closes it, if the family has one."""

_SPACE = re.compile(r"\s*")
_DEPTHS = {"{": 1, "[": 1, "}": -1, "]": -1}
_WORDS = frozenset(("null", "None"))
_SOMETHING: Found = (0, "")


class EmptyCall:
    """The tokens of a family's empty calls, compiled once."""

    def __init__(self, family: Family) -> None:
        self._closes = frozenset((*family.section.close, *family.call.close))
        self._tokens = Scanner((*self._closes, *_DEPTHS, *_WORDS, ",", '""', *_marks(family.form)))
        named = isinstance(family.form, NamedForm) and family.form.first == "name"
        self._has_bare_names = named or isinstance(family.form, TagForm | NestedForm)

    def find(self, text: str, *, in_call: bool, is_last: bool) -> Found | None:
        """The empty call that the text begins with, size 0 for none, or None if that is not certain yet.

        ``in_call``: after the marker of a call, and not of a section.
        """
        at = depth = 0
        last = ""
        while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            token = self._tokens.at_start(text[at:], is_last=is_last)
            if token is None:
                break
            at += len(token)
            if token in self._closes:
                return at, token
            if not token or (not depth and self._may_be_name(token, last, in_call=in_call)):
                return _SOMETHING
            last = token
            depth += _DEPTHS.get(token, 0)
            # Without a closing marker, only brackets show where it ends.
            if not self._closes and _DEPTHS.get(token) == -1 and depth <= 0:
                return at, ""
        # The turn may end inside of one; after a marker alone, it does not.
        is_over = is_last or at > MAX_HEAD
        return (at if last and is_last else 0, "") if is_over else None

    def _may_be_name(self, token: str, last: str, *, in_call: bool) -> bool:
        """Whether ``null`` is the name of a tool here, as what comes before or after it shows."""
        if last in _WORDS:
            return True
        return token in _WORDS and (self._has_bare_names if in_call else not self._closes)


def _marks(form: Form) -> tuple[str, ...]:
    """What a family writes around an empty name."""
    match form:
        case NamedForm(marks=marks, kind=kind):
            texts = [mark for mark, _ in marks]
            return (*texts, *(f"{kind}{mark}" for mark in texts)) if kind else tuple(texts)
        case TagForm(name_close=close, counter=counter):
            return (close, f'{counter}="1"') if counter else (close,)
        case NestedForm(name_close=close):
            return (close,)
        case PythonForm():
            return ("()",)
        case JsonForm() | GemmaForm():
            return ()
        case other:
            assert_never(other)
