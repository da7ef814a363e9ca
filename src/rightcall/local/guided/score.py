"""Ranks tools for a question by its words, and estimates whether the first one is meant.

The score adds up what the tool search finds, how many telling words are shared, what share of the
question they are, and how well its values fit the tool's parameters. Whether the first tool is meant at
all is a separate question: the more tools there are, and the more words they have, the more is shared by
chance. The weights were fitted to the questions that ``bench/README.md`` says were looked at, each also
offered with the tools of other sets, which do not fit it; and rounded.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from math import log, log1p

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.tool import Spec
from rightcall.declare.search import ToolIndex
from rightcall.declare.search_words import stem, terms
from rightcall.local.guided.copying import Copied, copied
from rightcall.local.guided.denial import said_of
from rightcall.local.guided.kin import changes, is_verb, is_weak, kin_of
from rightcall.local.guided.parameters import parameters_of
from rightcall.local.guided.spans import Asked
from rightcall.local.guided.talk import is_talk

MOST = 5
"""The most tools that a very small model can choose among."""
_KIN = 0.5
"""The weight of a synonym."""
_IMPLIED = 0.6
"""The weight of a phrase."""
_NEAR = 0.5
"""The lead in score over the next tool from which a tool is certainly meant."""
_WEAK = 0.25
_LONG, _ENDING = 6, 3
"""The fewest letters of words that may be equal except for their ending, and the ending's length."""
_SHAPES = frozenset(("path", "url", "email", "sum"))
"""Kinds of values whose form alone shows what kind of tool takes them."""
_FORMS = {"host": "url", "id": "code"} | {
    role: role for role in ("path", "url", "email", "sum", "date", "time")
}
"""By role: the kind of value whose form shows it."""
_SHAPE = 3.0
"""The weight of such a value for a tool that takes it."""
_LOOKED_INTO = 12
_STRONG = 2.8
"""The fit of a value whose form, or the words around it, show its parameter."""
_SOME = 0.4
"""The meaning of a value whose form shows its kind."""
_SAYS = 1.0
"""The least meaning of a sentence that is scored by itself: one telling word."""
_TENTH, _PART, _HALF = 0.1, 0.3, 0.5
"""Shares of a question."""
_ASKS = re.compile(
    r"\s*(?:what|which|when|where|who|whose|why|how|is|are|was|were|does|do|did|has|have)\b",
    re.IGNORECASE,
)
_WANTING = re.compile(r"\b(?:get|give|show|tell|want|need|know|look|help|let)s?\b", re.IGNORECASE)
"""Words that only say that something is wanted; many tools are named after them."""
_WANTED = re.compile(
    r"\W*(?:(?:please|kindly|hey|hi|ok)\W+)*(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?(\w+)",
    re.IGNORECASE,
)
"""The word for the requested action, if there is one."""
_WHY = re.compile(r"\W*why\b", re.IGNORECASE)
_REASONS = frozenset(map(stem, ("why", "reason", "cause", "explain", "explanation", "diagnose")))
"""Words of a tool that explains why something is so."""
_ENOUGH = 2.86
"""What a score must exceed, apart from what many tools and many words share by chance."""
_FEW_WORDS = 12
"""The number of a tool's words up to which no more is shared by chance."""


class Match(Struct, frozen=True):
    """A tool, with its evidence."""

    spec: Spec
    score: float
    """Its score for this question: what speaks for the tool, less what speaks against it."""
    said: float
    """How many of its telling words the question has: name and description, parameters, and synonyms
    less."""
    share: float
    """The share of the question's meaning that this covers, from 0 to 1."""
    copied: Copied
    """The arguments, as far as the question contains them."""
    is_undone: bool = False
    """Whether the question begins with an action that the tool has no word for."""
    evidence: float = 0.0
    """What is left of the score beside what is shared by chance; from 0 on, the tool is meant."""


def matches(question: str, specs: Sequence[Spec]) -> tuple[Match, ...]:
    """The tools that share words with a question, best first; at most ``MOST``."""
    index = ToolIndex([replace(spec, description=said_of(spec.description)[0]) for spec in specs])
    asked = Asked(question)
    scores: dict[str, float] = {}
    near = {each for word in asked.meant for each in kin_of(word)}
    kin = " ".join(sorted(near | asked.implied))
    telling = [word for word in asked.meant if not is_weak(word)]
    query = _WANTING.sub(" ", asked.bare) if telling else asked.bare
    for text, worth in ((query, 1.0), (kin, _KIN)):
        for spec, score in index.scored_tools(text, len(specs)) if text else ():
            scores[spec.name] = scores.get(spec.name, 0.0) + worth * score
    for spec in specs:
        # Included although it has no common word.
        if _takes_role(spec, {each.kind for each in asked.spans}):
            scores.setdefault(spec.name, 0.0)
    best = sorted((spec for spec in specs if spec.name in scores), key=lambda spec: -scores[spec.name])
    shaped = [spec for spec in best[_LOOKED_INTO:] if not scores[spec.name]]
    found = [_match(spec, scores[spec.name], asked) for spec in [*best[:_LOOKED_INTO], *shaped[:MOST]]]
    found = sorted(found, key=lambda match: -match.score)[:MOST]
    behind = [match.score for match in found[1:]] + [0.0]
    return tuple(
        [
            replace(match, evidence=_evidence(match, least, len(specs)) - is_talk(question))
            for match, least in zip(found, behind, strict=False)
        ]
    )


