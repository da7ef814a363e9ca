"""Compares calls with the intents that were stated for a task, and counts what was done of them.

An intent binds its fields together: 50 to AA and 30 to BB is not 80 to AA. What a call uses up is
counted when it starts, across the run, the runs inside it and its resumptions: the counts follow from
the transcript, and from what the results of inner runs say was used in them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rightcall.core.decision import Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonObject, JsonValue, Place, is_key, leaves
from rightcall.core.tool import Tool
from rightcall.trust import kinds
from rightcall.trust.accounts import accounts
from rightcall.trust.characters import plain
from rightcall.trust.evidence import ToolKnowledge, evidence_at, is_blank
from rightcall.trust.facts import ResolvedFacts
from rightcall.trust.intents import (
    AtMost,
    Day,
    Delegation,
    Found,
    Free,
    Intent,
    Like,
    Mentioned,
    ObjectOf,
    OneOf,
    ResultOf,
    Value,
    read_intents,
)
from rightcall.trust.references import (
    as_text,
    is_mentioned,
    mentioned_in,
    references_of,
    top_references,
    words_for,
)
from rightcall.trust.spelling import active, is_same, listed_parts, looks_like, spell
from rightcall.trust.tally import Tally, Use
from rightcall.trust.task_intents import (
    OUTSIDE,
    SYSTEM,
    TYPED,
    Candidate,
    ReferenceGrade,
    Resolution,
    TaskIntents,
)
from rightcall.trust.typed_values import TypedValues

_GAP = "{}"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST_GAP = 500
_HARMS: Mapping[Kind | None, str] = {"web": "a link", "address": "an address"}
MOST_SHOWN = 20
"""Values in one question, at most."""
_MENTIONABLE: tuple[Kind, ...] = ("account", "address", "web", "amount", "date")


class IntentMatch(Struct, frozen=True, kw_only=True):
    """An intent that a call fits, and what the call uses up of it."""

    number: int
    uses: tuple[Use, ...]
    asked: tuple[Evidence, ...] = ()
    """The values that outsiders write or choose, or that a model made up: a person is asked once."""


class Misfit(Struct, frozen=True, kw_only=True):
    """Why a call fits no intent, by the one that it comes closest to."""

    reason: str
    evidence: tuple[Evidence, ...] = ()
    is_delegated: bool = False
    spent: str = ""
    """The count that is used up: a person who says no to more of it is not asked again."""


class IntentBook:
    """The intents of one task, and what has been done of them."""

    def __init__(self, task: TaskIntents, typed: TypedValues, tally: Tally) -> None:
        self.task = task
        self._typed = typed
        self._tally = tally
        stated = read_intents(task.stated)
        self.intents: list[Intent] = [each for each in stated if isinstance(each, Intent)]
        self.delegations: list[Delegation] = [each for each in stated if isinstance(each, Delegation)]
        self._by_tool: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}
        for number, intent in enumerate(self.intents):
            self._by_tool.setdefault(intent.tool, []).append(number)
            if intent.label:
                self._numbers[intent.label] = number
        self._resolved: dict[int, Resolution] = {}
        self._stated: set[str] = set()
        self._own_results: dict[str, list[Candidate]] = {}
        """By label and field: what own acts have returned."""
        given = iter(task.resolutions or ())
        for reference in top_references(stated):
            self._resolved[id(reference)] = next(given, Resolution())
        self.ambiguous: list[str] = []
        """Of which references it is not stated which of several values is meant."""
        for intent in self.intents:
            self._note_ambiguous(intent)
        self._note_exact()

    def _note_ambiguous(self, intent: Intent) -> None:
        """Let a person be asked where a reference gives more values than the intent has calls."""
        if intent.each:
            return
        for name, value in intent.values.items():
            for reference in references_of(value):
                known = self._resolved[id(reference)]
                number = len({spell(as_text(each.value)) for each in known.candidates})
                if number <= (intent.times or 1):
                    continue
                graded = [replace(each, grade=OUTSIDE) for each in known.candidates]
                self._resolved[id(reference)] = replace(known, candidates=tuple(graded))
                if all(each.grade == OUTSIDE for each in known.candidates):
                    continue
                self.ambiguous.append(
                    f"{intent.tool}.{name}: {words_for(reference)} gave {number} values, and it is not "
                    "stated which is meant: narrow it with where or pick, or say times= or each="
                )

    def _note_exact(self) -> None:
        """Note what was stated: it may stand in a content."""
        for resolution in self._resolved.values():
            for candidate in resolution.candidates:
                if isinstance(candidate.value, str) and candidate.grade < OUTSIDE:
                    self._stated.add(spell(candidate.value))
        for intent in self.intents:
            for value in intent.values.values():
                for text in _exact_texts(value):
                    self._stated.add(spell(text))
                    self._stated.update((*active(text), *accounts(text)))

    def is_stated(self, text: str) -> bool:
        """Whether a link, an address or an account was stated."""
        return spell(text) in self._stated or text in self._stated

    def is_bound(self, value: Value) -> bool:
        """Whether a stated value says all that may stand in a parameter."""
        match value:
            case None | Free() | Like():
                return False
            case OneOf(values):
                return all(map(self.is_bound, values))
            case _:
                return True

    def covers(self, tool: str) -> bool:
        """Whether an intent names a tool."""
        return tool in self._by_tool

    def note_result(self, number: int, document: JsonValue, knowledge: ToolKnowledge) -> None:
        """Note what an own act returned, for the intents that refer to it."""
        label = self.intents[number].label
        if not label:
            return
        facts = knowledge.facts
        for place, text in leaves(document):
            if is_key(place):
                continue
            steps = [step for step in place if isinstance(step, str)]
            name = ".".join(steps)
            is_theirs = facts.untrusted is True
            if name:
                is_theirs = is_theirs or facts.is_outsiders(name) or facts.is_identity(name)
            grade: ReferenceGrade = OUTSIDE if is_theirs else SYSTEM
            candidate = Candidate(text, grade, f"{knowledge.tool.name}.{name}".rstrip("."))
            for start in range(len(steps) + 1):
                field = ".".join(steps[start:])
                self._own_results.setdefault(f"{label}\n{field}", []).append(candidate)
        self._own_results.setdefault(f"{label}\n", [])

    # Matching.

    def match(
        self, arguments: JsonObject, knowledge: ToolKnowledge, call_id: str = ""
    ) -> IntentMatch | Misfit:
        """The intent that a call fits; or why it fits none. ``call_id``: what it reserved is its own."""
        name = knowledge.tool.name
        fitting: list[IntentMatch] = []
        misfits: list[tuple[int, Misfit]] = []
        for number in self._by_tool.get(name, ()):
            found = self._compare(number, arguments, knowledge)
            if isinstance(found, Misfit):
                misfits.append((len(found.evidence), found))
                continue
            spent, count = self._exceeded(found, call_id)
            if spent:
                # Whoever may not do it again comes closer than whoever may not do it at all.
                misfits.append((0, Misfit(reason=spent, spent=f"{name} {count}")))
            else:
                fitting.append(found)
        if fitting:
            return min(fitting, key=lambda each: len(each.asked))
        is_delegated = bool(self.delegations)
        if misfits:
            closest = min(misfits, key=lambda each: each[0])[1]
            return replace(closest, is_delegated=is_delegated)
        reason = f"no intent states {name}"
        if is_delegated:
            reason += "; the request leaves it to a text what is done"
        return Misfit(reason=reason, is_delegated=is_delegated)

    def _root(self, number: int) -> int:
        """The intent whose count an intent shares."""
        instead = self.intents[number].instead_of
        return self._numbers[instead] if instead else number

    def _exceeded(self, match: IntentMatch, call_id: str) -> tuple[str, str]:
        """Why a call may not be done again, and the count that says so; empty if it may."""
        intent = self.intents[match.number]
        for name, amount in match.uses:
            limit = self._limit(name, intent)
            if limit is None:
                continue
            used = self._tally.used(name, but=call_id)
            if used + amount > limit + 1e-9:
                if "/sum/" in name:
                    words = f"{_number(used)} of the {_number(limit)} that were stated are spent already"
                elif "/each/" in name:
                    words = (
                        f"{intent.tool} was stated once for each {intent.each}, and is done for this one"
                    )
                else:
                    times = f"{limit:.0f} times" if limit > 1 else "once"
                    words = f"{intent.tool} was stated {times}, and that is used up"
                return words, name
        return "", ""

    def _limit(self, name: str, fitting: Intent) -> float | None:
        """How much there is of a count. ``fitting``: the intent that a call fits, whose bound counts."""
        first, head, *more = name.split("/", 2)
        if first != "i":
            return None
        intent = self.intents[int(head)]
        rest = more[0] if more else ""
        if rest.startswith("each/"):
            return 1
        if rest.startswith("sum/"):
            for path, bound in _bounds_in(fitting.values):
                if rest.startswith(f"sum/{path}/"):
                    return max([limit for limit, _ in self._bounds(bound)], default=0)
            return 0
        if intent.times is None:
            return None if intent.each else 1
        return intent.times

    def _compare(
        self, number: int, arguments: JsonObject, knowledge: ToolKnowledge
    ) -> IntentMatch | Misfit:
        """Whether a call fits one intent, and what it would use up."""
        intent = self.intents[number]
        facts = knowledge.facts
        wrong: list[tuple[Evidence, str]] = []
        asked: list[Evidence] = []
        root = self._root(number)
        uses: list[Use] = [(f"i/{root}", 1), (f"m/{number}", 1)]
        for name, value in intent.values.items():
            given = arguments.get(name)
            if name not in arguments:
                if not self._is_default(value, name, knowledge):
                    seen = evidence_at((name,), "", "nowhere")
                    wrong.append((seen, f"{name} is stated, and left out"))
                continue
            is_open = self.task.by == "model" and name in facts.targets and not self.is_bound(value)
            for place, leaf, fitted in self._fit_argument(value, given, name, knowledge):
                found = fitted
                if found is not None and is_open:
                    # A model may leave a text open, and nobody to whom it goes.
                    found = replace(found, grade=OUTSIDE)
                if found is None:
                    wrong.append(
                        (evidence_at(place, as_text(leaf), "nowhere"), self._told(name, value, leaf))
                    )
                elif found.grade == OUTSIDE:
                    origin: Origin = "untrusted" if found.source else "nowhere"
                    asked.append(evidence_at(place, as_text(leaf), origin, found.source))
        goals: list[str] = []
        if intent.each and intent.each in arguments:
            for _, leaf in _plain_leaves(arguments[intent.each], intent.each, knowledge):
                goals += map(spell, _parts(leaf))
        uses += [(f"i/{root}/each/{goal}", 1) for goal in goals]
        for name, _ in _bounds_in(intent.values):
            amount = sum(_numbers_in(_member_of(arguments, name)))
            # With ``each``, the sum to each of its values; or else of all calls, to whomever.
            uses += [(f"i/{root}/sum/{name}/{goal}", amount) for goal in goals or [""]]
        for name, argument in arguments.items():
            if name not in intent.values:
                wrong += self._unstated(name, argument, knowledge)
        for name in facts.targets:
            if (
                name in knowledge.required
                and name not in intent.values
                and is_blank(arguments.get(name))
            ):
                wrong.append((evidence_at((name,), "", "nowhere"), f"{name} is blank"))
        if wrong:
            return Misfit(
                reason="; ".join(dict.fromkeys([words for _, words in wrong][:3])),
                evidence=tuple([seen for seen, _ in wrong]),
            )
        return IntentMatch(number=number, uses=tuple(uses), asked=tuple(asked))

    def _unstated(
        self, name: str, value: JsonValue, knowledge: ToolKnowledge
    ) -> Iterator[tuple[Evidence, str]]:
        """What may not stand in a parameter that the intent does not state."""
        facts = knowledge.facts
        if is_blank(value) or is_same_as_default(value, name, knowledge):
            return
        if name in facts.bounded and moves_money(knowledge.tool):
            # That a number was typed somewhere says nothing about how much may be paid.
            yield evidence_at((name,), as_text(value), "nowhere"), _state_amount(name)
            return
        if name in facts.targets or name not in facts.parameters:
            for place, leaf in leaves(value, (name,)):
                if not is_key(place):
                    yield (
                        evidence_at(place, leaf, "nowhere"),
                        f"{name} is not stated, so it must be blank",
                    )
            return
        if name in facts.widens or name in facts.flags or kinds.is_widening_flag(name):
            for text in _texts(value):
                if text.casefold() in ("false", "0"):
                    continue
                choices = facts.widens.get(name)
                is_wide = not choices or text in choices or kinds.is_widening(text)
                if is_wide:
                    yield (
                        evidence_at((name,), text, "nowhere"),
                        f"{name} gives more access, and is not stated",
                    )
        for place, leaf in leaves(value, (name,)):
            if not is_key(place) and facts.is_amount(place) and not self._typed.is_typed(leaf, "amount"):
                yield evidence_at(place, leaf, "nowhere"), f"{name} is an amount, and is not stated"

    def _is_default(self, value: Value, name: str, knowledge: ToolKnowledge) -> bool:
        """Whether a stated value may be left out."""
        if isinstance(value, Free) or value is None or value is False or value == "":
            return True
        if isinstance(value, str | int | float):
            return is_same_as_default(value, name, knowledge)
        return False

    def _fit_argument(
        self, value: Value, given: JsonValue, name: str, knowledge: ToolKnowledge
    ) -> Iterator[tuple[Place, JsonValue, Candidate | None]]:
        """Each plain value of an argument, with what it fits."""
        objects = _objects_in(value)
        if not objects:
            for place, leaf in _plain_leaves(given, name, knowledge):
                yield place, leaf, self._fit(value, leaf, place, knowledge)
            return
        members = self._fit_objects(objects, given, name, knowledge)
        if members is None:
            yield (name,), given, None
        for place, member in members or ():
            yield place, member.value, member

    def _fit_objects(
        self, objects: Sequence[ObjectOf], given: JsonValue, name: str, knowledge: ToolKnowledge
    ) -> list[tuple[Place, Candidate]] | None:
        """Every object of an argument, each as a whole; None if one of them was not stated."""
        found: list[tuple[Place, Candidate]] = []
        for at, each in enumerate(given if isinstance(given, list | tuple) else [given]):
            fitting: list[list[tuple[Place, Candidate]]] = []
            for one in objects:
                members = self._fit_object(one, each, (name, at), knowledge)
                if members is not None:
                    fitting.append(members)
            if not fitting:
                return None
            best = min(fitting, key=_worst_grade)
            found += best
        return found

    def _fit_object(
        self, stated: ObjectOf, given: JsonValue, at: Place, knowledge: ToolKnowledge
    ) -> list[tuple[Place, Candidate]] | None:
        if not isinstance(given, dict):
            return None
        found: list[tuple[Place, Candidate]] = []
        for name, leaf in given.items():
            if name not in stated.members or isinstance(leaf, dict | list):
                if is_blank(leaf):
                    continue
                return None
            member = self._fit(stated.members[name], leaf, (*at, name), knowledge)
            if member is None:
                return None
            found.append(((*at, name), member))
        return found

    def _fit(
        self, value: Value, leaf: JsonValue, place: Place, knowledge: ToolKnowledge
    ) -> Candidate | None:
        """Whether a plain value is one that was stated; with who could have written it."""
        kind = knowledge.kind_of_value(place, as_text(leaf))
        if isinstance(value, Mentioned):
            # The parameter says what it takes: a link is no mail address, whoever mentions it.
            meant = knowledge.kind_at(place)
            if meant is not None and looks_like(plain(as_text(leaf))) not in (None, meant):
                return None
            kind = meant or kind
        whole = self._fit_one(value, leaf, kind)
        if whole is not None or not isinstance(leaf, str):
            return whole
        parts = listed_parts(leaf)
        if len(parts) < 2:  # noqa: PLR2004 - one value is no list
            return None
        worst: Candidate | None = None
        for part in parts:
            found = self._fit_one(value, part, kind)
            if found is None:
                return None
            if worst is None or found.grade > worst.grade:
                worst = found
        return worst

    def _fit_one(self, value: Value, leaf: JsonValue, kind: Kind | None) -> Candidate | None:
        match value:
            case None | bool() | str() | int() | float():
                if not is_same(value, leaf):
                    return None
                return Candidate(leaf, self._exact_grade(value, kind))
            case OneOf(values):
                found = [self._fit_one(each, leaf, kind) for each in values]
                return min(filter(None, found), key=lambda each: each.grade, default=None)
            case Day(date):
                text = plain(as_text(leaf)).strip()
                if re.fullmatch(rf"{date}(?!\d)(?:[T ].{{0,40}})?", text) is None:
                    return None
                return Candidate(leaf, self._exact_grade(date, "date"))
            case Like(text):
                if not isinstance(leaf, str) or _template(text).fullmatch(leaf) is None:
                    return None
                return Candidate(leaf, TYPED) if self._is_harmless(leaf) else None
            case Free():
                return Candidate(leaf, TYPED) if self._is_harmless(leaf) else None
            case AtMost():
                return self._fit_bound(value, leaf)
            case Found():
                for candidate in self._resolved.get(id(value), Resolution()).candidates:
                    if is_same(candidate.value, leaf):
                        return candidate
                return None
            case Mentioned() | ResultOf():
                return self._fit_text(value, leaf, kind)
            case ObjectOf():
                # Objects are compared as a whole.
                return None

    def _harm_in(self, leaf: JsonValue) -> str:
        """What in a free value was neither typed nor stated: its kind, as a model reads these words."""
        text = as_text(leaf)
        for token in (*active(text), *accounts(text)):
            kind = looks_like(token)
            if not self.is_stated(token) and not self._typed.is_typed(token, kind):
                return _HARMS.get(kind, "an account")
        return "what is"

    def _is_harmless(self, leaf: JsonValue) -> bool:
        """Whether every link, address and account in a free value was typed or stated."""
        if self.task.by == "model":
            # What a model leaves open is asked about, whatever stands in it.
            return True
        text = as_text(leaf)
        for token in (*active(text), *accounts(text)):
            if not self.is_stated(token) and not self._typed.is_typed(token, looks_like(token)):
                return False
        return True

    def _fit_text(
        self, value: Mentioned | ResultOf, leaf: JsonValue, kind: Kind | None
    ) -> Candidate | None:
        if isinstance(value, ResultOf):
            for candidate in self._own_results.get(f"{value.intent}\n{value.field}", ()):
                if is_same(candidate.value, leaf) or as_text(leaf) == candidate.value:
                    return candidate
            return None
        for candidate in self._resolved.get(id(value.text), Resolution()).candidates:
            if is_mentioned(as_text(candidate.value), as_text(leaf), kind):
                return replace(candidate, value=leaf)
        return None

    def _exact_grade(self, value: JsonValue, kind: Kind | None) -> ReferenceGrade:
        """The grade of a value that was stated as it is: a model may have made it up."""
        if (
            self.task.by != "model"
            or not isinstance(value, str | int | float)
            or isinstance(value, bool)
        ):
            return TYPED
        text = as_text(value)
        is_typed = self._typed.is_typed(text, kind) or self._typed.is_typed(text, "amount")
        return TYPED if is_typed else OUTSIDE

    def _fit_bound(self, value: AtMost, leaf: JsonValue) -> Candidate | None:
        # A tool gets the text as it is: digits of other scripts, and what Python alone reads, are none.
        if isinstance(leaf, bool) or _NUMBER.fullmatch(as_text(leaf)) is None:
            return None
        amount = float(as_text(leaf))
        best: Candidate | None = None
        for limit, candidate in self._bounds(value):
            if 0 <= amount <= limit + 1e-9 and (best is None or candidate.grade < best.grade):
                best = replace(candidate, value=leaf)
        return best

    def _bounds(self, value: AtMost) -> list[tuple[float, Candidate]]:
        """The bounds that a value may mean, each with who could have written it."""
        if not isinstance(value.value, Found):
            limit = value.value * value.scale + value.plus
            return [(limit, Candidate(limit, self._exact_grade(value.value, "amount")))]
        found = []
        for candidate in self._resolved.get(id(value.value), Resolution()).candidates:
            for number in _numbers_in(candidate.value):
                found.append((number * value.scale + value.plus, candidate))
        return found

    def _told(self, name: str, value: Value, leaf: JsonValue) -> str:
        """What was stated for a parameter, without a value that was looked up."""
        match value:
            case Found() | Mentioned():
                reference = value.text if isinstance(value, Mentioned) else value
                resolution = self._resolved.get(id(reference), Resolution())
                if resolution.problem:
                    return f"{name} is stated as {words_for(reference)}: {resolution.problem}"
                number = len(resolution.candidates)
                gave = "another value" if number == 1 else f"{number} other values"
                return f"{name} is stated as {words_for(reference)}, which gave {gave}"
            case ResultOf(label, field):
                return f"{name} is stated as {field or 'the result'} of the act {label!r}"
            case AtMost():
                limits = [_number(limit) for limit, _ in self._bounds(value)]
                bound = " or ".join(limits[:3]) or "nothing: it gave none"
                words = f"{name} is stated as at most {bound}"
                if _NUMBER.fullmatch(as_text(leaf)) is None:
                    # What a model wrote is not repeated to it.
                    words += ", and this is no plain number from 0 on"
                return words
            case str() | int() | float():
                return f"{name} is stated as {as_text(value)!r}"
            case Free():
                harm = self._harm_in(leaf)
                return f"{name} may be anything, but {harm} in it was neither typed nor stated"
            case OneOf(values):
                return f"{name} is stated as one of {len(values)} others"
            case Day(date):
                return f"{name} is stated as a time on {date}"
            case Like(text):
                return f"{name} is stated as {text!r}"
            case _:
                return f"{name} is stated otherwise"

    def are_shown(self, asked: Iterable[Evidence], shown: Iterable[Evidence]) -> bool:
        """Whether a question that shows these values shows all that a call rests on."""
        known = [(_parameter_of(each.path), each.value) for each in shown]
        spelled = {(at, spell(value)) for at, value in known}
        for each in asked:
            at = _parameter_of(each.path)
            if (at, spell(each.value)) in spelled:
                continue
            # Of values without a kind, the text is shown in which they stand.
            if not any(name == at and is_mentioned(text, each.value, None) for name, text in known):
                return False
        return True

    def outside_values(self, kind_of: Callable[[str, str], Kind | None]) -> tuple[Evidence, ...]:
        """Every value of the task that outsiders write or choose, or that a model made up.

        ``kind_of``: the kind of a tool's parameter.
        """
        shown: dict[tuple[str, str], Evidence] = {}
        for intent in self.intents:
            for name, value in intent.values.items():
                outside = list(self._outside_in(value, kind_of(intent.tool, name)))
                if len(outside) > MOST_SHOWN:
                    # Nobody reads so many, and so a yes would not be for them.
                    continue
                for text, source in outside:
                    origin: Origin = "untrusted" if source else "nowhere"
                    at = f"{intent.tool}.{name}"
                    shown.setdefault((at, text), Evidence(at, text[:_LONGEST_GAP], origin, source))
        return tuple(shown.values())

    def too_wide(self, number: int, kind_of: Callable[[str, str], Kind | None]) -> str:
        """Which value of an intent may be too many others to ask a person about; empty if none."""
        intent = self.intents[number]
        for name, value in intent.values.items():
            count = len(list(self._outside_in(value, kind_of(intent.tool, name))))
            if count > MOST_SHOWN:
                return (
                    f"{name} is stated as any of {count} values, and a question shows {MOST_SHOWN}: "
                    "narrow it with where or pick"
                )
        return ""

    def _outside_in(self, value: Value, kind: Kind | None) -> Iterator[tuple[str, str]]:
        match value:
            case str() | int() | float() if not isinstance(value, bool):
                if self._exact_grade(value, kind) == OUTSIDE:
                    yield as_text(value), ""
            case Day(date):
                if self._exact_grade(date, "date") == OUTSIDE:
                    yield date, ""
            case OneOf(values):
                for each in values:
                    yield from self._outside_in(each, kind)
            case Mentioned(text):
                given = self._resolved.get(id(text), Resolution()).candidates
                # Whoever decides reads what could be used; of other kinds, the text that it stands in.
                mentions = mentioned_in(given, kind) if kind in _MENTIONABLE else given
                yield from _outsiders(mentions)
            case AtMost(Found() as reference) | (Found() as reference):
                yield from _outsiders(self._resolved.get(id(reference), Resolution()).candidates)
            case AtMost(bound):
                if not isinstance(bound, Found) and self._exact_grade(bound, "amount") == OUTSIDE:
                    yield as_text(bound), ""
            case _:
                pass


def _outsiders(candidates: Iterable[Candidate]) -> Iterator[tuple[str, str]]:
    for candidate in candidates:
        if candidate.grade == OUTSIDE:
            yield as_text(candidate.value), candidate.source


def is_same_as_default(value: JsonValue, name: str, knowledge: ToolKnowledge) -> bool:
    """Whether a parameter has the value that it has if nobody fills it in."""
    defaults = knowledge.defaults.get(name, frozenset())
    texts = _texts(value)
    return bool(defaults) and bool(texts) and all(text in defaults for text in texts)


def _exact_texts(value: Value) -> Iterator[str]:
    match value:
        case str():
            yield value
        case int() | float() if not isinstance(value, bool):
            yield as_text(value)
        case Like(text):
            yield text
        case OneOf(values):
            for each in values:
                yield from _exact_texts(each)
        case _:
            pass


def _parameter_of(path: str) -> str:
    """The parameter that a path is about: ``to`` of ``$.to[0]``, and of ``send.to``."""
    if path.startswith("$"):
        return re.split(r"[.\[]", path.removeprefix("$").removeprefix("."))[0]
    return path.rpartition(".")[2]


def moves_money(tool: Tool) -> bool:
    """Whether a tool's facts say that it moves money, and it does."""
    return tool.effect in ("idempotent", "write") and "money" in (tool.facts.dangers or ())


