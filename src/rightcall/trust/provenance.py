"""Who could have written a text of a run, and who has named a value. A label is never weakened.

Adding a text costs time in its length; looking up a value costs time in the value's length, whatever was
added before. For trusted texts the runs of up to three tokens are stored; for untrusted texts the
tokens, to say where a value came from.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from rightcall.core.decision import Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves
from rightcall.core.problem import json_path
from rightcall.trust.excluded import excluded_in
from rightcall.trust.pieces import Piece
from rightcall.trust.words.amounts import amounts, bounding
from rightcall.trust.words.dates import without_year
from rightcall.trust.words.heard import as_named, both, clauses_of
from rightcall.trust.words.keys import (
    EVERY,
    FORBIDDEN,
    MENTIONED,
    NUMBERED,
    PLAIN,
    TITLED,
    Want,
    accepted,
    as_access,
    as_currency,
    as_name,
    in_groups,
    keys_of_all,
    longest,
    needs_name,
    reference,
    references_to,
    salts_of,
    single,
    whole,
)
from rightcall.trust.words.kinds import role_of
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import Role
from rightcall.trust.words.spelling import Token, grouped, loose, matches, scan, tokens, unnumbered

_SEPARATORS = re.compile(r"[,;|\n<>]|\sand\s|\s&\s", re.IGNORECASE)
_HARMLESS = re.compile(r"[\s\"'()\[\]{}]*")
_LONGEST_SHOWN = 120
_MOST_PARTS = 200
"""Parts of one text that are looked up one by one, at most."""
_LONGEST = 20_000
"""Limit of a value that can be vouched for, in characters."""
_LISTED: tuple[Origin, str] = ("developer", "")
_ANYTHING = Want()
_PEOPLE: tuple[Origin, ...] = ("user", "developer")
Sighting: TypeAlias = tuple[Origin, str]
"""Who said it, and through which tool."""


class Provenance:
    """Who has named which values so far. ``above`` is the same for the outer run."""

    def __init__(self, allowed: Sequence[str] = (), above: "Provenance | None" = None) -> None:
        self._allowed = allowed
        """The values and patterns that the operator vouches for."""
        self._named: dict[int, Sighting] = {}
        """Runs of tokens from trusted texts, by hash and kind, with who named them first."""
        self._tainted: dict[str, str] = {}
        """Tokens of untrusted texts, with the source that had them first."""
        self._forbidden: set[int] = set()
        """Keys of what the user or the developer has forbidden."""
        self._excluded: dict[frozenset[str], set[int]] = {}
        """The names of people who were left out, with the keys of how to reach them."""
        self._roles: dict[int, set[Role]] = {}
        """By key: whether something is to be taken from it or to go into it, if that was said."""
        self._most: dict[Origin, float] = {}
        """The largest amounts that were named, by who named them."""
        self._amounts: set[float] = set() if above is None else {*above._amounts}  # noqa: SLF001
        """All amounts that were named."""
        self._stated: frozenset[int] | None = None
        """Keys of whom and what the request is to act on, if somebody has stated that."""
        self._is_computed: bool = above is not None and above._is_computed  # noqa: SLF001
        """Whether somebody wants an amount that follows from others: those they named limit nothing."""
        self._total: float = 0
        """The sum of all amounts that were named; one that is said twice counts twice."""
        self._asked: float = 0
        """The same of those that the user and the developer named."""
        if above is not None:
            self._excluded |= above._excluded  # noqa: SLF001
        self._planted: set[int] = set() if above is None else above._planted  # noqa: SLF001
        """Keys that a possibly hijacked model has written somewhere, and that results may return."""
        self._above = above

    def vouch(self, text: str, origin: Origin) -> None:
        """Add a text of the user or the developer, who may name and forbid."""
        forbidden, people = set[int](), set[frozenset[str]]()
        for clause in clauses_of(text):
            if clause.is_forbidding:
                forbidden |= clause.keys
                self._keep(clause.keys, (FORBIDDEN,), (origin, ""))
                people |= clause.people
                continue
            self._forbidden -= clause.keys
            self._include(clause.keys)
            self._keep(clause.keys - clause.mentioned - clause.titled, (PLAIN,), (origin, ""))
            self._keep(clause.titled - clause.mentioned, (TITLED,), (origin, ""))
            self._keep(clause.mentioned, (MENTIONED,), (origin, ""))
            self._keep(clause.named, (PLAIN,), (origin, ""))
            for key, role in clause.roles:
                self._roles.setdefault(key, set()).add(role)
            self._total += sum(clause.amounts)
            self._asked += sum(clause.amounts)
            self._bound(origin, clause.amounts, clause.most)
            self._is_computed = self._is_computed or clause.is_computed
        self._forbidden |= forbidden
        self._excluded |= {who: self._excluded.get(who, set()) for who in people}

    def state(self, named: Collection[str]) -> None:
        """Let nothing vouch that the user names, but this: whom and what the request is to act on.

        How the user's words are to be understood was judged by whoever states it, so that words which
        seem to forbid something in it, or only to mention it, do not count.
        """
        self._stated = keys_of_all(named)

    def is_meant(self, text: str) -> bool:
        """Whether a value that the user named is one that the request is to act on."""
        is_any = self._stated is None and self._above is None
        return is_any or self._is_stated(tokens(text)) is not False

    def _is_stated(self, found: list[str]) -> bool | None:
        """Whether somebody stated that the request is to act on it; None if nobody stated anything."""
        if self._stated is None:
            return None if self._above is None else self._above._is_stated(found)  # noqa: SLF001
        return all(run in self._stated for run in longest(found))

    def exclude_in(self, text: str) -> None:
        """Forbid how to reach those in a result whom the user or the developer left out by name."""
        for who, value in excluded_in(text, self._excluded) if self._excluded else ():
            if self.of(value)[0] not in _PEOPLE:
                keys = {*longest(tokens(value))}
                self._excluded[who] |= keys
                self._forbidden |= keys

    def _include(self, named: Collection[int]) -> None:
        """Let those take part again who were left out before, and whom a text names."""
        for who in [each for each in self._excluded if all(single(word) in named for word in each)]:
            self._forbidden -= self._excluded.pop(who)

    def believe(self, piece: Piece, kind: Kind | None, but: Collection[int] = ()) -> None:
        """Add a piece of a trusted result, without the keys in ``but``."""
        text = unnumbered(plain(piece.text))
        said: Sighting = ("trusted", piece.label.source)
        found = {key for key in both(text) if key not in but and key not in self._planted}
        self._keep(found, salts_of(kind), said)
        if kind is None:
            self._keep(as_named(text, but), (PLAIN,), said)
        elif kind == "amount":
            found_amounts = tuple(amounts(text))
            self._total += sum(each for each in found_amounts if each not in self._amounts)
            self._bound("trusted", found_amounts, bounding(found_amounts))
        if kind is not None and (role := role_of(piece.field)) is not None:
            for token in tokens(text):
                self._roles.setdefault(single(token), set()).add(role)

    def choose(self, nouns: Collection[str], text: str) -> None:
        """Add the identifier of something that the user has singled out."""
        for token in tokens(text):
            found = [reference(noun.removesuffix("s"), token) for noun in nouns]
            self._keep(found, (PLAIN,), ("user", ""))

    def name(self, text: str, source: str, kind: Kind | None = None, but: Collection[int] = ()) -> None:
        """Add a name that an outsider chose, of something that the system says exists.

        It is vouched for as a whole, but no part of it is.
        """
        key = whole(tokens(text))
        if key not in but and key not in self._planted:
            for salt in salts_of(kind, by_name=True):
                self._named.setdefault(key ^ salt, ("trusted", source))

    def distrust(self, planted: Collection[int]) -> None:
        """Trust no result for these keys from now on. The user and the developer can still name them."""
        self._planted.update(planted)

    def taint(self, text: str, source: str) -> None:
        """Add an untrusted text."""
        known = self._tainted
        for token in loose(text):
            known.setdefault(token, source)

    def of(self, text: str, want: Want = _ANYTHING) -> Sighting:
        """Where one value was seen. A list in one text is vouched for if each of its parts is."""
        if len(text) > _LONGEST:
            return "nowhere", ""
        known = self._known(text, want)
        if known is not None:
            return known
        parts = [part for part in _SEPARATORS.split(text) if not _HARMLESS.fullmatch(part)]
        found = [self._known(part, want) for part in parts] if 1 < len(parts) <= _MOST_PARTS else [None]
        said = [each for each in found if each is not None]
        if len(said) < len(found):
            return self._blame(text)
        return next((each for each in said if each[0] in ("unfit", "trusted")), said[0])

    def trace(
        self,
        value: JsonValue,
        name: str,
        want: Want = _ANYTHING,
        names: Collection[str] = (),
        listed: Collection[str] = (),
        weigh: Callable[[Place, str, Origin], Origin] | None = None,
    ) -> Iterator[Evidence]:
        """Every leaf of an argument, with where it was seen.

        ``names`` are the property names in its schema, ``listed`` the values that the schema lists.
        ``weigh`` adjusts the origin of a leaf for the use it has here.
        """
        for place, leaf in leaves(value, (name,)):
            if is_key(place) and leaf in names:
                continue
            origin, source = _LISTED if leaf in listed and leaf.strip() else self.of(leaf, want)
            if weigh is not None:
                origin = weigh(place, leaf, origin)
            yield Evidence(shown(json_path(list(place))), shown(leaf), origin, source)

    def _has_other_role(self, found: list[str], role: Role) -> bool:
        """Whether a value was named only for the opposite role: as a source, or as a destination."""
        keyed = [single(token) for token in found]
        said = [each for key in keyed if (each := self._role(key))]
        return bool(said) and len(said) == len(keyed) and all(role not in each for each in said)

    def has_role(self, text: str) -> bool:
        """Whether somebody said that something is to be taken from a value, or to go into it."""
        return any(self._role(single(token)) for token in tokens(text))

    def is_within(self, value: float) -> bool:
        """Whether an amount was named, or is no more than the largest that somebody let it be.

        Where the user and the developer named none, and want none computed, it must be a record's own.
        """
        if value in self._amounts or value == 0:
            return True
        return not self.is_left_open and 0 <= value <= max(self._bounds().values(), default=-1)

    def is_amount(self, value: float) -> bool:
        """Whether exactly this amount was named."""
        return value in self._amounts

    @property
    def is_left_open(self) -> bool:
        """Whether neither the user nor the developer has said how much."""
        return not self._is_computed and not any(map(self._bounds().get, _PEOPLE))

    def is_capped(self, value: float) -> bool:
        """Whether an amount is more than the user or the developer named, if they named any."""
        said = [most for origin, most in self._bounds().items() if origin in _PEOPLE]
        return bool(said) and value > max(said) and not self._is_computed

    def is_within_all(self, value: float) -> bool:
        """Whether a sum of amounts is no more than the sum of all that were named.

        Where the user or the developer named some, and wants none computed, no record adds to these.
        """
        whole, asked = self._sums()
        return value <= (asked if asked and not self._is_computed else whole)

    def _sums(self) -> tuple[float, float]:
        whole, asked = (0.0, 0.0) if self._above is None else self._above._sums()  # noqa: SLF001
        return whole + self._total, asked + self._asked

    def is_asked_for(self, words: Collection[str], *, access: bool = False) -> bool:
        """Whether the user or the developer has used one of these words; ``access``: as words for it."""
        key = as_access if access else single
        said = [self._look(key(word), (PLAIN, MENTIONED, TITLED)) for word in words]
        return any(each is not None and each[0] != "trusted" for each in said)

    def is_counted_in(self, unit: str) -> bool:
        """Whether the user or the developer spoke of a currency, or of another unit by its own name."""
        said = self._look(as_currency(unit.lower()), (PLAIN,))
        return said is not None or self.is_asked_for({unit.lower()})

    def _bounds(self) -> dict[Origin, float]:
        if self._above is None:
            return self._most
        over = self._above._bounds()  # noqa: SLF001
        return {each: max(over.get(each, 0), self._most.get(each, 0)) for each in {*over, *self._most}}

    def _bound(self, origin: Origin, named: Collection[float], most: float | None) -> None:
        self._amounts.update(named)
        if most is not None:
            self._most[origin] = max(most, self._most.get(origin, 0))

    def _keep(self, found: Collection[int], salts: Sequence[int], said: Sighting) -> None:
        named = self._named
        for salt in salts:
            for key in found:
                salted = key ^ salt
                # The user or the developer takes precedence over a system that merely knows the value.
                if salted not in named or named[salted][0] == "trusted":
                    named[salted] = said

    def _known(self, text: str, want: Want) -> Sighting | None:
        text = plain(text)
        kinds = list(scan(text))
        found = [token for _, token in kinds]
        # Mere wildcards and dots may mean "all".
        is_stated = self._is_stated(found)
        if not any(map(str.isalnum, "".join(found))) or (not is_stated and self._is_forbidden(found)):
            return None
        if (said := self._listed(want, found)) is not None:
            return said
        if want.role is not None and self._has_other_role(found, want.role):
            return "unfit", ""
        salts = (*accepted(want, text), *((MENTIONED, FORBIDDEN) if is_stated else ()))
        if needs_name(want, found):
            said = self._look(as_name(found[0]), (PLAIN,))
            salts = tuple(salt for salt in salts if salt not in (PLAIN, MENTIONED, FORBIDDEN))
        said = said or self._find(text, kinds, salts) or self._look(whole(found), salts)
        if said is None and any(matches(pattern, text) for pattern in self._allowed):
            return "operator", ""
        return said

    def _listed(self, want: Want, found: list[str]) -> Sighting | None:
        """Who named a short number as an identifier of what is wanted; the bare number is not enough."""
        if want.kind not in NUMBERED or len(found) != 1:
            return None
        keyed = (self._look(key, (PLAIN,)) for key in references_to(want, found[0]))
        return next((each for each in keyed if each is not None), None)

    def _find(self, text: str, kinds: list[tuple[Token, str]], salts: Sequence[int]) -> Sighting | None:
        found = [token for _, token in kinds]
        is_date = len(kinds) == 1 and kinds[0][0] == "date"
        day = self._look(single(without_year(found[0])), salts) if is_date else None
        if day is not None and day[0] in _PEOPLE:
            # Whoever says "May 3rd" has named the day, also where a system names it with its year.
            return day
        said = [self._look(run, salts) for run in longest(found)]
        if None not in said:
            return said[0]
        if is_date:
            return day
        if all(kind == "word" and token.isalpha() for kind, token in kinds):
            return self._find_composed(found, salts)
        groups = list(grouped(text.strip()))
        if len(groups) != 1 or len(groups[0]) < len(re.sub(r"[\s().+-]", "", text)):
            return None
        return self._look(in_groups(groups[0]), salts)

    def _find_composed(self, found: list[str], salts: Sequence[int]) -> Sighting | None:
        """Who named combined plain words: each must be beside a word that it was seen beside."""
        pairs = [self._look(hash(tuple(found[at : at + 2])), salts) for at in range(len(found) - 1)]
        beside = zip([None, *pairs], [*pairs, None], strict=True)
        return pairs[0] if pairs and all(before or after for before, after in beside) else None

    def _look(self, key: int, salts: Sequence[int]) -> Sighting | None:
        named = self._named
        for salt in salts:
            if (said := named.get(key ^ salt)) is not None:
                return said
        return None if self._above is None else self._above._look(key, salts)  # noqa: SLF001

    def _role(self, key: int) -> set[Role]:
        above = set[Role]() if self._above is None else self._above._role(key)  # noqa: SLF001
        return self._roles.get(key, set()) | above

    def _is_forbidden(self, found: list[str]) -> bool:
        if self._forbidden and not self._forbidden.isdisjoint(longest(found)):
            return True
        return self._above is not None and self._above._is_forbidden(found)  # noqa: SLF001

    def _blame(self, text: str) -> Sighting:
        """Why a value is not vouched for: forbidden, named as something else, untrusted, or unknown.

        The source is that of the longest of its untrusted tokens.
        """
        found = tokens(text)
        if found and self._is_forbidden(found):
            return "unfit", ""
        seen = [(len(token), source) for token in found if (source := self._source(token)) is not None]
        if seen:
            return "untrusted", max(seen)[1]
        said = [self._look(run, EVERY) for run in longest(found[:_MOST_PARTS])]
        return ("nowhere", "") if not said or None in said else ("unfit", (said[0] or ("", ""))[1])

    def _source(self, token: str) -> str | None:
        source = self._tainted.get(token)
        return source if source is not None or self._above is None else self._above._source(token)  # noqa: SLF001


def shown(text: str) -> str:
    """A value as it is shown in evidence: cut if it is long."""
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
