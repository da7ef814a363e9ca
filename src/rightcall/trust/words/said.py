"""Finds what a person's text names, each thing with the role or kind in which they named it.

A count is no identifier, a word at the start of a sentence is no name, and what is to be taken from
somewhere is not to go there. In doubt, nothing is named.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from rightcall.trust.words.spelling import folded, scan

Role: TypeAlias = Literal["from", "to"]


def named_words(words: str) -> frozenset[str]:
    """The words of a list that is written as one text, separated by spaces."""
    return frozenset(words.split())


IDLE = named_words(
    "want would like need please wish also then now just ask agent help could may must should let try "
    "because since decide lastly finally first second next"
)
"""Words that do not describe the object of an act."""
_FROM = named_words("from out using debit debiting von aus depuis desde")
_TO = named_words("to into onto toward towards credit crediting nach auf vers hacia")
_CARD = re.compile(
    r"\b(?:debit|credit)(?=[- ](?:cards?|limits?|lines?|notes?|scores?)\b)"
    r"|\b(?:my|our|your|the|an?|his|her|their)\s+(?:debit|credit)\b",
    re.IGNORECASE,
)
"""Words that say of what sort a card is, and not what is to be done with it."""
_ARROW = re.compile(r"(?<![\w.@/+])([\w.@/+]{1,80})\s?(?:[-=]>|\u2192)\s?")
_FILLERS = named_words(
    "my your our the a this that account accounts iban card number no folder file channel user of and "
    "address bank wallet called named"
)
_FARTHEST = 4
# Given names that are also common words. They count as names only in the middle of a sentence.
_WORDS_TOO = named_words(
    "amber april archer art august autumn baker basil bill brandy buck buddy can cash charity chase "
    "chip clay cliff cooper crystal daisy dawn dean drew duke earl faith forest frank gene ginger glen "
    "grace grant guy harmony heath holly hope hunter iris ivy jack joy june king lance lane lily mark "
    "mason max may melody mercy miles nick norm olive page parker pat patience pearl penny pierce "
    "porter prudence ray reed rich rob rod rose ruby sandy skip sky stone sue summer sunny taylor "
    "tucker van victor violet wade walker ward will woody"
)
_LONGEST_COUNT = 4
"""Digits of a number that may be a count, at most."""
_IDENTIFIES = frozenset({"id", "ids", "number", "nr", "no"})
_JOINS = _IDENTIFIES | {"and", "or", "to", "with", "is", "the", "of"}
_FARTHEST_NOUN = 6
_DIGIT = re.compile(r"\d")
_CAPITALISED = re.compile(r"(?<![\w'\u2019])[A-Z][a-z]+\b(?!['\u2019]?\w)")
_TIME = re.compile(
    r"\b(?:by|in|until|till|since|during|before|after|of|last|next|this|early|late|mid|through|every|each)\Z",
    re.IGNORECASE,
)
"""What stands before a month or a season: "by April" names nobody."""
_TIMES = named_words("april may june august summer autumn")
_FOLLOWS = named_words(
    "and or to in on at from with by for into of as is was that which please then now so if but"
)
_YEARS = range(1900, 2101)
_FEWEST_OF_ACCOUNT = 10_000_000
_IDENTIFIER = re.compile(
    r"(?:#|\b(?:no\.?|nr\.?|number|id|invoice|ticket|case|customer|ref(?:erence)?|account|card|contract|mail|email|file"
    r"|room|flat|apartment|apt|suite|gate|seat|page|isbn|phone|tel|(?:zip|post)(?:\s?code)?(?:\s+is)?|code|flight"
    r"|booking|reservation|pin|iban|order(?=\s+(?:#|no\b|nr\b|number|\d{4}))"
    r"|end(?:s|ing)(?:\s+(?:in|with|on))?|last\s+(?:four|4)(?:\s+digits)?(?:\s+(?:of|are|is))?)\b)"
    r"[\s:#.]*+\d[\d-]*+(?![\d.,]*\d)|(?<![\w.,])\d{4}(?=\s+(?:(?:credit|debit)\s+)?(?:card|account|visa|mastercard|amex)\b)"
)
"""A number with what it is the number of before it, or a card's last digits; in ``folded`` text, as all
that ``amounts`` looks for."""
_COUNTED = re.compile(
    r"(?<![\w.,])\d[\d.,]*+\s?(?:%|percent\b|prozent\b|(?:second|minute|hour|day|night|week|month|year|people|person|guest"
    r"|item|piece|sheet|page|copy|copie|time|ticket|seat|bag|box|boxe|bottle|hit|mile|meter|metre|kilo|gram|litre|liter)s?\b"
    r"|(?:kg|km|cm|mm|left|tage?|wochen?|monate?|jahre?|st\u00fcck)\b)"
    r"|(?<![\w.,$\u20ac\u00a3])\d[\d.,]*+\s(?!(?:dollars|euros|pounds|francs|swiss|points|credits|coins|tokens|miles|bucks|cents|rupees|pesos|crowns|quids|grands"
    r"|plus|minus|less|this|towards|afterwards|always|unless|besides|across|thus|is|was|has|as)\b)[a-z]{3,}s\b"
    r"|\b(?:by|in|since|until|during|before)\s+(?:the\s+end\s+of\s+)?(?:19|20)\d\d\b(?![.,]?\d)"
)
"""How many of something else than money, how much of it is left, or in which year."""
_STREET = (
    r"(?:street|st|road|rd|avenue|ave|lane|ln|drive|way|court|boulevard|blvd|place|square|terrace|close|row|highway"
    r"|parkway|circle|alley|quay|crescent|gardens)"
)
_HOUSE = re.compile(
    rf"(?<![\w.,$\u20ac\u00a3])\d{{1,5}}[a-z]?\s+(?:(?!and\b|to\b|for\b|on\b|at\b|from\b|in\b)[a-z'.-]+\s+){{1,3}}?{_STREET}\b"
    r"|\b[^\W\d_]{3,}(?:stra(?:\u00df|ss)e|str\.?|weg|gasse|platz|allee)\s+\d{1,4}[a-z]?\b"
)
"""The number of a house in a street."""
_LIVES = re.compile(
    r"\b(?:liv(?:e|es|ing)|moved?|moving|address|resid\w+|based|located|home|postcode|zip)\b[^.;!?]{0,120}?"
    r"(?<![\w.,$\u20ac\u00a3])(?P<code>\d{4,5})(?=\s+(?!dollars?|euros?|francs?|pounds?|usd|eur|gbp|chf)[^\W\d_]|\s*[,.]|\s*\Z)"
)
"""The postcode of somebody who says where they live."""
_MODEL = re.compile(
    r"\b(?:an?|my|our|his|her|their|the)\s+(?:[^\W\d_]+\s+)?(?:19|20)\d\d\s+"
    r"(?:[^\W\d_]+\s+)?(?:car|cars|model|edition|version|van|truck|bike|vintage|season|series|film|movie|laptop|phone|report|budget)\b"
)
"""The year of a thing."""
_BRAND = re.compile(
    r"\b(?:[Aa]n?|[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir)\s+(?:[a-z]+\s+)?(?P<year>(?:19|20)\d\d)"
    r"\s+(?!Dollar|Euro|Swiss|US|Canadian|Australian|Pound)[A-Z][a-z]"
)
"""The same, before its brand: "my 2014 Volvo"."""
_DIALLED = re.compile(r"(?<![\w.,])\+?\(?\d++\)?(?:[ -]\d++){1,15}(?!\w)")
_AMOUNT = re.compile(
    r"(?<![\w.,:/])(?P<whole>\d++(?:[.,]\d{3}(?!\d))*+(?:\.\d+)?+)(?:,(?P<comma>\d{1,2})(?!\d))?(?![:/]\d)"
    r"(?:\s?(?P<scale>k|thousand|tsd|mio|million|millionen|m)\b)?"
)
_SCALES = {"k": 1e3, "th": 1e3, "ts": 1e3, "mi": 1e6, "m": 1e6}


_COMPUTED = re.compile(
    r"%|\b(?:percent|prozent|difference|rest|remain\w*|same|double|twice|triple|half|third|quarter|share|split|additional"
    r"|as much|what i owe|outstanding)\b"
)


def is_computed(text: str) -> bool:
    """Whether a text wants an amount that follows from others: the difference, a percentage."""
    return _COMPUTED.search(folded(text)) is not None


def is_word_too(token: str) -> bool:
    """Whether a name, in lower case, is also a common word."""
    return token in _WORDS_TOO


def may_count(token: str) -> bool:
    """Whether a token is a number that could be a count."""
    return len(token) <= _LONGEST_COUNT and token.isdigit()


def roles(text: str) -> Iterator[tuple[str, Role]]:
    """The tokens from which something is to be taken, or into which it is to go, each with that role."""
    role: Role | None = None
    since, is_grouped = 0, False
    text = _ARROW.sub(r"from \1 to ", text) if ">" in text or "\u2192" in text else text
    text = _CARD.sub("", text)
    for at, (_, token) in enumerate(scan(text)):
        if token in _FROM or token in _TO:
            role, since = ("from" if token in _FROM else "to"), at
            is_grouped = False
        elif role is not None and (token.isalpha() if is_grouped else at - since > _FARTHEST):
            role = None
        elif role is not None and token not in _FILLERS:
            yield token, role
            # ``from Ann to Bob`` and ``from savings account AA11``: the number has the role as well,
            # with all of its groups.
            is_grouped = not token.isalpha()
            role = role if token.isalnum() else None


def names(text: str) -> Iterator[str]:
    """The common words that a text uses as names."""
    before, end = "", 0
    for found in _CAPITALISED.finditer(text):
        # Only the text in between: looking back to the start each time would take quadratic time.
        between = text[end : found.start()].rstrip()
        before, end = between[-1:] or before, found.end()
        word = found[0].lower()
        is_time = word in _TIMES and _TIME.search(between) is not None
        if before and before not in ".!?:;\"'" and not is_time and is_word_too(word):
            yield word
        before = found[0][-1]


def references(text: str) -> Iterator[tuple[str, str]]:
    """Short numbers that identify, each with its noun: ``mail 3``, ``files 3 and 4``, ``id 3``."""
    found = [token for _, token in scan(text)] if _DIGIT.search(text) else []
    for at, token in enumerate(found):
        if token.isdigit() and may_count(token):
            yield from ((noun, token) for noun in _nouns(found, at))


def _nouns(found: list[str], at: int) -> Iterator[str]:
    after = found[at + 1] if at + 1 < len(found) else ""
    if after and after not in _FOLLOWS and not any(each.isdigit() for each in after):
        return
    for token in reversed(found[max(at - _FARTHEST_NOUN, 0) : at]):
        if token in _IDENTIFIES:
            yield "id"
        if token not in _JOINS and not may_count(token):
            yield token.removesuffix("s")
            return


def amounts(text: str) -> Iterator[float]:
    """The numbers in a text that may be amounts: none that identifies something, and no telephone's."""
    if _DIGIT.search(text) is None:
        return
    text = _BRAND.sub(" ", text)
    for other in (_IDENTIFIER, _HOUSE, _LIVES, _MODEL, _COUNTED, _DIALLED):
        text = other.sub(" ", folded(text))
    for found in _AMOUNT.finditer(text):
        whole, comma, scale = found["whole"], found["comma"], found["scale"]
        # A comma before one or two digits is a decimal point; then dots separate thousands.
        whole = whole.replace("." if comma else ",", "")
        digits = f"{whole.replace(',', '')}.{comma}" if comma else whole
        if digits.count(".") <= 1:
            yield float(digits) * _SCALES.get((scale or "")[:2], 1)


def bounding(found_amounts: Iterable[float]) -> float | None:
    """The largest of a text's amounts, as a limit for others: no year, and nothing like an account."""
    found = [each for each in found_amounts if each < _FEWEST_OF_ACCOUNT and not _is_year(each)]
    return max(found, default=None)


def _is_year(number: float) -> bool:
    # A range compares a float with each of its numbers; an int it finds at once.
    return number.is_integer() and int(number) in _YEARS
