"""Finds formulas in a question, as ``2^10`` or ``sqrt(2)``, and tools that take formulas.

A very small model does nothing for a question without words, and miscopies formulas. So a formula goes
unchanged to the tool whose examples are formulas.
"""

import re
from collections.abc import Iterator, Mapping

from rightcall.core.jsontext import dump
from rightcall.core.tool import Spec

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d[\d_]*(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<after>[%!²³])
    |(?P<name>[^\W\d_][^\W_]*)
    |(?P<opens>\()|(?P<closes>\))|(?P<comma>,)
    |(?P<sign>\*\*|//|[-+*/^\u00d7÷·\u2212√]))""",
    re.VERBOSE,
)
_BEFORE = re.compile(
    r"""(?:(?:what|what's|whats|how\ much|how|is|are|does|do|the|value|result|of|equal|equals|calculate
    |compute|evaluate|work\ out|please|tell|give|show|me|can|could|you|so|and|then)\b[,:]?\s+)*""",
    re.IGNORECASE | re.VERBOSE,
)
_BEHIND = re.compile(r"[\s=?.!]*$")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_RUN = re.compile(r"(?<![\w.])[(\d][\d\s.,()*/+^%\u00d7÷-]*[\d)%]")
_SPAN = re.compile(r"\d+(?:\.\d+)?%|\d+-\d+(?:-\d+)*|\d+/\d+")
"""Text with an operator sign that is no formula: a share, a season, a fraction."""
_BEFORE_A_VALUE = frozenset("-\u2212+√")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def written_out(question: str, spec: Spec) -> str | None:
    """The arguments, if the question is only a formula, and the tool takes formulas."""
    member = _formula_member(spec)
    if member is None:
        return None
    asked = question.strip()
    formula = asked[_end_of_asking(asked) :]
    # An exclamation mark may be a factorial: the longer reading first.
    for text in (re.sub(r"[\s=?.]*$", "", formula), _BEHIND.sub("", formula)):
        if _is_formula(text, spec) and not _DATE.fullmatch(text):
            return dump({member: text})
    return None


def takes_formulas(spec: Spec) -> bool:
    """Whether the tool takes formulas."""
    return _formula_member(spec) is not None


def is_signs(text: str) -> bool:
    """Whether a piece of a sentence is a formula in digits, whatever tools there are."""
    return _reads(_BEHIND.sub("", text.strip()), frozenset())


def in_signs(question: str) -> Iterator[tuple[int, int]]:
    """The spans of formulas in digits in a question."""
    for found in _RUN.finditer(question):
        text = found[0].rstrip()
        if is_signs(text) and not _DATE.search(text) and not _SPAN.fullmatch(text):
            yield found.start(), found.start() + len(text)


def numbers_in(text: str) -> set[str]:
    """The numbers in a text, each in plain notation."""
    found = (number.replace(",", "") for number in _NUMBER.findall(text))
    plain = (number.rstrip("0").rstrip(".") if "." in number else number for number in found)
    return {number.lstrip("0") or "0" for number in plain}


def _end_of_asking(text: str) -> int:
    found = _BEFORE.match(text)
    return found.end() if found else 0


def _formula_member(spec: Spec) -> str | None:
    """The only argument of a tool all of whose examples are formulas."""
    required = spec.parameters.get("required")
    if not isinstance(required, list) or len(required) != 1 or not spec.examples:
        return None
    member = str(required[0])
    properties = spec.parameters.get("properties")
    about = properties.get(member) if isinstance(properties, Mapping) else None
    if not isinstance(about, Mapping) or about.get("type") != "string":
        return None
    values = [example.get(member) for example in spec.examples]
    are_formulas = all(isinstance(value, str) and _is_formula(value, spec) for value in values)
    return member if are_formulas else None


def _is_formula(text: str, spec: Spec) -> bool:
    names = frozenset(re.findall(r"[^\W\d_][^\W_]*", spec.description.casefold()))
    return _reads(text, names)


def _reads(text: str, names: frozenset[str]) -> bool:
    """Whether a text is values with operators between them. Names must be known to the tool."""
    at, depth, signs = 0, 0, 0
    wants_value, may_have_value = True, True
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return False
        at, kind, word = token.end(), token.lastgroup, token[0].strip().casefold()
        is_value = kind in {"number", "name", "opens"}
        if kind == "name" and word == "of" and signs and not wants_value:
            wants_value = may_have_value = True
        elif is_value and may_have_value:
            if kind == "name" and word not in names:
                return False
            is_function = kind == "name" and text[at : at + 1] == "("
            depth, signs = depth + (kind == "opens"), signs + is_function
            wants_value = is_function or kind == "opens"
            may_have_value = wants_value
        elif kind == "sign" and (not wants_value or word in _BEFORE_A_VALUE):
            signs, wants_value, may_have_value = signs + 1, True, True
        elif kind == "after" and not wants_value:
            # What follows a percent sign makes it a remainder operator.
            signs, may_have_value = signs + 1, word == "%"
        elif kind in {"closes", "comma"} and not wants_value and depth:
            depth -= kind == "closes"
            wants_value = may_have_value = kind == "comma"
        else:
            return False
    return not wants_value and depth == 0 and signs > 0