def is_clear(found: Sequence[Match]) -> bool:
    """Whether the first is meant, and no other."""
    if not found or not is_meant(found[0]):
        return False
    return not rivals(found)


def rivals(found: Sequence[Match]) -> tuple[Match, ...]:
    """The tools that may be meant instead of the first: about as good, with no more values missing."""
    best = found[0]
    return tuple(
        each
        for each in found[1:]
        if best.score - each.score < _NEAR and (best.copied.missing or not each.copied.missing)
    )


def is_meant(match: Match) -> bool:
    """Whether there is enough evidence to call a tool, or to ask for what it lacks."""
    if match.is_undone:
        return False
    if match.copied.missing:
        return match.said >= 1.0 and match.share >= _PART
    return match.evidence >= 0.0


def may_be_meant(match: Match) -> bool:
    """Whether to offer the tool to the model, which chooses one too readily.

    All its required values are in the question, and no value of the question is left over.
    """
    values = match.copied
    has_values = bool(values.given) or not parameters_of(match.spec)
    is_whole = has_values and not values.missing and not values.unused
    return is_whole and match.share >= _TENTH and not match.is_undone


def _evidence(match: Match, behind: float, count: int) -> float:
    """The evidence that a tool is meant, given the next tool's score, and how many tools there are.

    The best of many tools shares more with a question by chance than the best of few does, and so does a
    tool with many words.
    """
    lead = match.score - max(behind, 0.0)
    words = max(len(_worth(match.spec)), _FEW_WORDS)
    chance = 0.7 * log(max(count, MOST)) + log(words / _FEW_WORDS)
    return match.score + 0.4 * min(lead, 3.0) - chance - _ENOUGH


def _match(spec: Spec, found: float, asked: Asked) -> Match:
    values = copied(spec, asked)
    said, share = _shared(spec, asked, values)
    if values.shaped and not values.missing and not values.unused:
        # No value is left over, and none is missing.
        found, said = found + values.shaped, said + _SOME * values.shaped
    if _takes_shape(values, asked):
        found, said = found + _SHAPE, said + 1.0
        share = max(share, 0.5)
    against = 0.8 * (_acts(spec) and _ASKS.match(asked.text) is not None)
    score = log1p(found) + min(said, 5.0) + share + _fitting(spec, values, asked)
    against += _denied(spec, asked)
    return Match(spec, score - against, said, share, values, _is_undone(spec, asked))


def _fitting(spec: Spec, values: Copied, asked: Asked) -> float:
    """How well the question's values are those that the tool takes."""
    # A tool that needs nothing has all it needs, as one with a value that fits.
    needs = bool(spec.parameters.get("required"))
    return (
        max(0.5 * min(len(values.given), 3), 0.0 if needs else 1.2)
        + 0.4 * min(max(values.worth, -1.0), 4.0)
        # Among many tools, one or another shares words by chance, but has no place for a name.
        + 0.8 * _takes_names(values, asked)
        - 0.8 * min(values.unused, 2)
        - 1.5 * len(values.missing)
    )


def _takes_role(spec: Spec, kinds: Collection[str]) -> bool:
    """Whether the tool takes one of the values whose form shows their kind."""
    return any(_FORMS.get(each.role) in kinds for each in parameters_of(spec))


def _acts(spec: Spec) -> bool:
    return any(map(changes, [*terms(spec.name)[:1], *terms(spec.description)[:1]]))


def _is_undone(spec: Spec, asked: Asked) -> bool:
    if _WHY.match(asked.text):
        return not _REASONS & _worth(spec).keys()
    wanted = _WANTED.match(asked.text)
    verb = stem(wanted[1].casefold()) if wanted else ""
    if not changes(verb) or is_weak(verb):
        return False
    worth = _worth(spec)
    # A word that the question has beside its action does not stand for it: to reserve a table.
    others = {word: much for word, much in worth.items() if word == verb or word not in asked.meant}
    return not _met(verb, others)[1] and not asked.implied & worth.keys()


def _denied(spec: Spec, asked: Asked) -> int:
    """How many of the question's telling words only stand in what the tool is not for."""
    words = set(terms(said_of(spec.description)[1])).intersection(asked.meant)
    worth = _worth(spec) if words else {}
    return sum(not is_weak(word) and word not in worth for word in words)


