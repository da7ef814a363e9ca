"""Scores how well a span of a question fits a parameter: by its form, and by the words around it.

``radius of 4`` names its parameter, ``3 days`` its unit, ``from Bern`` its role. A span without any of
that fits a parameter as well as any other of its type, so order decides.
"""

import re
from collections.abc import Mapping

from rightcall.declare.search_words import stem
from rightcall.local.guided.kin import kin_of, kinds_of
from rightcall.local.guided.parameters import ROLES, Parameter
from rightcall.local.guided.spans import Asked, Span
from rightcall.local.guided.units import currency, measure, quantities, quantity
from rightcall.local.guided.wordlist import listed

NO = -9.0
"""The score of an impossible value."""
SURE = 1.5
"""The score that an optional argument needs."""

_CUES: Mapping[str, str] = {
    "from": "from between leaving off of since departing starting",
    "to": "to into and towards until till for as in",
    "language": "in into to",
    "person": "to for with by of from user tell ask call invite",
    "place": "in at near for around of from to visiting across over",
    "title": "called named titled of for the with song movie book film album",
    "topic": "about for on of regarding concerning",
    "date": "on for at by until from starting",
    "time": "at by for from until",
    "id": "id number code order reference for of with",
    "sum": "is of",
}
_CUE_WORDS = {role: frozenset(words.split()) for role, words in _CUES.items()}
_SURE_CUES = {
    "from": frozenset({"from", "between"}),
    "to": frozenset({"to", "into", "towards"}),
    "place": frozenset({"in", "near", "at", "around"}),
    "title": frozenset({"called", "named", "titled"}),
    "topic": frozenset({"about", "regarding"}),
}
_WHERE = frozenset(["from", "in", "near", "at"])
_WIDE = frozenset(stem(word) for word in ("country", "state", "region", "province", "nation"))
"""Words of a parameter that takes what comes after the comma: Lima, Peru."""
_DAYS = frozenset(stem(word) for word in ("date", "day", "weekday", "birthday"))
"""Words of a parameter that takes a day, and no time of it."""
_ENDS = frozenset(stem(word) for role in ("from", "to") for word in ROLES[role].split())
_NAMED = 2.0
"""How near a parameter's own word must be to a name for it to be taken as a code."""
_SHORT = 3
"""The fewest letters of an abbreviation."""
_UNITS = frozenset(["unit", "currency", "scale"])
_SHAPED: Mapping[str, Mapping[str, float]] = {
    "date": {"date": 3.0, "time": 0.2, "quote": 0.5},
    "time": {"time": 3.0, "date": 0.2, "quote": 0.5},
    "email": {"email": 3.0, "quote": 0.5},
    "url": {"url": 3.0, "quote": 0.5},
    "sum": {"sum": 3.0, "quote": 0.5},
    "path": {"path": 3.0, "code": 0.5, "quote": 1.0, "name": 0.0, "phrase": -0.5},
    "host": {"url": 3.0, "code": 2.0, "quote": 1.0, "name": 0.0, "phrase": -0.5},
}
"""By role: the possible kinds of values, if a value's form shows its kind."""
_BY_KIND: Mapping[str, tuple[float, Mapping[str, float]]] = {
    "quote": (1.0, {"text": 4.5, "title": 3.0, "topic": 3.0, "": 1.5}),
    "rest": (NO, {"text": 2.0, "title": 1.2}),
    "email": (NO, {"person": 2.0, "to": 2.0, "": 0.5}),
    "url": (NO, {"": 0.5}),
    "path": (NO, {"": 0.5}),
    "code": (0.0, {"id": 3.0, "": 1.0, "title": 0.5, "from": 1.2, "to": 1.2}),
    "number": (NO, {"id": 1.5, "": -0.2}),
    "name": (1.0, {"id": -0.5, "text": -0.5, "topic": 0.5}),
    "phrase": (0.0, {"id": NO}),
    "proper": (1.1, {"id": NO, "text": -0.5, "place": 0.8}),
    "date": (NO, {"from": 1.0, "to": 1.0, "text": 0.0, "": 0.0}),
    "time": (NO, {"from": 1.0, "to": 1.0, "text": 0.0, "": 0.0}),
}
"""By kind of value: its fit to any role, and to some roles."""
_LANGUAGES = frozenset(
    listed(
        """
    arabic bengali chinese czech danish dutch english finnish french german greek hebrew hindi
    hungarian indonesian italian japanese korean latin mandarin norwegian persian polish portuguese
    romanian russian spanish swahili swedish thai turkish ukrainian urdu vietnamese welsh
    """
    )
)
_MONEY = frozenset(
    listed(
        """
    price amount cost budget fee salary pay payment sum total principal income value
    """
    )
)
_MONEY_UNITS = frozenset(listed("$ € £ ¥ dollar euro pound yen franc rupee usd eur gbp buck"))
_TIMES = frozenset(stem(word) for word in ("second", "minute", "hour", "day", "week", "month", "year"))
_SHARES = frozenset(listed("percent percentag rate discount tip tax interest share"))
_LOW = frozenset(listed("start from min minimum low lower begin first"))
_HIGH = frozenset(listed("end to max maximum high upper stop last limit"))
_APART = frozenset(listed("in at on from with by near for into of to about"))
"""Words that attach what is before them to something else."""
_DETERMINERS = frozenset(listed("a an the my our his her their this these much many which"))
_BEING = frozenset(listed("is are was were be been being isn't it's"))
_SKIPPED = frozenset(
    listed(
        """
    of is are was be to at with equal equals for as = and named called numbered
    """
    )
)


