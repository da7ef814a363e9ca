"""Every target in a call, with where it was seen, weighed for the use that the call makes of it.

That somebody has named a value is not enough: it must have been named for this act, and for this place.
"""

from collections.abc import Iterator

from rightcall.core.call import CheckedCall
from rightcall.core.decision import Evidence, Origin
from rightcall.core.jsontext import Place, is_key
from rightcall.core.problem import json_path
from rightcall.trust.asked.described import Described
from rightcall.trust.asked.meant import Meant
from rightcall.trust.evidence import Known, is_blank, kind_at, leaves_of
from rightcall.trust.facts import STRICT, offered
from rightcall.trust.provenance import Provenance, shown
from rightcall.trust.words.acts import act_of
from rightcall.trust.words.counts import is_number
from rightcall.trust.words.keys import Want


def targets_in(
    checked: CheckedCall,
    of: Known,
    provenance: Provenance,
    meant: Meant | None = None,
    described: Described | None = None,
) -> Iterator[Evidence]:
    """Every target in the arguments, as evidence. A blank target is vouched for by nobody.

    A blank optional target is skipped, unless the tool has a strict danger: what is destroyed must be
    named in full.
    """
    facts, arguments = of.facts, checked.arguments
    weigh = _Weighing(checked, of, provenance, meant, described).weigh
    for name in (*facts.targets, *(name for name in arguments if name not in of.names)):
        value, want = arguments.get(name), of.wants.get(name, Want())
        if not is_blank(value):
            # Values listed in a third party's schema were not written by this application's developer.
            listed = frozenset() if of.tool.origin else offered(of.tool.parameters, name)
            yield from provenance.trace(value, name, want, of.names, listed, weigh)
        elif not STRICT.isdisjoint(facts.dangers) or (
            name in of.required and not _is_rest(name, checked, of)
        ):
            yield Evidence(shown(json_path([name])), "", "nowhere")


class _Weighing:
    """Weighs who named a value against what one call does with it."""

    def __init__(
        self,
        checked: CheckedCall,
        of: Known,
        provenance: Provenance,
        meant: Meant | None,
        described: Described | None,
    ) -> None:
        self._checked = checked
        self._of = of
        self._provenance = provenance
        self._meant = meant
        self._described = described
        self._act = act_of(of.tool.name)
        self._is_undirected = self._goes_either_way()
        self._is_unasked = meant is not None and not meant.is_asked and self._act.undoes
        self._changed = [each for each, want in of.wants.items() if want.kind != "record"]

    def weigh(self, place: Place, leaf: str, origin: Origin) -> Origin:
        """The origin of a value at a place, for the use that it has there."""
        kind, meant = kind_at(place, self._of), self._meant
        if origin == "user" and not self._is_stated(leaf):
            return "unfit"
        if self._is_undirected and self._of.wants.get(str(place[0]), Want()).role is not None:
            return "unfit"
        if kind == "record":
            return origin if meant is None else _weighed(meant, place, leaf, origin)
        if self._is_unasked and origin in ("user", "trusted"):
            # Whoever asks what is in a file has named it, and has not asked to delete it.
            return "unfit"
        if kind == "amount" and len(place) > 1 and is_number(leaf):
            return "trusted" if self._is_due(place, leaf) else "unfit"
        if kind == "date" and origin == "nowhere" and meant is not None:
            return "user" if meant.is_asked and meant.is_shifted(str(place[-1]), leaf) else origin
        return "listed" if origin == "trusted" and self._is_another_named(place, leaf) else origin

    def _is_stated(self, leaf: str) -> bool:
        """Whether the grant, if it states what is meant, states this."""
        is_ranked = self._described is not None and self._described.is_ranked(leaf)
        return is_ranked or self._provenance.is_meant(leaf)

    def _is_another_named(self, place: Place, leaf: str) -> bool:
        """Whether one record has it, where the user named what another has: they left nothing open."""
        name = str(place[-1])
        if self._described is None or self._changed != [name] or not self._act:
            return False
        others = self._described.values_of(name)
        return leaf in others and any(
            self._provenance.of(each)[0] == "user" for each in others if each != leaf
        )

    def _goes_either_way(self) -> bool:
        """Whether the user named where something comes from and where it goes, not which is which."""
        wants = self._of.wants.items()
        values = [
            leaf for name, want in wants if want.role for _, leaf in leaves_of(self._checked, name)
        ]
        said = [self._provenance.of(leaf)[0] for leaf in values]
        is_theirs = bool(said) and all(origin in ("user", "developer") for origin in said)
        return is_theirs and len(set(values)) > 1 and not any(map(self._provenance.has_role, values))

    def _is_due(self, place: Place, leaf: str) -> bool:
        """Whether an amount inside a target is no more than was asked for, with all that are beside it.

        They may also be what so many cost as were asked for.
        """
        found, provenance = leaves_of(self._checked, str(place[0])), self._provenance
        beside = [leaf for each, leaf in found if each[-1] == place[-1] and not is_key(each)]
        if not all(is_number(each) and float(each) >= 0 for each in beside):
            return False
        whole, number = sum(map(float, beside)), float(leaf)
        counts = self._meant.numbers(self._checked.arguments) if self._meant is not None else ()
        if any(provenance.is_amount(whole / each) for each in counts if each):
            return True
        is_within = provenance.is_within(number) and not provenance.is_capped(number)
        return is_within and provenance.is_within_all(whole)


def _weighed(meant: Meant, place: Place, value: str, origin: Origin) -> Origin:
    """The origin of an identifier, for the act that the call is."""
    if origin == "unfit" and meant.is_released(value):
        origin = "user"
    if origin not in ("user", "trusted"):
        return origin
    if not meant.is_asked:
        return "unfit"
    if not meant.is_changed(str(place[0]), value):
        return "listed" if origin == "trusted" else "unfit"
    if origin == "user":
        return "unfit" if meant.is_for_another(value) else origin
    return "user" if meant.is_meant(value) else "listed"


def _is_rest(name: str, checked: CheckedCall, of: Known) -> bool:
    """Whether a blank target is one of several numbered ones, and another is filled in: ``street2``."""
    stem = name.rstrip("0123456789")
    others = [each for each in of.facts.targets if each != name and each.startswith(stem)]
    return stem != name and any(
        each[len(stem) :].isdigit() and not is_blank(checked.arguments.get(each)) for each in others
    )