def amount_problem(intent: Intent, tool: Tool, facts: ResolvedFacts) -> str:
    """What is wrong with the amounts that an intent states, or leaves out; empty if nothing is."""
    required = tool.parameters.get("required")
    for name in facts.bounded:
        if name not in intent.values:
            is_required = isinstance(required, list) and name in required
            if is_required and moves_money(tool):
                return _state_amount(name)
            continue
        for value in _members_of(intent.values[name]):
            if isinstance(value, Free | Like) and moves_money(tool):
                return f"{name} is an amount, which is not left open: state a number, or rc.at_most(…)"
            is_text = isinstance(value, str) and not any(map(str.isdecimal, value))
            if (is_text and value) or isinstance(value, bool):
                return f"{name} is an amount, and {value!r} is no number"
    return ""


def _state_amount(name: str) -> str:
    words = f"{name} is an amount, and is not stated: add {name}=rc.at_most(…) or the number"
    return f'{words}; if it is none, say kinds={{"{name}": "free"}} in the facts'


def _members_of(value: Value) -> Iterator[Value]:
    match value:
        case OneOf(values):
            for each in values:
                yield from _members_of(each)
        case ObjectOf(members):
            for each in members.values():
                yield from _members_of(each)
        case _:
            yield value


def _bounds_in(values: Mapping[str, Value], above: str = "") -> Iterator[tuple[str, AtMost]]:
    """The bounds of an intent, by parameter, and by member of an object."""
    for name, value in values.items():
        match value:
            case AtMost():
                yield f"{above}{name}", value
            case ObjectOf(members):
                yield from _bounds_in(members, f"{above}{name}.")
            case _:
                pass