_NUMBERED = frozenset(
    listed(
        """
    account apartment bill bus case chapter exit flight floor gate invoice lane line locker order
    page platform room route row seat suite table ticket track train tram
    """
    )
)
"""Words before a number that only tells which one is meant: room 12."""
_WHICH = frozenset(stem(word) for word in ("number", "id", "no", "nr", "num", "code", "index"))
_BIRTH = frozenset(stem(word) for word in ("year", "birth", "born", "birthday"))


def fit(span: Span, parameter: Parameter, asked: Asked) -> float:
    """The score of a value for a parameter; ``NO`` if it is impossible."""
    if parameter.type in {"integer", "number"}:
        return _number_fit(span, parameter, asked)
    return _text_fit(span, parameter, asked)


def is_measure(span: Span) -> bool:
    """Whether a number is money, a share or a time, and so not a count of things."""
    unit = stem(span.unit.lower()) if span.unit else ""
    return unit in _MONEY_UNITS or unit in {"%", "percent"} or unit in _TIMES


def named_by(span: Span, parameter: Parameter, asked: Asked) -> float:
    """How near to the span a word of the parameter's name is, or one of its description."""
    if re.search(
        rf"(?<!\d\s)\b{re.escape(parameter.name)}\s*(?:=|:|is|of|equals)?\s*$", asked.text[: span.start]
    ):
        return 4.0
    best, distance, more = 0.0, 0.0, 0.0
    for word in asked.before(span.start, 5):
        if word[0].isdigit() or (word in _APART and word not in _SKIPPED and span.kind != "number"):
            break
        here = _said_by(word, parameter) - 0.4 * distance
        more += 0.4 * min(best, here) if best > 0.0 < here else 0.0
        best = max(best, here)
        distance += 0.25 if word in _SKIPPED else 1.0
    for at, word in enumerate(asked.behind(span.end, 2)):
        if word in _SKIPPED or word in _APART or word[0].isdigit():
            break
        best = max(best, 0.8 * _said_by(word, parameter) - 0.5 * at)
    return best + more


def _in_order(span: Span, parameter: Parameter, asked: Asked) -> float:
    """For "base and height of 6 and 10": whether the names come in the order of the numbers."""
    run = asked.run_of(span)
    if len(run) == 1 or span not in run:
        return 0.0
    names: list[str] = []
    for word in reversed(asked.before(run[0].start, 8)):
        if word[0].isdigit():
            names = []
        elif word not in _SKIPPED:
            names.append(stem(word))
    said = [at for at, name in enumerate(names) if name in parameter.words]
    # The names are adjacent, and as many as the numbers.
    last = names[-len(run) :]
    return 3.0 if said and len(last) == len(run) and last[run.index(span)] in parameter.words else 0.0


def _said_by(word: str, parameter: Parameter) -> float:
    root = stem(word)
    if len(word) > 1 and any(_is_same(root, each) for each in parameter.words):
        return 3.0
    if any(each in kin_of(root) for each in parameter.words):
        return 2.0
    return 1.0 if root in parameter.hints and word not in _SKIPPED else 0.0


def _is_same(word: str, other: str) -> bool:
    """Whether two words are equal, or one abbreviates the other: temp, num."""
    short, long = sorted((word, other), key=len)
    return word == other or (len(short) >= _SHORT and long.startswith(short))


