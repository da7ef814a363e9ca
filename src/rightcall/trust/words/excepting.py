"""What a person leaves out of all: "everything but the lamp", as words that come before their exception.

An exception counts only if the records show what it is. What nobody knows cannot be left out, and a
person is asked.
"""

import re

from rightcall.trust.words.describing import terms_of
from rightcall.trust.words.spelling import folded

_MOST = 200
"""Characters of what is left out, or of where it is, at most."""
_LEFT_OUT_OF = "(?:except(?:ing)?(?: for)?|other than|apart from|aside from|excluding|besides)"
_BUT = rf"(?:but|{_LEFT_OUT_OF})"
_SOME = rf"{{1,{_MOST}}}?"
_WHERE = rf"\s+(?:in|from|on|of|inside)\s+(?:my|the|that|this|an?|our|order)\b[^,.;()]{_SOME}"
_ALL_BUT = re.compile(
    rf"\b(?P<all>everything|all(?:\s+[^\W\d_]+){{0,4}}?),?\s+{_BUT}\s+"
    rf"(?P<but>[^.;()]{_SOME})(?P<where>{_WHERE})?(?=[.;()]|,\s*(?:but|then|so|you|i|we|it)\b|\s*\Z)"
)
_SPELT_OUT = re.compile(
    rf"\b(?P<all>everything) not [^.;()]{_SOME}\.?\s*\(\s*everything {_BUT}\s+"
    r"(?P<but>[^.,;()]+)[^)]*\)"
)
"""A restriction that words in brackets spell out."""
_LEFT_OUT = re.compile(rf"\b(?:everything|all)\b[^.;()]{_SOME}\b{_LEFT_OUT_OF}\s+(?P<but>[^.;()]+)")
_EACH = re.compile(r",|\b(?:and|or|nor)\b")


def excepted_last(text: str) -> str:
    """A text in which what is left out of all stands last: "everything in my order except X"."""
    # Looking for words is cheaper than for patterns, and most texts have none of these.
    lower = folded(text)
    if "everything" not in lower and " all " not in f" {lower}":
        return text
    if "everything not" in lower:
        text = _moved(_SPELT_OUT, text)
    return _moved(_ALL_BUT, text)


def _moved(pattern: re.Pattern[str], text: str) -> str:
    end, parts = 0, list[str]()
    for found in pattern.finditer(folded(text)):
        said = {name: text[slice(*found.span(name))] for name in found.groupdict() if found[name]}
        left = f"{said['all']}{said.get('where', '')} except {said['but']}"
        parts += (text[end : found.start()], left)
        end = found.end()
    return "".join((*parts, text[end:]))


def exceptions_in(sentence: str) -> tuple[frozenset[str], ...]:
    """The words for each thing that a sentence leaves out of all."""
    text = folded(sentence)
    is_there = "everything" in text or "all" in text
    found = _LEFT_OUT.search(text) if is_there else None
    each = _EACH.split(found["but"]) if found is not None else ()
    return tuple(words for one in each if (words := frozenset(terms_of(one))))