def _takes_shape(values: Copied, asked: Asked) -> bool:
    """Whether the tool gets a value whose form shows its kind."""
    shaped = [each.plain for each in asked.spans if each.kind in _SHAPES]
    return (
        not values.missing
        and values.worth >= _STRONG
        and any(each in values.given.values() for each in shaped)
    )


def _shared(spec: Spec, asked: Asked, values: Copied) -> tuple[float, float]:
    """How much meaning the question and the tool share, and what share of the question that is."""
    worth = _worth(spec)
    copied_words = {word for value in values.given.values() for word in terms(str(value))}
    copied_words |= {word for span in asked.spans for word in terms(span.unit)}
    copied_words |= {
        word for span in asked.spans_for(()) if span.kind == "name" for word in terms(str(span.plain))
    }
    first = asked.meant[0] if asked.meant else ""
    weights: dict[str, float] = {}
    said: dict[str, tuple[str, float]] = {}
    for word in asked.meant:
        weight = _WEAK if is_weak(word) else 1.0
        met, own = _met(word, worth)
        if word == first and own and _does(spec, word):
            # The requested action comes first.
            weight = max(weight, _HALF)
        if own or word not in copied_words:
            # A value says nothing about the request.
            weights[word], said[word] = weight, (met, weight * own)
    for word in asked.implied & worth.keys():
        weights[word] = max(weights.get(word, 0.0), _IMPLIED * (_WEAK if is_weak(word) else 1.0))
        said[word] = (word, max(said.get(word, ("", 0.0))[1], weights[word] * worth[word]))
    whole, share = _share(weights, said, weights)
    is_all_values = sum(weights.values()) <= _WEAK and _takes_names(values, asked)
    if is_all_values and values.shaped and not values.missing:
        # The whole question is values, and they all have parameters here.
        return whole, 1.0
    # Other statements, in separate sentences, do not reduce the share.
    return whole, max([share, *(_share(weights, said, each)[1] for each in asked.sentences)])


def _takes_names(values: Copied, asked: Asked) -> bool:
    """Whether each name in the question is assigned to a parameter."""
    given = " ".join(str(value) for value in values.given.values())
    return all(str(each.plain) in given for each in asked.spans_for(()) if each.kind == "name")


def _share(
    weights: Mapping[str, float], said: Mapping[str, tuple[str, float]], words: Collection[str]
) -> tuple[float, float]:
    """How much of some words is a tool's, and what share of them that is."""
    by_met: dict[str, float] = {}
    for word in words:
        met, much = said.get(word, ("", 0.0))
        # Two words may be synonyms of the same third, which counts once.
        by_met[met] = max(by_met.get(met, 0.0), much)
    whole, about = sum(by_met.values()), sum(weights.get(word, 0.0) for word in words)
    # A sentence that says next to nothing is no measure.
    is_enough = about >= _SAYS or words is weights
    return whole, min(1.0, whole / about) if about and is_enough else 0.0


def _met(word: str, worth: Mapping[str, float]) -> tuple[str, float]:
    """The tool's word that equals a word, is its synonym, or begins like it; and its weight."""
    if word in worth:
        return word, worth[word]
    kin = max(sorted(kin_of(word)), key=lambda each: _through(each, worth), default="")
    if kin in worth:
        return kin, _KIN * _through(kin, worth)
    alike = [other for other in worth if _alike(word, other)]
    return (alike[0], worth[alike[0]]) if alike else (word, 0.0)


def _through(word: str, worth: Mapping[str, float]) -> float:
    return worth.get(word, 0.0) * (_WEAK if is_weak(word) else 1.0)


def _does(spec: Spec, word: str) -> bool:
    verb = next(iter(terms(spec.name)), "")
    return is_verb(verb) and (word == verb or verb in kin_of(word))


def _alike(word: str, other: str) -> bool:
    """Whether two words are equal except for their endings: discovered, discoverer."""
    same = min(len(word), len(other))
    return (
        same >= _LONG
        and word[: same - 1] == other[: same - 1]
        and abs(len(word) - len(other)) <= _ENDING
    )


def _worth(spec: Spec) -> Mapping[str, float]:
    """The weight of each of a tool's words."""
    worth: dict[str, float] = {}
    fields = [
        (0.6, " ".join(str(value) for each in parameters_of(spec) for value in each.values)),
        (0.5, " ".join(" ".join(each.hints) for each in parameters_of(spec))),
        (0.7, " ".join(" ".join(each.words) for each in parameters_of(spec))),
        (1.0, " ".join([said_of(spec.description)[0], spec.short, *spec.questions])),
        (1.5, spec.name),
    ]
    for weight, text in fields:
        for word in terms(text):
            worth[word] = max(worth.get(word, 0.0), weight)
    return worth