def _number_fit(span: Span, parameter: Parameter, asked: Asked) -> float:
    number = span.plain
    if span.kind == "date" and "year" in parameter.words:
        return 1.0
    if (
        span.kind not in {"number", "enum"}
        or isinstance(number, bool)
        or not isinstance(number, int | float)
    ):
        return NO
    if parameter.type == "integer" and not isinstance(number, int):
        return NO
    if not _is_between(number, parameter) or _is_other_quantity(span, parameter):
        return NO
    if _is_name_of_another(span, parameter, asked):
        return NO
    score = 0.5 + max(named_by(span, parameter, asked), _in_order(span, parameter, asked))
    if not asked.text[span.start].isdigit() and any(
        asked.text[each.start].isdigit() for each in asked.spans
    ):
        # "Two sides" are counted, 4 and 5 are their lengths.
        score -= 1.0
    return score + _unit_fit(span, parameter) + _end_fit(span, parameter, asked)


def _unit_fit(span: Span, parameter: Parameter) -> float:
    unit = stem(span.unit.lower()) if span.unit else ""
    words = set(parameter.words)
    if not unit:
        return 0.0
    if unit in words:
        return 2.5
    kind, name = measure(unit)
    for own, its in map(measure, parameter.words):
        if kind and own == kind and kind != "time":
            # Miles are not kilometres; a duration can be converted.
            return 2.5 if its == name else -2.0
    if unit in _MONEY_UNITS:
        return 2.0 if words & _MONEY or parameter.hints & (_MONEY | _MONEY_UNITS) else -0.5
    if unit in {"%", "percent"}:
        return 2.0 if (words | parameter.hints) & _SHARES else -0.5
    if unit in parameter.hints:
        return 1.0
    # Minutes are not a number of things.
    return -0.8 if kind == "time" and not any(own == kind for own, _ in map(measure, words)) else 0.0


def _is_other_quantity(span: Span, parameter: Parameter) -> bool:
    """Whether a number measures something else: 60 dollars are not minutes."""
    mine, its = quantity(span.unit), quantities(parameter.words)
    return bool(mine and its) and mine not in its


def _is_name_of_another(span: Span, parameter: Parameter, asked: Asked) -> bool:
    """Whether a number says which thing is meant, and not how much: room 12 is no amount of 12."""
    word = next(iter(asked.before(span.start, 1)), "")
    if word == "born":
        return _BIRTH.isdisjoint(parameter.words)  # it is kin of an age, and the number is none
    if not _WHICH.isdisjoint(parameter.words):
        return False  # it takes the number of whatever the tool is about
    return word in _NUMBERED and not _said_by(word, parameter)


def _end_fit(span: Span, parameter: Parameter, asked: Asked) -> float:
    """Of two numbers, the lower bound and the upper bound."""
    before = asked.before(span.start, 1)
    word = before[0] if before else ""
    words = set(parameter.words)
    if word in {"from", "between", "over", "above", "least", "starting"}:
        return 1.5 if words & _LOW else 0.0
    if word in {"to", "and", "until", "under", "below", "most", "than", "max"}:
        return 1.5 if words & _HIGH else 0.0
    return 0.0


def _is_between(number: float, parameter: Parameter) -> bool:
    low, high = parameter.schema.get("minimum"), parameter.schema.get("maximum")
    return not (
        (isinstance(low, int | float) and number < low)
        or (isinstance(high, int | float) and number > high)
    )


def _text_fit(span: Span, parameter: Parameter, asked: Asked) -> float:
    role = parameter.role
    if span.kind == "enum":
        return 3.0 + named_by(span, parameter, asked) / 2 + _cue_fit(span, parameter, asked)
    form = _form_fit(span, role)
    if form == NO:
        return NO
    score = form + _cue_fit(span, parameter, asked) + min(2.5, named_by(span, parameter, asked))
    if span.kind == "name" and role == "place" and not str(span.plain)[0].isdigit():
        score += _comma_fit(span, parameter, asked)
    if role == "language":
        known = str(span.plain).lower() in _LANGUAGES
        score += 2.0 if known else -2.0
    elif str(span.plain).lower() in _LANGUAGES:
        score -= 1.0
    if span.kind in {"phrase", "proper", "name"} and _is_kind_of(span, parameter):
        score += 2.0
    elif span.kind == "phrase" and span.is_attached and parameter.is_required:
        score += 0.8
    if span.kind == "phrase" and not role and parameter.is_required and not span.is_attached:
        score = min(score + _standing(span, asked), max(score, 0.9))
    if span.kind == "phrase" and role in {"place", "person"} and score < SURE and not span.is_attached:
        return NO
    if _is_other_kind(span, parameter, asked):
        return NO
    if span.kind == "phrase" and score <= 0.0 and not parameter.is_required:
        return NO
    return score


