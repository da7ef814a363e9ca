"""Who could have written a text of a run, and who has named a value. A label is never weakened.

Adding a text costs time in its length; looking up a value costs time in the value's length, whatever was
added before. For trusted texts the runs of up to three tokens are stored; for untrusted texts the
tokens, to say where a value came from.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import msgspec

from rightcall.core.decision import Evidence, Origin
from rightcall.core.facts import Kind
from rightcall.core.jsontext import JsonValue, Place, is_key, leaves, nodes
from rightcall.core.problem import json_path
from rightcall.trust.pieces import Piece, open_envelope
from rightcall.trust.words import keys
from rightcall.trust.words.amounts import amounts, bounding
from rightcall.trust.words.dates import without_year
from rightcall.trust.words.heard import as_named, both, clauses_of
from rightcall.trust.words.keys import Want, looks_like
from rightcall.trust.words.kinds import is_contact, kind_of_name, role_of, words_of
from rightcall.trust.words.plain import plain
from rightcall.trust.words.said import Role
from rightcall.trust.words.spelling import Token, grouped, loose, matches, scan, tokens, unnumbered

_NAMES = frozenset({"name", "person", "user", "username", "member", "employee", "contact", "nick"})
_TO_REACH = ("address", "account")
"""Kinds of values by which somebody is reached."""
_MOST_WORDS = 5
"""Words in a person's name, at most."""
_SEPARATORS = re.compile(r"[,;|\n<>]|\sand\s|\s&\s", re.IGNORECASE)
_HARMLESS = re.compile(r"[\s\"'()\[\]{}]*")
_LONGEST_SHOWN = 120
_MOST_PARTS = 200
"""Parts of one text that are looked up one by one, at most."""
_LONGEST = 20_000
"""Limit of a value that can be vouched for, in characters."""
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
        self._amounts: set[float] = set()
        """All amounts that were named."""
        self._stated: frozenset[int] | None = None
        """Keys of whom and what the request is to act on, if somebody has stated that."""
        self._is_computed: bool = above is not None and above._is_computed  # noqa: SLF001
        """Whether somebody wants an amount that follows from others: those they named limit nothing."""
        self._total: float = 0
        """The sum of all amounts that were named; one that is said twice counts twice."""
        self._asked: float = 0
        """The same of those that the user and the developer named."""
        self._planted: set[int] = set()
        """Keys that a possibly hijacked model has written somewhere, and that results may return."""
        if above is not None:
            self._amounts |= above._amounts  # noqa: SLF001
            self._excluded |= above._excluded  # noqa: SLF001
            # One set for a run and its inner runs: what one of them wrote, another may read.
            self._planted = above._planted  # noqa: SLF001
        self._above = above

    def vouch(self, text: str, origin: Origin) -> None:
        """Add a text of the user or the developer, who may name and forbid."""
        said: Sighting = (origin, "")
        forbidden = set[int]()
        people = set[frozenset[str]]()
        for clause in clauses_of(text):
            if clause.is_forbidding:
                forbidden |= clause.keys
                self._keep(clause.keys, (keys.FORBIDDEN,), said)
                people |= clause.people
                continue
            self._forbidden -= clause.keys
            # Whoever was left out before, and is named now, takes part again.
            for who in list(self._excluded):
                if clause.keys.issuperset(map(keys.single, who)):
                    self._forbidden -= self._excluded.pop(who)
            self._keep(clause.keys - clause.mentioned - clause.titled, (keys.PLAIN,), said)
            self._keep(clause.titled - clause.mentioned, (keys.TITLED,), said)
            self._keep(clause.mentioned, (keys.MENTIONED,), said)
            self._keep(clause.named, (keys.PLAIN,), said)
            for key, role in clause.roles:
                self._roles.setdefault(key, set()).add(role)
            self._total += sum(clause.amounts)
            self._asked += sum(clause.amounts)
            self._add_bounds(origin, clause.amounts, clause.most)
            self._is_computed = self._is_computed or clause.is_computed
        self._forbidden |= forbidden
        for who in people:
            self._excluded.setdefault(who, set())

    def state(self, named: Collection[str]) -> None:
        """Let nothing vouch that the user names, but this: whom and what the request is to act on.

        How the user's words are to be understood was judged by whoever states it, so that words which
        seem to forbid something in it, or only to mention it, do not count.
        """
        self._stated = keys.keys_of_all(named)

    def is_meant(self, text: str) -> bool:
        """Whether a value that the user named is one that the request is to act on."""
        if self._stated is None and self._above is None:
            return True
        return self._is_stated(tokens(text)) is not False

    def _is_stated(self, found: list[str]) -> bool | None:
        """Whether somebody stated that the request is to act on it; None if nobody stated anything."""
        if self._stated is not None:
            return self._stated.issuperset(keys.longest(found))
        if self._above is not None:
            return self._above._is_stated(found)  # noqa: SLF001
        return None

    def exclude_in(self, text: str) -> None:
        """Forbid how to reach those in a result whom the user or the developer left out by name.

        "Everybody except Bob" names no address. Which one is Bob's stands in a record, beside his name.
        """
        if not self._excluded:
            return
        try:
            value: JsonValue = msgspec.json.decode(open_envelope(text))
        except (msgspec.DecodeError, RecursionError):
            return
        for node in nodes(value):
            names = []
            ways = []
            for key, each in node.items():
                if not isinstance(each, str | int):
                    continue
                shown = str(each)
                like = looks_like(plain(shown))
                is_person = not _NAMES.isdisjoint(words_of(key)[-1:])
                if is_person and len(shown.split()) <= _MOST_WORDS and like is None:
                    names.append(shown)
                elif kind_of_name(key) in _TO_REACH or is_contact(key) or like in _TO_REACH:
                    ways.append(shown)
            if not ways:
                continue
            words = set[str]().union(*map(tokens, names))
            for who, forbidden in self._excluded.items():
                if not who <= words:
                    continue
                for each in (*names, *ways):
                    if self.of(each)[0] not in _PEOPLE:
                        forbidden.update(keys.longest(tokens(each)))
                        self._forbidden.update(keys.longest(tokens(each)))

    def believe(self, piece: Piece, kind: Kind | None, but: Collection[int] = ()) -> None:
        """Add a piece of a trusted result, without the keys in ``but``."""
        text = unnumbered(plain(piece.text))
        said: Sighting = ("trusted", piece.label.source)
        trusted = []
        for key in both(text):
            if key not in but and key not in self._planted:
                trusted.append(key)
        self._keep(trusted, keys.salts_of(kind), said)
        if kind is None:
            self._keep(as_named(text, but), (keys.PLAIN,), said)
            return
        if kind == "amount":
            named = tuple(amounts(text))
            for amount in named:
                if amount not in self._amounts:
                    self._total += amount
            self._add_bounds("trusted", named, bounding(named))
        role = role_of(piece.field)
        if role is not None:
            for token in tokens(text):
                self._roles.setdefault(keys.single(token), set()).add(role)

    def choose(self, nouns: Collection[str], text: str) -> None:
        """Add the identifier of something that the user has singled out."""
        for token in tokens(text):
            found = [keys.reference(noun.removesuffix("s"), token) for noun in nouns]
            self._keep(found, (keys.PLAIN,), ("user", ""))

    def name(self, text: str, source: str, kind: Kind | None = None, but: Collection[int] = ()) -> None:
        """Add a name that an outsider chose, of something that the system says exists.

        It is vouched for as a whole, but no part of it is.
        """
        key = keys.whole(tokens(text))
        if key not in but and key not in self._planted:
            for salt in keys.salts_of(kind, by_name=True):
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
        known = self._find_sighting(text, want)
        if known is not None:
            return known
        parts = []
        for part in _SEPARATORS.split(text):
            if not _HARMLESS.fullmatch(part):
                parts.append(part)
        if not 1 < len(parts) <= _MOST_PARTS:
            return self._blame(text)
        found = []
        for part in parts:
            said = self._find_sighting(part, want)
            if said is None:
                return self._blame(text)
            found.append(said)
        # A list is vouched for no better than the weakest of its parts.
        for said in found:
            if said[0] in ("unfit", "trusted"):
                return said
        return found[0]

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
            said: Sighting = ("developer", "")
            if leaf not in listed or not leaf.strip():
                said = self.of(leaf, want)
            if weigh is not None:
                said = (weigh(place, leaf, said[0]), said[1])
            yield evidence_at(place, leaf, *said)

    def has_role(self, text: str) -> bool:
        """Whether somebody said that something is to be taken from a value, or to go into it."""
        return any(self._role(keys.single(token)) for token in tokens(text))

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
        named = [most for origin, most in self._bounds().items() if origin in _PEOPLE]
        return bool(named) and value > max(named) and not self._is_computed

    def is_within_all(self, value: float) -> bool:
        """Whether a sum of amounts is no more than the sum of all that were named.

        Where the user or the developer named some, and wants none computed, no record adds to these.
        """
        total, asked = self._sums()
        if asked and not self._is_computed:
            return value <= asked
        return value <= total

    def _sums(self) -> tuple[float, float]:
        if self._above is None:
            return self._total, self._asked
        total, asked = self._above._sums()  # noqa: SLF001
        return total + self._total, asked + self._asked

    def is_asked_for(self, words: Collection[str], *, access: bool = False) -> bool:
        """Whether the user or the developer has used one of these words; ``access``: as words for it."""
        for word in words:
            key = keys.as_access(word) if access else keys.single(word)
            said = self._look(key, (keys.PLAIN, keys.MENTIONED, keys.TITLED))
            if said is not None and said[0] != "trusted":
                return True
        return False

    def is_counted_in(self, unit: str) -> bool:
        """Whether the user or the developer spoke of a currency, or of another unit by its own name."""
        said = self._look(keys.as_currency(unit.lower()), (keys.PLAIN,))
        return said is not None or self.is_asked_for({unit.lower()})

    def _bounds(self) -> dict[Origin, float]:
        if self._above is None:
            return self._most
        over = self._above._bounds()  # noqa: SLF001
        bounds = dict(over)
        for origin, most in self._most.items():
            bounds[origin] = max(most, over.get(origin, 0))
        return bounds

    def _add_bounds(self, origin: Origin, named: Collection[float], most: float | None) -> None:
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

    def _find_sighting(self, text: str, want: Want) -> Sighting | None:
        text = plain(text)
        kinds = list(scan(text))
        found = [token for _, token in kinds]
        # Mere wildcards and dots may mean "all".
        if not any(map(str.isalnum, "".join(found))):
            return None
        is_stated = self._is_stated(found)
        if not is_stated and self._is_forbidden(found):
            return None
        said: Sighting | None
        if want.kind in keys.NUMBERED and len(found) == 1:
            # A short number must have been named as an identifier of what is wanted.
            for key in keys.references_to(want, found[0]):
                said = self._look(key, (keys.PLAIN,))
                if said is not None:
                    return said
        if want.role is not None:
            # Named only as a source, it is no destination, and the other way round.
            roles = [self._role(keys.single(token)) for token in found]
            if all(roles) and want.role not in set[Role]().union(*roles):
                return "unfit", ""
        salts = keys.accepted(want, text)
        if is_stated:
            salts = (*salts, keys.MENTIONED, keys.FORBIDDEN)
        said = None
        if keys.needs_name(want, found):
            said = self._look(keys.as_name(found[0]), (keys.PLAIN,))
            bare = (keys.PLAIN, keys.MENTIONED, keys.FORBIDDEN)
            salts = tuple([salt for salt in salts if salt not in bare])
        said = said or self._find(text, kinds, found, salts) or self._look(keys.whole(found), salts)
        if said is None:
            for pattern in self._allowed:
                if matches(pattern, text):
                    return "operator", ""
        return said

    def _find(
        self, text: str, kinds: list[tuple[Token, str]], found: list[str], salts: Sequence[int]
    ) -> Sighting | None:
        is_date = len(kinds) == 1 and kinds[0][0] == "date"
        day = None
        if is_date:
            day = self._look(keys.single(without_year(found[0])), salts)
        if day is not None and day[0] in _PEOPLE:
            # Whoever says "May 3rd" has named the day, also where a system names it with its year.
            return day
        said = [self._look(run, salts) for run in keys.longest(found)]
        if None not in said:
            return said[0]
        if is_date:
            return day
        if all(kind == "word" and token.isalpha() for kind, token in kinds):
            # Plain words may be combined anew: each must be beside a word that it was seen beside.
            pairs = [self._look(hash(pair), salts) for pair in pairwise(found)]
            beside = zip([None, *pairs], [*pairs, None], strict=True)
            if pairs and all(before or after for before, after in beside):
                return pairs[0]
            return None
        groups = list(grouped(text.strip()))
        if len(groups) != 1 or len(groups[0]) < len(re.sub(r"[\s().+-]", "", text)):
            return None
        return self._look(keys.in_groups(groups[0]), salts)

    def _look(self, key: int, salts: Sequence[int]) -> Sighting | None:
        named = self._named
        for salt in salts:
            if (said := named.get(key ^ salt)) is not None:
                return said
        if self._above is None:
            return None
        return self._above._look(key, salts)  # noqa: SLF001

    def _role(self, key: int) -> set[Role]:
        roles = self._roles.get(key, set())
        if self._above is None:
            return roles
        return roles | self._above._role(key)  # noqa: SLF001

    def _is_forbidden(self, found: list[str]) -> bool:
        if self._forbidden and not self._forbidden.isdisjoint(keys.longest(found)):
            return True
        return self._above is not None and self._above._is_forbidden(found)  # noqa: SLF001

    def _blame(self, text: str) -> Sighting:
        """Why a value is not vouched for: forbidden, named as something else, untrusted, or unknown.

        The source is that of the longest of its untrusted tokens.
        """
        found = tokens(text)
        if found and self._is_forbidden(found):
            return "unfit", ""
        seen = []
        for token in found:
            source = self._source(token)
            if source is not None:
                seen.append((len(token), source))
        if seen:
            return "untrusted", max(seen)[1]
        said = [self._look(run, keys.EVERY) for run in keys.longest(found[:_MOST_PARTS])]
        if not said or said[0] is None or None in said:
            return "nowhere", ""
        return "unfit", said[0][1]

    def _source(self, token: str) -> str | None:
        source = self._tainted.get(token)
        if source is None and self._above is not None:
            return self._above._source(token)  # noqa: SLF001
        return source


def evidence_at(place: Sequence[str | int], text: str, origin: Origin, source: str = "") -> Evidence:
    """A value as evidence, with its path; cut if it is long."""
    return Evidence(_shorten(json_path(list(place))), _shorten(text), origin, source)


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST_SHOWN:
        return text
    return text[: _LONGEST_SHOWN - 1] + "…"
