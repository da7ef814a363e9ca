"""Words that are no part of a value: function words, adverbs, and verbs behind their subject."""

import re

from rightcall.local.guided.wordlist import listed

HOLDING = frozenset(
    listed(
        """
    a about above after again ago all also am an and another any anyone anything are aren't around
    as at be because been before being below best between both but by can can't could currently did
    didn't do does doesn't doing don't during each every everyone for from further get gets getting
    give given gives go going got had has have he hello help her here hers hey hi him his how
    however i i'd i'll i'm i've if in into is isn't it it's its just kindly know let let's like
    likely look looking lot made make many may me might mine more most much must my need needs new
    no not now of off ok okay on once one only or other our out over own per please pls possible
    quick quickly quite really right same say says see shall she should show so some something soon
    still such take tell than thank thanks that that's the their them then there there's these they
    thing things this those through till to too toward towards under until up upon us use used using
    very via want wanted wants was we well were what what's whats when where where's which while who
    who's whom whose why will with within without won't would wondering yet you you'd your yours
    called named titled saying asking told anything someone somebody hear check find whether
    currently exactly actually able according based equal equals compute calculate determine given
    keep put set using have having long far big old tall high often next last previous left
    lost went still back finish finished done anything everything available spend spent
        happen happened cost costs name names
    found
    almost already although always anyway away early else enough even ever except however instead
    later maybe meanwhile nearly never otherwise perhaps rather since sometimes though together
    unless usually whatever whenever wherever kind sort
    """
    )
)
"""Function words, and words that only say that something is wanted."""
VAGUE = frozenset(
    listed(
        "list lists entry entries stuff time times day days week weeks month months year years bit way"
    )
)
"""Words that are no value by themselves: the list that something is put on, every day."""
_FINITE = frozenset(
    listed(
        """
    broke brought came does fell gave gets goes gone grew has held kept left lost made meant met paid
    ran said sold sent stood taken took went won
    """
    )
)
_PAST = re.compile(r"(?!\w*eed$|hundred$|moped$|infrared$|sacred$)[a-z]{3,}ed")
_NO_ADVERBS = frozenset(
    listed(
        """
    anomaly assembly belly bully butterfly costly curly daily deadly elderly family folly friendly
    gully holly hourly italy jelly jolly july lily lively lonely lovely monopoly monthly orderly rally
    reply silly supply telly ugly weekly yearly
    """
    )
)
_SHORTEST_ADVERB = 5


def is_function_word(word: str) -> bool:
    """Whether a word is no part of a value: a function word, or an adverb."""
    lower = word.lower()
    is_adverb = word.endswith("ly") and word.islower() and len(word) >= _SHORTEST_ADVERB
    return lower in HOLDING or (is_adverb and lower not in _NO_ADVERBS)


def is_finite(word: str) -> bool:
    """Whether a verb's form shows that the word before it is its subject or object: photos taken."""
    return word in _FINITE or _PAST.fullmatch(word) is not None
