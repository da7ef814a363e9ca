"""Finds the words of a sentence that forbid or exclude, each with how far it reaches.

A statement about what was not so ("I haven't paid yet") forbids nothing, nor does an exclusion that is
itself forbidden ("don't leave her out"). In doubt, it is forbidden.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from rightcall.trust.words.spelling import folded

Reach: TypeAlias = Literal["sentence", "clause", "object", "rest", "before", "itself"]
"""How far a negation reaches: to both sides (``never``), over its clause (``make sure … doesn't``), to
the object that follows (``skip``), to what follows (``except``), to what is before (``… is banned``), or
no further than its own words (``keep … out``)."""


def _any(*patterns: str, words: str = "") -> str:
    """A pattern for any of some patterns, and of some words that are written as one text."""
    return f"(?:{'|'.join((*patterns, *words.split()))})"


_N_T = r"n['\u2019]t"
_NOT = _any("not", "never", f"[a-z]+{_N_T}")
LETTER = _any(
    words="e-?mails? mails? messages? letters? notes? copy copies cc bcc list thread loop recipients? "
    "invitations? distribution group chat conversation meeting event party rota"
)
"""What somebody may be left out of."""
_NOUN = r"(?:(?!(?:to|for|with|from|that|if|when|in|on|and|or)\b)\S+\s+){1,6}?"
_NO_VERB = r"(?:(?!(?:to|for|with|is|are|was|were|has|have|as|because)\b)[a-z'-]+\s+)"
_SAME_CLAUSE = (
    r"(?:(?!\b(?:as|because|since|why|if|when|where|who|which|so|and|but)\b)(?:[^,.;]|\.(?=\w))){0,80}?"
)
_ENDING = (
    r"(?:stop(?:ped|ping)?|quit|ceased?|halt|suspend|break off|cut off)\s+(?:(?:all|any|the)\s+)?"
    r"(?:[a-z]+ing|contact|correspondence|communication)"
)
_LEAVING = _any(
    *("leav(?:e|ing) out", "pass(?:ing)? over", "rul(?:e|ing) out", "filter(?:ing)? out", "never mind"),
    _ENDING,
    words="omit(?:ting)? skip(?:ping)? exclud(?:e|ing) ignor(?:e|ing) avoid(?:ing)? bypass(?:ing)? "
    "spar(?:e|ing) uninvit(?:e|ing) disinvit(?:e|ing) shun(?:ning)? refus(?:e|ing) forbid(?:ding)? "
    "prohibit beware",
)
_NO_ORDER = (
    r"(?!\s+(?:(?:my|our|the|this|that)\s+)?(?:\w+\s+)?(?:order|booking|reservation|subscription)s?\b"
    r"(?!\s+(?:confirm|number|detail)|[^.;,]{0,40}\b(?:from|out of|off)\b))"
)
"""After "drop": nothing that is cancelled by that, and left out of nothing."""
_DROPPING = _any(
    r"drop(?:ping)?\b(?!\s+(?:by|in|into|off|over|everything)\b)(?!\s+\S+(?:\s+\S+)?\s+an?\b)"
    rf"{_NO_ORDER}",
    rf"(?<!not )(?<!{_N_T} )(?<!never )(?<!you )(?<!\bi )(?<!to )forget\b(?:\s+about\b)?"
    r"(?!\s+(?:it|that|this|to)\b)",
)
_KEEPING_OUT = _any(
    rf"(?:leav|keep|cut|count|cross|writ)(?:e|ing)?\s+{_NOUN}(?:out|off|aside)",
    rf"(?:keep|leav)(?:e|ing)?\s+{_NOUN}(?:in the dark|unaware|uninformed|alone|away)",
    rf"(?:strik|scratch|tak|cut|drop)(?:e|ing)?\s+{_NOUN}(?:from|off|out of)\s+"
    rf"(?:(?:the|my|our|this|that|your|all)\s+)?(?:{LETTER}|it|this|here)",
)
_EXCEPT = _any(
    *(
        r"except(?:ing)?(?! that\b)",
        "other than",
        "instead of",
        "rather than",
        "apart from",
        "aside from",
    ),
    *("with the exception of", "short of", "not counting", "besides(?!,)", r"bar(?=\s+\S*@)"),
    rf"(?:all|each|(?:any|every)(?:one|body|thing)?),?\s+{_NO_VERB}{{0,4}}?(?:save|bar)(?:\s+for)?",
    *("(?:any|every)(?:one|body|thing) but", "all but"),
    words="excluding without w/o neither nor barring minus außer ausser ohne weder anstatt sauf hormis "
    "excepté sans excepto salvo tranne eccetto behalve zonder exceto",
)
_ALL_BUT = rf"(?:all|each|any|every|(?:any|every)(?:one|body)|whole|entire|rest)\s+{_NO_VERB}{{1,4}}?but"
_UNWISE = _any(
    "bad idea",
    words="mistake wrong unwise foolish dangerous risky inappropriate disaster unfair illegal error "
    "improper reckless stupid",
)
_AGAINST = _any(
    rf"{_UNWISE}\s+(?:to|if|for|that)\b(?!\s+not\b)",
    r"(?:hate|dread)\s+(?:for|it if|to see|to have)",
    *(r"no need\s+(?:to|for)", "hold(?:ing)? (?:off|back)", "hands off", "steer clear of"),
    *(r"(?:stay|keep) (?:\w+ )?(?:away|clear) (?:from|of)", "behind the back of", r"no(?=\s+\S+@)"),
    r"(?:hid(?:e|ing)|conceal(?:ing)?|withhold(?:ing)?|shield|protect)\s+(?:\S+\s+){1,6}?from",
    r"keep(?:ing)?\s+(?:it|this|that|them|these|those|everything|(?:the|my|our)\s+\w+)\s+(?:\w+\s+)?from",
)
_BANNED = _any(
    *("off[- ]limits", "in the dark", "(?:left|kept) out"),
    "(?:be|is|are|been|being|gets?|stays?) "
    + _any(
        *("(?:left|kept|cut|ruled) (?:out|off|alone)", "off the [a-z]+"),
        words="skipped omitted ignored avoided bypassed uninvited disinvited",
    ),
    *(r"nothing(?=\W*\Z)", rf"(?!don)[a-z]+{_N_T}(?=\W*\Z)"),
    words="banned barred excluded excepted blacklisted blocklisted forbidden prohibited unwelcome "
    "ausgenommen",
)
_WISHING = (
    _any(
        *(
            "make (?:sure|certain)",
            "see (?:to it|that)",
            "be (?:sure|careful)",
            "take care",
            "watch out",
        ),
        r"(?:i|we)(?:['\u2019]d| would)? (?:much )?(?:rather|prefer|wish|hope)",
        r"it(?:['\u2019]s| is|['\u2019]d be| would be) "
        r"(?:best|better|important|vital|crucial|essential)(?: if)?",
        words="ensure guarantee",
    )
    + rf"\b{_SAME_CLAUSE}\b(?:{_NOT}|nothing|nobody|no[- ]one)"
)
_HARDLY = _any(
    rf"(?:do|does|did|would)(?:{_N_T}| not) (?:think|believe|feel|suppose|reckon|find){_SAME_CLAUSE}"
    r"\b(?:should|ought|must|may|needs?|has to|deserves?)",
    rf"(?:do|does)(?:{_N_T}| not) (?:need|have) to",
    rf"the last (?:person|one|man|woman|people) (?:who|that|i|we|to)\b{_SAME_CLAUSE}"
    r"\b(?:should|would|want|see|know|get|hear|tell|learn)",
    rf"(?:any|every)(?:one|body) who (?:is|are)(?:{_N_T}| not)",
    rf"(?:i|we)(?:['\u2019]d| would)(?:{_N_T}| not)",
)
_FORBIDDING = _any(
    *("no[- ]one", r"no longer(?! (?:than|needed|required|necessary|available|valid)\b)", "non(?!-)"),
    *(r"(?:do|wo|ca|must|should)n['\u2019]?t", r"(?:is|are)n['\u2019]?t (?:to|allowed|supposed|meant)"),
    *("nothing (?:goes|to|for|may|must|should|reaches)", "(?:hear|know|get|learn|receive)s? nothing"),
    r"does(?:n['\u2019]?t| not) (?:get|receive)\s+(?:it|them|this|that|these|anything|an?|the|my|our)",
    *("no (?:word|business)", "(?:under|on|by|in) no", r"no (?:l[eoa]s?|env\w+|escrib\w+|mandes?)"),
    r"no (?:\w+ )?(?:e-?mails?|mails?|messages?|invitations?|payments?|money|transfers?|cop(?:y|ies)"
    r"|contact)",
    words="tampoco inte aldrig ikke \u043d\u0435 \u043d\u0438\u043a\u043e\u0433\u0434\u0430 "
    "never not cannot nobody refrain nicht niemals nie keine?[mnrs]? auslassen weglassen "
    "ausschließen überspringen raushalten pas jamais aucune? nunca jamás ningun[oa]? ningún niente "
    "nessuno não niet nooit geen weglaten overslaan",
)
_WAYS: tuple[tuple[Reach | None, str], ...] = (
    (None, rf"{_NOT}\s+(?:you\s+)?(?:{_LEAVING}|{_KEEPING_OUT}|drop{_NO_ORDER})"),
    ("sentence", _HARDLY),
    ("clause", _WISHING),
    ("rest", f"(?:{_AGAINST}|{_EXCEPT})"),
    ("rest", _ALL_BUT),
    ("itself", _KEEPING_OUT),
    ("object", f"(?:{_LEAVING}|{_DROPPING})"),
    ("before", _BANNED),
    ("sentence", _FORBIDDING),
)
"""The first that fits at a place counts. What is wanted after all keeps its words from the others."""
NEGATED = re.compile("|".join(rf"\b(?P<way{at}>{each})\b" for at, (_, each) in enumerate(_WAYS)))
"""Words that may forbid, in ``folded`` text."""
_FARTHEST = 120
"""Characters before a negation that are looked at, at most."""
_TOLD = re.compile(
    r"(?:\b(?:did|does|was|were|has|have|had|is|are|am)|['\u2019](?:m|re|(?<!let.)s))\s+not\Z"
    r"|\b(?:i|we|he|she|it|they|you|who)(?:['\u2019]ve| have| has| had)? never\Z",
)
_STILL = re.compile(r"\s+(?:to|allowed|supposed|meant|comfortable|welcome)\b")
_PAST = re.compile(
    r"\s+(?:[a-z]+ed|got|had|heard|was|were|saw|knew|came|went|did|sent|wrote|told|been)\b"
)
_HARMLESS = re.compile(
    r"\s+(?:(?:want|wish|like|prefer) to (?:mention|reveal|say|tell|share|disclose|provide|speak|repeat)"
    r"|only|sure|yet|hesitate|worry|know|remember|have|need|think|see|understand|exist|nur"
    r"|care|mind|matter)\b"
)
_DOUBLED = re.compile(
    r"\s+(?:to\s+)?(?:forget|miss|overlook|lose|fail|neglect|too|mind|hurt|harm|object|regret)\b"
)
"""A negation of these is a wish."""
_AT_MOST = re.compile(r"\s+(?:cost|exceed|be|go)\s+(?:(?:more|higher|dearer)\s+than|over|above)\b")
"""A limit ("it must not cost more than 30") forbids nothing that keeps to it."""
_MUST = re.compile(
    r"\b(?:must|should|may|shall)\s*(?:n['\u2019]?t|not|never)\Z"
    r"|(?<!\bi )(?<!\bwe )(?<!you )\b(?:can['\u2019]?t|cannot|won['\u2019]?t)\Z"
)
_ASKED = re.compile(
    r"\bwhy\s+not\Z|\b(?:can|won)['\u2019]?t\Z|\b(?:shame|pity|wrong|rude|mistake|unwise|unfair)\s+not\Z"
)
_HAVING = re.compile(
    r"\b(?:have|has|had|got|get|there(?:['\u2019]s| is| are| was| were)|see|saw|find|found|is|was)\s+\Z"
)
_NO_LETTER = re.compile(r"no (?!word|business|longer)")
_OR_NOT = re.compile(r"\bor\s+not\Z")
_QUOTED = re.compile(r"(['\"])(?:not|non|no|without)\b[^'\".!?]{1,30}\1(?=\s*[,})\]])")
"""A value in a list of values: ``'not resistant'``."""
_YOU = re.compile(r"\s+you\b")
_DESCRIBED = re.compile(
    r"\b(?:that|which|who)\s+(?:is|are|was|were)\s[^,;.]{0,60}?\b(?:yet|but|and|though)\s+not\Z"
)
"""What something is and is not: "the one that is large yet not heavy"."""
_RELATIVE = re.compile(r"\b(?:that|which|who)\s+\Z")
_NOBODY_DID = re.compile(r"\s+(?:has|have|had)\s+(?!to\b)")
_WAS = re.compile(r"\b(?:was|were|had been|did)\s[^,;]*\Z")
_SOMEBODY = re.compile(r"\s+[\"'(<]*(?:[A-Z][\w'-]+|\S*@\S|[A-Za-z]{2}\d\d)")


class Negation(Struct, frozen=True):
    """Words that forbid, where they stand in a sentence."""

    start: int
    end: int
    reach: Reach
    text: str
    """In lower case."""


def negations(sentence: str) -> Iterator[Negation]:
    """The words of a sentence that forbid something, in order."""
    low = folded(sentence)
    for found in NEGATED.finditer(low):
        reach, pattern = _WAYS[int((found.lastgroup or "way0").removeprefix("way"))]
        if reach is not None and not _is_harmless(pattern, sentence, low, found):
            yield Negation(found.start(), found.end(), reach, found[0])


def _is_harmless(pattern: str, sentence: str, low: str, found: re.Match[str]) -> bool:
    if pattern is _FORBIDDING or pattern is _WISHING or pattern is _HARDLY:
        is_wish = _DOUBLED.match(low, found.end()) is not None
        return is_wish or (pattern is _FORBIDDING and _only_tells(low, found))
    if pattern is _ALL_BUT:
        return _SOMEBODY.match(sentence, found.end()) is None
    return pattern is _BANNED and _before(_WAS, low, found.start()) is not None


def _before(pattern: re.Pattern[str], low: str, end: int) -> re.Match[str] | None:
    """What stands directly before a place. A search from the start would take long in a long text."""
    return pattern.search(low, max(end - _FARTHEST, 0), end)


def _only_tells(low: str, found: re.Match[str]) -> bool:
    """Whether a "not" or a "never" only tells, asks, or describes."""
    start, end = found.span()
    if _before(_OR_NOT, low, end) and not low[end:].strip(" .!?"):
        return True
    if (
        _QUOTED.match(low, max(start - 1, 0))
        or _before(_DESCRIBED, low, end)
        or _AT_MOST.match(low, end)
    ):
        return True
    if _HARMLESS.match(low, end):
        return _before(_MUST, low, end) is None
    if (asked := _before(_ASKED, low, end)) is not None:
        return asked[0][:3] not in ("can", "won") or _YOU.match(low, end) is not None
    if _NO_LETTER.match(found[0]) and _before(_HAVING, low, start):
        return True
    if found[0] in ("nobody", "no one", "no-one"):
        did = _PAST.match(low, end) or _NOBODY_DID.match(low, end)
        return did is not None or _before(_RELATIVE, low, start) is not None
    told = _before(_TOLD, low, end)
    if told is None:
        return False
    return (
        _PAST.match(low, end) is not None
        if told[0].endswith("never")
        else _STILL.match(low, end) is None
    )