def _member_of(arguments: JsonObject, path: str) -> JsonValue:
    """What arguments hold at a path; of a list, what each of its elements holds."""
    found: list[JsonValue] = [arguments]
    for name in path.split("."):
        below: list[JsonValue] = []
        for each in found:
            for one in each if isinstance(each, list | tuple) else [each]:
                if isinstance(one, dict) and name in one:
                    below.append(one[name])
        found = below
    return found


def _objects_in(value: Value) -> list[ObjectOf]:
    match value:
        case ObjectOf():
            return [value]
        case OneOf(values):
            return [each for one in values for each in _objects_in(one)]
        case _:
            return []


def _worst_grade(members: Sequence[tuple[Place, Candidate]]) -> ReferenceGrade:
    return max((member.grade for _, member in members), default=TYPED)


def _plain_leaves(
    value: JsonValue, name: str, knowledge: ToolKnowledge
) -> Iterator[tuple[Place, JsonValue]]:
    """The plain values of an argument, booleans included; keys that the schema does not name as well."""
    waiting: list[tuple[Place, JsonValue]] = [((name,), value)]
    while waiting:
        place, each = waiting.pop(0)
        if isinstance(each, dict):
            for key, below in each.items():
                if key not in knowledge.names:
                    yield (*place, key), key
                waiting.append(((*place, key), below))
        elif isinstance(each, list | tuple):
            for at, below in enumerate(each):
                waiting.append(((*place, at), below))
        else:
            yield place, each


def _parts(leaf: JsonValue) -> list[str]:
    text = as_text(leaf)
    return listed_parts(text) or [text]


def _texts(value: JsonValue) -> list[str]:
    found = []
    waiting = [value]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
        elif each is not None:
            found.append(as_text(each))
    return found


def _numbers_in(value: JsonValue) -> list[float]:
    found = []
    for text in _texts(value):
        try:
            found.append(float(text.replace(",", "")))
        except ValueError:
            continue
    return found


def _number(value: float) -> str:
    return f"{value:,.10g}"


@lru_cache(256)
def _template(text: str) -> re.Pattern[str]:
    pieces = [re.escape(piece) for piece in text.split(_GAP)]
    return re.compile(rf"(?s:.{{0,{_LONGEST_GAP}}})".join(pieces))
