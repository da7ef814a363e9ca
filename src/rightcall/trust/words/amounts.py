"""Finds the amounts in a text: numbers in digits or in words that may be sums of money.

How many of something there are, a house's number and a year are none. In doubt, a number is one.
"""

import re
from collections.abc import Iterable, Iterator

from rightcall.trust.words.dates import DATE
from rightcall.trust.words.spelling import folded

_DIGIT = re.compile(r"\d")
_DATE = re.compile(DATE)
_YEARS = range(1900, 2101)
_FEWEST_OF_ACCOUNT = 10_000_000
_IDENTIFIER = re.compile(
    r"(?:#|\b(?:no\.?|nr\.?|number|id|invoice|ticket|case|customer|ref(?:erence)?|account|card|contract|mail|email|file"
    r"|room|flat|apartment|apt|suite|gate|seat|page|isbn|phone|tel|(?:zip|post)(?:\s?code)?(?:\s+is)?|code"
    r"|flight(?:\s+[a-z]{2}(?=\s+\d))?|booking|reservation|pin|iban|order(?=\s+(?:#|no\b|nr\b|number|\d{4}))"
    r"|building|train|facture|factura|fattura|factuur|rechnung|(?:kunden|rechnungs|auftrags|vertrags|bestell)(?:nummer|nr)"
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
_HELD = re.compile(
    r"\b(?:balance\s+(?:is|was|stands\s+at)|(?:have|has|had|got)(?=\s+(?:about\s+|around\s+|only\s+|over\s+)?\S?\d[\d.,k]*"
    r"(?:\s+[a-z]+)?\s+(?:left\s+)?(?:on|in)\s+(?:my|our|the|his|her|their)\b))"
    r"\s+(?:about\s+|around\s+|only\s+|over\s+)?\S?\d[\d.,k]*+"
)
"""How much somebody has: it is not to be paid because of that."""
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
CURRENCY = (
    r"(?:\u20ac|\$|\u00a3|(?:eur|usd|gbp|chf|cad|aud|sek|nok|dkk|pln|kr)\b|(?:euro|dollar|pound|franc|buck|quid|crown|rupee"
    r"|peso|yen)s?\b|swiss francs)"
)
_AMOUNT = re.compile(
    r"(?P<before>[\u20ac$\u00a3]\s?)?(?<![\w.,:/])(?<![a-z]-)"
    r"(?P<whole>\d++(?:[.,]\d{3}(?!\d))*+(?:\.\d+)?+)(?:,(?P<comma>\d{1,2})(?!\d))?(?![:/]\d|(?:st|nd|rd|th)\b)"
    r"(?:\s?(?P<scale>k|thousand|tsd|grand|mio|million|millionen|m|bn|billion|mrd|milliarden?)\b)?"
    rf"(?:\s?(?:(?P<after>{CURRENCY})|(?P<cents>cents?|ct|pence)\b))?"
)
_SCALES = {
    "k": 1e3,
    "th": 1e3,
    "ts": 1e3,
    "gr": 1e3,
    "mi": 1e6,
    "m": 1e6,
    "bn": 1e9,
    "bi": 1e9,
    "mr": 1e9,
}
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
_MARKED = re.compile(r"(?<=\d)['\u2019](?=\d{3}(?!\d))|\b(?:eur|usd|gbp|chf)(?=\d)")
"""What may be left out of an amount: ``1'000``, ``EUR20``."""
_SPACED = re.compile(
    rf"(?<![\w.,+(-])(?<!\d )\d{{1,3}}(?: \d{{3}})+(?=,\d\d(?!\d)|\s?{CURRENCY})"
    r"|(?<=[\u20ac$\u00a3])\s?\d{1,3}(?: \d{3})+"
)
"""An amount with spaces between its thousands; without a currency it may be a telephone's number."""
_SUM = (
    r"(?:amounts?|sums?|money|bills?|balance|costs?|debts?|rent|price|fees?|totals?|payments?|invoices?|refunds?|deposit"
    r"|expenses?|funds|credit|checks?|charges?|value|loan|salary)"
)
_END = r"\s*(?:[.,;:!?)]|\Z)"
_WHOSE = r"(?:the|my|our|his|her|their)"
_PERCENT = r"(?:%|percent\b|prozent\b)"
_OF_IT = (
    r"of|more|less|off|extra|tip|discount|increase|raise|higher|lower|on|from|back|von|mehr|weniger|interest|tax|vat"
    r"|commission|refund"
)
_COMPUTED = re.compile(
    "|".join(
        (
            # "10% of it", "raise it by 5 percent", and not "I am 100% sure".
            rf"\d\s?{_PERCENT}\s+(?:{_OF_IT}|{_SUM})\b",
            rf"\b(?:by|add|plus|another|additional|extra|minus|um)\s+(?:an?\s+)?[\d.,]+\s?{_PERCENT}",
            r"(?<!\ba )(?<!no )(?<!any )(?<!what's the )(?<!what is the )(?<!whats the )\bdifference\b",
            rf"\bthe rest\b(?={_END}|\s+(?:to|on|onto|with|from|by|via|using|goes|should|can)\b)",
            rf"\bthe rest\s+of\s+(?:it|that|what|{_WHOSE}\s+(?:[a-z]+\s+)?{_SUM})\b",
            rf"\bremain(?:ing|der)\b(?={_END}|\s+(?:to|on|onto|with)\b|\s+(?:[a-z]+\s+)?(?:{_SUM}\b|\S?\d))",
            # "The same as last month", and not "at the same time".
            rf"\bthe same\b(?={_END}|\s+(?:as|again|for|to|from|figure|{_SUM})\b)",
            r"\b(?:book|order|buy|reserve|repeat)\s+(?:me\s+|us\s+)?the same\s+(?!time|day|way|person)",
            r"\b(?:double|twice|triple)\s+(?:the|that|this|it|as|what|my|his|her|their|of|\S?\d)",
            r"(?<!first )(?<!second )(?<!last )\b(?:half|thirds?|quarters?)\s+(?:of|the|what|it|my)\b",
            r"\b(?:my|his|her|their|our|your|equal|each|the)\s+shares?\b(?!\s+(?:link|button|price|option))",
            rf"\bsplit\s+(?:it|that|this|{_WHOSE}\s+(?:[a-z]+\s+)?{_SUM}\b|evenly|equally|between|among|\S?\d)",
            rf"\badditional\s+(?:[a-z]+\s+)?(?:{_SUM}\b|\S?\d)",
            rf"\boutstanding\b(?={_END}|\s+(?:[a-z]+\s+)?{_SUM}\b)",
            r"\bas much\b",
            r"\bwhat(?:ever)?\s+(?:i|we|he|she|they)\s+owes?\b",
        )
    )
)
"""Words for an amount that follows from others; in ``folded`` text. The same words are said of much else
("double check", "the rest of the day"), and an amount that was named is the limit then."""
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ARTICLES = ("a", "an")
_VAGUE = (*_ARTICLES, "half", "couple", "dozen")
_VALUES: dict[str, float] = (
    {word: number for number, word in enumerate(_ONES)}
    | {word: number * 10 for number, word in enumerate(_TENS, 2)}
    | {"a": 1, "an": 1, "half": 0.5, "couple": 2, "dozen": 12}
)
_POWERS = {"hundred": 1e2, "thousand": 1e3, "grand": 1e3, "million": 1e6, "billion": 1e9}
_GAP = re.compile(r"[\s-]+")
_SPELT = re.compile(
    rf"\b(?:{'|'.join(_VALUES)}|{'|'.join(_POWERS)})\b"
    rf"(?:(?:[\s-]+(?:and\s+|of\s+)?)(?:{'|'.join(_VALUES)}|{'|'.join(_POWERS)})\b)*"
)
_LEAST = 10
"""A smaller number in words is an amount only with its currency: "two" is said of anything."""
_MONEY_AFTER = re.compile(rf"(?:\s+of)?\s?(?:{CURRENCY}|cents?\b|pence\b)")


def is_computed(text: str) -> bool:
    """Whether a text wants an amount that follows from others: the difference, a percentage."""
    return _COMPUTED.search(folded(text)) is not None


def amounts(text: str) -> Iterator[float]:
    """The numbers in a text that may be amounts: none that identifies something, and no telephone's."""
    text = folded(_BRAND.sub(" ", text))
    text = _SPELT.sub(_in_digits, text)
    if _DIGIT.search(text) is None:
        return
    text = _SPACED.sub(lambda found: found[0].replace(" ", ""), _MARKED.sub("", text))
    for other in (_DATE, _IDENTIFIER, _HELD, _HOUSE, _LIVES, _MODEL, _COUNTED, _DIALLED):
        text = other.sub(" ", text)
    for found in _AMOUNT.finditer(text):
        whole, comma, scale = found["whole"], found["comma"], found["scale"]
        is_money = found["before"] or found["after"]
        # A comma before one or two digits is a decimal point; then dots separate thousands. So do two
        # dots, and one before the three digits of an amount that has its currency beside it.
        if comma or (_THOUSANDS.fullmatch(whole) and (is_money or whole.count(".") > 1)):
            whole = whole.replace(".", "")
        digits = f"{whole.replace(',', '')}{f'.{comma}' if comma else ''}"
        if digits.count(".") <= 1:
            yield float(digits) * _SCALES.get((scale or "")[:2], 1) / (100 if found["cents"] else 1)


def _in_digits(found: re.Match[str]) -> str:
    """A number in words, in digits, if it may be an amount."""
    words = [word for word in _GAP.split(found[0]) if word not in ("and", "of")]
    if words[0] in _POWERS:
        return found[0]
    whole = part = 0.0
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        power = _POWERS.get(word)
        if power is None:
            # "A thousand" is one; "half a million" and "a couple of hundred" are not one more.
            is_idle = word in _ARTICLES and (before == "half" or (after and after not in _POWERS))
            part += 0 if is_idle else _VALUES[word]
        elif power == _POWERS["hundred"]:
            part = (part or 1) * power
        else:
            whole, part = whole + (part or 1) * power, 0.0
    is_money = _MONEY_AFTER.match(found.string, found.end()) is not None
    is_large = whole + part >= _LEAST and words[0] not in _VAGUE
    if is_money or is_large or not _POWERS.keys().isdisjoint(words):
        return f"{whole + part:.15g}"
    return found[0]


def bounding(found_amounts: Iterable[float]) -> float | None:
    """The largest of a text's amounts, as a limit for others: no year, and nothing like an account."""
    found = [each for each in found_amounts if each < _FEWEST_OF_ACCOUNT and not _is_year(each)]
    return max(found, default=None)


def _is_year(number: float) -> bool:
    # A range compares a float with each of its numbers; an int it finds at once.
    return number.is_integer() and int(number) in _YEARS
