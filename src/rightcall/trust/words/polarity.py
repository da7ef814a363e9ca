"""Splits a person's text into what they want and what they forbid. In doubt, it is forbidden.

English, and the common words of some other languages.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from rightcall.trust.words.negation import LETTER, NEGATED, Negation, negations
from rightcall.trust.words.said import named_words
from rightcall.trust.words.spelling import folded
from rightcall.trust.words.verbs import ACTS, READS

_SHORT = 1000
"""Limit of a text whose clauses are cached, in characters."""
# Begins where the spaces begin: from each space of many, the search would go to the last of them.
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<!\s)\s*[;\n]+\s*")
_CONDITION = re.compile(r"\b(?:if|when|whenever|in case|unless|until|whether)\b[^,]*\Z", re.IGNORECASE)
_BREAK = re.compile(
    r"(?:[,:(\u2013\u2014-]|\b(?:but|and|or|aber|und|mais|et|pero|mas|ma|maar|en|ale|men))\s*"
    r"(?:(?:definitely|certainly|absolutely|really|surtout|lieber|bitte|please)\s+)?(?:do\s+)?\Z",
    re.IGNORECASE,
)
_CORRECTED = re.compile(r"\d[\d.,]*\s*not\s+\S?\d", re.IGNORECASE)
"""A number, and the one that it is not."""
_LONGEST_NUMBER = 20
_ORDERS = (ACTS | READS) | named_words(
    "tell inform remind let ask contact copy cc bcc mail e-mail text phone ring answer respond thank "
    "give take use go do "
    "try keep include choose pick continue proceed say bring"
)
_ORDER = (
    rf"(?:please\s+|just\s+|then\s+)?(?:{'|'.join(sorted(_ORDERS))})\b(?!,|\s+(?:or|and)\b|\W*\Z)"
    rf"(?![^.;]{{0,120}}\bor\s+(?:{'|'.join(sorted(_ORDERS))})\b)"
)
"""A verb in the form of an order, in lower case since it may also be a name; not one of a list of "
"verbs."""
_LONGEST_ORDER = 200
"""Characters that tell whether an order begins at a place, at most."""
_NEW_ORDER = re.compile(
    r"(?i:,\s*(?:but|just|only|instead|then|sondern|sino|seulement)\b|\bbut (?:do|please|only|rather)\b"
    r"|\b(?:because|since) (?:i|you|we) also\b|,\s*(?:and|but)\s+(?=\w[^,;.]*\binstead\b)"
    r"|\b(?:any|no)\s?(?:one|body)(?: else)?,? (?:but|except(?: for)?|other than|apart from)\b"
    r"|(?<!one )(?<!body )(?<!thing )(?<!all )\bbut\b(?!\s+for\b)|,\s*(?:so\s+)?please\b)"
    rf"|[,:\u2013\u2014]\s*(?:so\s+)?(?={_ORDER})|\bso\s+(?={_ORDER})"
)
_OBJECT_ENDS = re.compile(
    r"(?i:,?\s+(?:when|while|as(?! well)|if|because|since|then|so|where|whenever|unless|until|before"
    r"|after)\b"
    rf"|\s+(?:in|from|on|off|of)\s+(?:\w+\s+){{0,3}}?{LETTER}\b"
    r"|,\s*(?:i|we|you|he|she|it|they|everyone|everybody|all|the rest)\b)"
    rf"|\s+and\s+(?=(?:i|I|we|you|he|she|they|want|need|would|wish)\b|{_ORDER})"
)
"""What does not belong to the object of a verb any more."""
_CLAUSE_STARTS = re.compile(
    r".*(?:[,;:(\u2013\u2014]|\b(?:and|but|so|that|because|with)\s)", re.IGNORECASE | re.DOTALL
)
_CONDITION_OF_ACT = re.compile(
    r"\b(?:if|when|whenever|in case|unless|until)\s+\w+\s+(?:(?:do|must|can|have to|want to)\s+)?\Z",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"(?:^|\b(?:please|and|then|to|you|bitte|und)\s+|,\s*)(?:tell|inform|notify|remind|ask|write|reply"
    r"|answer|let|say"
    r"|(?:e-?mail|mail|message)(?!\s+to\b)|schreibe?|sage?|antworte|écris|dis|scrivi|digli|dille|schrijf|zeg|diga)\s"
    r"|\b(?:kannst|k\u00f6nntest|w\u00fcrdest|magst)\s+du\s[^;!?,]{0,80}?\s(?:sagen|mitteilen|schreiben|ausrichten|antworten)\b",
    re.IGNORECASE,
)
_THING = (
    r"(?:the|my|our|an?|this|that|his|her|their)(?:\s+(?!(?:to|for|with|and|or|not)\b)[\w.'-]+){1,4}?"
)
_NOT_THIS = re.compile(
    rf"\b(?:send|forward|e-?mail|mail|share|post|upload|attach)\s+(?:only\s+|just\s+)?{_THING},?\s+(?:(?:and|but)\s+)?"
    rf"(?P<no>not)\s+{_THING}(?=,?\s+(?:to|for|with)\s)",
    re.IGNORECASE,
)
"""What is to be sent and what is not, before whom it goes to: "send the pdf and not the docx to Ann"."""
_STATEMENT = re.compile(
    r"\(\s*(?!(?:it|this|that|these|those|which|who|he|she|they|him|her|them|but|except|and|or not)\b)"
    r"[^\W\d_]+\b[^()]*\)"
)
"""Words in brackets, in ``folded`` text, that do not begin by referring to what stands before them."""
_CLAUSE = re.compile(
    r"\s(?:that|why|because|since|as|so|i|we|he|she|it|they|dass|daß|weil|que|che|dat)\s", re.IGNORECASE
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
    if NEGATED.search(folded(text)) is None:
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
        negated = NEGATED.search(found[0])
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
    while rest:
        found, rest = _first_parts(rest)
        yield from found


def _first_parts(sentence: str) -> tuple[list[Words], str | None]:
    """The parts up to the first that forbids, and what follows it; None if nothing does."""
    for found in negations(sentence):
        before = sentence[: found.start]
        is_act = found.reach in ("object", "itself")
        if condition := (_CONDITION_OF_ACT if is_act else _CONDITION).search(before):
            # An order on the condition that something is not so is still an order.
            end = sentence.find(",", found.end)
            if end < 0:
                continue
            return [Words(sentence[: condition.start()])], sentence[end + 1 :]
        start, end, after = _span(sentence, found)
        return [Words(sentence[:start]), Words(sentence[start:end], forbidden=True)], sentence[after:]
    return [Words(sentence)], None


def _span(sentence: str, found: Negation) -> tuple[int, int, int]:
    """Where the forbidden part starts and ends, and where the next part starts."""
    match found.reach:
        case "itself":
            return found.start, found.end, found.end
        case "before":
            clause = _CLAUSE_STARTS.match(sentence, 0, found.start)
            return (clause.end() if clause else 0), found.end, found.end
        case "sentence" if end := _not_this(sentence, found):
            return found.start, end, end
        case "sentence":
            start, ends = _wanted_before(sentence, found), [_NEW_ORDER]
        case "clause" if " you " in found.text:
            start, ends = found.start, [_NEW_ORDER]
        case _:
            start, ends = found.start, [_OBJECT_ENDS, _NEW_ORDER]
    is_nobody = found.text in ("nobody", "no one", "no-one")
    first = (len(sentence), len(sentence))
    for each in ends:
        # No further than the end that is known: each part of a long text would be read to its last word.
        most = first[0] + _LONGEST_ORDER
        if after := each.search(sentence, found.start if is_nobody else found.end, most):
            first = min(first, after.span())
    return start, *first


def _not_this(sentence: str, found: Negation) -> int:
    """Where a thing ends that is not to be sent while another is; 0 if nothing like that is negated."""
    if found.text != "not":
        return 0
    first = max(found.start - _LONGEST_ORDER, 0)
    other = _NOT_THIS.search(sentence, first, found.end + _LONGEST_ORDER)
    return other.end() if other is not None and other.start("no") == found.start else 0


def _wanted_before(sentence: str, found: Negation) -> int:
    """How much of the text before a negation is still wanted: all, none, or only whom to tell."""
    before = sentence[: found.start]
    if not sentence[found.end :].strip(" .!?)"):
        return 0
    corrected = _CORRECTED.search(
        sentence, max(found.start - _LONGEST_NUMBER, 0), found.end + _LONGEST_NUMBER
    )
    if corrected is not None and corrected.start() < found.start < corrected.end():
        return len(before)
    if not before.strip() or _BREAK.search(before):
        return len(before)
    if (telling := _TELLING.search(before)) is None:
        return 0
    if _TO_DO.match(sentence, found.end):
        return len(before)
    clause = _CLAUSE.search(before, telling.end())
    return clause.start() if clause else 0
