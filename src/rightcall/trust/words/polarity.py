"""Splits a person's text into what they want and what they forbid. In doubt, it is forbidden.

English, and the common words of some other languages.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from rightcall.trust.words.spelling import folded

_SHORT = 1000
"""Limit of a text whose clauses are cached, in characters."""
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\s*[;\n]+\s*")
_EXCEPT = (
    r"except(?! that\b)|excluding|without"
    r"|other than|instead of|rather than|apart from|aside from|neither|nor"
    r"|(?:any|every)(?:one|body|thing) but|all but|besides(?!,)"
    r"|außer|ausser|ohne|weder|anstatt|sauf|hormis|excepté|sans|excepto|salvo|tranne|eccetto|behalve|zonder|exceto"
)
_NEGATED = re.compile(
    r"\b(?:never|not|don['\u2019]?t|won['\u2019]?t|cannot|can['\u2019]?t|mustn['\u2019]?t|shouldn['\u2019]?t"
    r"|avoid|(?:is|are)n['\u2019]?t (?:to|allowed|supposed|meant)|nobody|no[- ]one|stop \w+ing|refrain"
    r"|exclude|ignore|skip|forbid(?:den)?|prohibit(?:ed)?|off[- ]limits|beware"
    r"|(?:leave|keep) (?:\S+ ){1,6}out|in the dark|refuse|filter out|hold back"
    r"|nothing (?:goes|to|for|may|must|should)|(?:hear|know|get|learn|receive)s? nothing"
    r"|no (?:word|business)|(?:under|on|by|in) no"
    r"|(?:keep|hide|conceal|withhold) (?:it|this|that|them|these|everything) (?:\w+ )?from"
    r"|no (?:\w+ )?(?:e-?mails?|mails?|messages?|invitations?|payments?|money|transfers?"
    r"|cop(?:y|ies)|contact)"
    r"|nicht|niemals|nie|keine?[mnrs]?|pas|jamais|aucune?|nunca|jamás|ningun[oa]?|ningún|niet|nooit|geen|não"
    r"|no (?:l[eoa]s?|env\w+|escrib\w+|mandes?)|non(?!-)"
    rf"|{_EXCEPT})\b"
)
"""Words that forbid, in ``folded`` text. A statement about what was not so ("I haven't paid yet")
forbids nothing."""
_TOLD = re.compile(
    r"\b(?:did|does|was|were|has|have|had|is|are)\s+not\b(?!\s+(?:to|allowed|supposed|meant)\b)",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"(?:{_EXCEPT})\Z", re.IGNORECASE)
"""Words that exclude what follows them and nothing before."""
_HARMLESS = re.compile(
    r"\s+(?:(?:want|wish|like|prefer) to (?:mention|reveal|say|tell|share|disclose|provide|speak|repeat)"
    r"|only|sure|yet|forget|hesitate|worry|know|remember|have|need|think|see|understand|exist|nur"
    r"|care|mind|matter)\b",
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    r"\s+(?:cost|exceed|be|go)\s+(?:(?:more|higher|dearer)\s+than|over|above)\b", re.IGNORECASE
)
"""A limit ("it must not cost more than 30") forbids nothing that keeps to it."""
_MUST = re.compile(r"\b(?:must|should|may|shall)\s*(?:n['\u2019]?t|not|never)\Z", re.IGNORECASE)
_ASKED = re.compile(r"\bwhy\s+not\Z|\b(?:can|won)['\u2019]?t\Z", re.IGNORECASE)
_OR_NOT = re.compile(r"\bor\s+not\Z", re.IGNORECASE)
_QUOTED = re.compile(r"(['\"])(?:not|non|no|without)\b[^'\".!?]{1,30}\1(?=\s*[,})\]])", re.IGNORECASE)
"""A value in a list of values: ``'not resistant'``."""
_YOU = re.compile(r"\s+you\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|when|whenever|in case|unless|until|whether)\b[^,]*\Z", re.IGNORECASE)
_BREAK = re.compile(
    r"(?:[,:(\u2013\u2014-]|\b(?:but|and|or))\s*(?:(?:please\s+)?do\s+)?\Z", re.IGNORECASE
)
_NEW_ORDER = re.compile(
    r",\s*(?:but|just|only|instead|then)\b|\bbut (?:do|please|only|rather)\b"
    r"|\b(?:because|since) (?:i|you|we) also\b|,\s*(?:and|but)\s+(?=\w[^,;.]*\binstead\b)"
    r"|\b(?:any|no)\s?(?:one|body)(?: else)?,? (?:but|except(?: for)?|other than|apart from)\b",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"(?:^|\b(?:please|and|then|to|you|bitte|und)\s+|,\s*)(?:tell|inform|notify|remind|ask|write|reply|answer|let|say"
    r"|(?:e-?mail|message)(?!\s+to\b)|schreibe?|sage?|antworte|écris|dis)\s",
    re.IGNORECASE,
)
_STATEMENT = re.compile(
    r"\(\s*(?!(?:it|this|that|these|those|which|who|he|she|they|him|her|them|but|except|and|or not)\b)"
    r"[^\W\d_]+\b[^()]*\)"
)
"""Words in brackets, in ``folded`` text, that do not begin by referring to what stands before them."""
_DESCRIBED = re.compile(
    r"\b(?:that|which|who)\s+(?:is|are|was|were)\s[^,;.]{0,60}?\b(?:yet|but|and|though)\s+not\Z",
    re.IGNORECASE,
)
"""What something is and is not: "the one that is large yet not heavy"."""
_CLAUSE = re.compile(
    r"\s(?:that|why|because|since|as|so|i|we|he|she|it|they|dass|daß|weil|que)\s", re.IGNORECASE
)
_TO_DO = re.compile(r"\s+to\s", re.IGNORECASE)


class Words(Struct, frozen=True):
    """A part of a text, and whether it forbids."""

    text: str
    forbidden: bool = False


def clauses(text: str) -> tuple[Words, ...]:
    """The parts of a text, in order, each either forbidding or not."""
    return _known_clauses(text) if len(text) <= _SHORT else _clauses(text)


def _clauses(text: str) -> tuple[Words, ...]:
    if _NEGATED.search(folded(text)) is None:
        return (Words(text),)
    return tuple(
        [part for each in _SENTENCE.split(text) for whole in _outside(each) for part in _parts(whole)]
    )


def _outside(sentence: str) -> list[str]:
    """A sentence, and apart from it what it states in brackets: a "not" there forbids nothing outside.

    An order in brackets ("don't") and one that refers to the sentence ("she must not") stay part of it.
    """
    asides, whole = list[str](), sentence
    for found in _STATEMENT.finditer(folded(sentence)) if "(" in sentence else ():
        negated = _NEGATED.search(found[0])
        if negated is not None and found[0][1 : negated.start()].strip():
            asides.append(sentence[found.start() + 1 : found.end() - 1])
            whole = f"{whole[: found.start()]}{' ' * len(found[0])}{whole[found.end() :]}"
    return [whole, *asides]


# A sentence is looked at for what it names, for what it asks for, and for ranks.
_known_clauses = lru_cache(64)(_clauses)


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [each for each in _SENTENCE.split(text) if each]


def _parts(sentence: str) -> Iterator[Words]:
    rest: str | None = sentence
    while rest is not None:
        found, rest = _first_parts(rest)
        yield from found


def _first_parts(sentence: str) -> tuple[list[Words], str | None]:
    """The parts up to the first that forbids, and what follows it; None if nothing does."""
    for found in _NEGATED.finditer(folded(sentence)):
        before, after = sentence[: found.start()], sentence[found.start() :]
        if _is_harmless(sentence, found):
            continue
        if condition := _CONDITION.search(before):
            # An order on the condition that something is not so is still an order.
            end = sentence.find(",", found.end())
            if end < 0:
                continue
            return [Words(sentence[: condition.start()])], sentence[end + 1 :]
        wanted = _wanted_before(sentence, found)
        is_nobody = found[0].lower() in ("nobody", "no one", "no-one")
        order = _NEW_ORDER.search(after, 0 if is_nobody else len(found[0]))
        parts = [Words(before[:wanted])]
        if before[wanted:]:
            parts.append(Words(before[wanted:], forbidden=True))
        parts.append(Words(after[: order.start()] if order else after, forbidden=True))
        return parts, after[order.end() :] if order else None
    return [Words(sentence)], None


def _is_harmless(sentence: str, found: re.Match[str]) -> bool:
    if _OR_NOT.search(sentence, 0, found.end()) and not sentence[found.end() :].strip(" .!?"):
        return True
    if _QUOTED.match(sentence, max(found.start() - 1, 0)):
        return True
    if _DESCRIBED.search(sentence, 0, found.end()):
        return True
    if _AT_MOST.match(sentence, found.end()):
        return True
    if _HARMLESS.match(sentence, found.end()):
        return _MUST.search(sentence, 0, found.end()) is None
    if (asked := _ASKED.search(sentence, 0, found.end())) is not None:
        return asked[0][:3].lower() == "why" or _YOU.match(sentence, found.end()) is not None
    return any(told.end() == found.end() for told in _TOLD.finditer(sentence))


def _wanted_before(sentence: str, found: re.Match[str]) -> int:
    """How much of the text before a negation is still wanted: all, none, or only whom to tell."""
    before = sentence[: found.start()]
    if not sentence[found.end() :].strip(" .!?)"):
        return 0
    if _AFTER.search(found[0]) or not before.strip() or _BREAK.search(before):
        return len(before)
    if (telling := _TELLING.search(before)) is None:
        return 0
    if _TO_DO.match(sentence, found.end()):
        return len(before)
    clause = _CLAUSE.search(before, telling.end())
    return clause.start() if clause else 0