def _standing(span: Span, asked: Asked) -> float:
    """Whether the words before a common noun make it a thing: my orchid, 12 tulips; not "is dry"."""
    before = asked.text[: span.start].lower().split()[-1:]
    if before and before[0] in _BEING and str(span.plain).endswith(("ing", "ed")):
        return -1.0
    is_counted = any(each.kind == "number" and each.end == span.start - 1 for each in asked.spans)
    if is_counted and not measure(str(span.plain).split()[-1])[0]:
        return 0.9
    return 0.3 if before and before[0] in _DETERMINERS else 0.0


def _comma_fit(span: Span, parameter: Parameter, asked: Asked) -> float:
    """Of a place and the wider one that it is in, the one that is meant."""
    is_wide = not _WIDE.isdisjoint(parameter.words)
    if asked.text[: span.start].endswith(", "):
        # The word before both of them is the cue for either.
        return 2.5 if is_wide else -0.5
    return -0.5 if is_wide and asked.text[span.end :].startswith(", ") else 0.0


def _is_other_kind(span: Span, parameter: Parameter, asked: Asked) -> bool:
    """Whether a text cannot be what the parameter takes: a city is no tracking code, a time no day."""
    if span.kind == "time":
        return not _DAYS.isdisjoint(parameter.words)
    if span.kind == "phrase" and parameter.role in {"from", "to"}:
        return _is_no_end(span, parameter, asked)
    is_plain = span.kind in {"name", "proper"} and not str(span.plain).isupper()
    if not is_plain or parameter.role != "id":
        return False
    # The postcode of a palace is not the palace.
    return asked.before(span.start, 1) == ["of"] or named_by(span, parameter, asked) < _NAMED


def _is_no_end(span: Span, parameter: Parameter, asked: Asked) -> bool:
    """Whether some words are not where something begins or ends, nor a unit that is changed."""
    if not _UNITS.isdisjoint(parameter.words):
        return False
    last = str(span.plain).split()[-1]
    if measure(last)[0] or currency(last):
        # 30 euros are no account; but they are what a plain "source" is.
        return not _ENDS.issuperset(parameter.words)
    # A word says so; or another does, as in "home to work".
    is_first = parameter.role == "from" and "to" in asked.behind(span.end, 1)
    return not is_first and _cue_fit(span, parameter, asked) <= 0.0


def _is_kind_of(span: Span, parameter: Parameter) -> bool:
    """Whether the span is of the kind that the parameter is named after: a kitchen is a room."""
    words = str(span.plain).lower().split()
    last = stem(words[-1].strip("."))
    if span.kind == "name":
        # Dr. Miller is a doctor.
        return words[0].endswith(".") and any(
            stem(words[0][:-1]) in kin_of(each) for each in parameter.words
        )
    return any(last == word or last in kinds_of(word) for word in parameter.words)


def _form_fit(span: Span, role: str) -> float:
    """The score of a value's form, for a role."""
    by_kind = _SHAPED.get(role)
    if by_kind is not None:
        return by_kind.get(span.kind, NO)
    others, by_role = _BY_KIND.get(span.kind, (NO, {}))
    return by_role.get(role, others)


def _cue_fit(span: Span, parameter: Parameter, asked: Asked) -> float:
    before = asked.before(span.start, 1)
    if not before:
        return 0.0
    cue, role = before[0], parameter.role
    if cue[0].isdigit() and (set(parameter.words) & _UNITS):
        return 2.0 if role == "from" or "from" in parameter.words else 0.5
    if cue in _SURE_CUES.get(role, ()):
        return 2.0
    if cue in _CUE_WORDS.get(role, ()):
        return 0.8
    if not role and cue in _APART:
        return 0.6
    if cue in _WHERE and role in {"title", "person", "topic"}:
        # Where somebody or something is from is not who or what it is.
        return -0.8
    # It belongs to another place: of two places, "from" is not the destination.
    opposite = {"from": "to", "to": "from"}.get(role)
    if opposite and cue in _SURE_CUES[opposite]:
        return -1.5
    return 0.0
