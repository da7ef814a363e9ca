"""The requirements and the scenarios answer one another, and every gap on record is a real one."""

import re
from collections import Counter

import pytest

from conformance.requirements import REQUIREMENTS, Gap, Requirement
from conformance.scenarios import (
    PROVEN,
    REPLIED,
    TOLD_ERROR,
    VENDORS,
    WISHED,
    Forms,
    Wished,
    neutral,
)
from conformance.test_dialects import changed, encoded, told_error
from rightcall.core.message import Reply
from rightcall.errors import EncodeError
from rightcall.wire.dialects import DIALECTS
from wire.recorded import fed, reply_of

SCENARIOS = (*REPLIED, *WISHED, *PROVEN)
GAPS = [(requirement, gap) for requirement in REQUIREMENTS for gap in requirement.gaps]


def test_every_requirement_has_a_scenario_and_every_scenario_a_requirement() -> None:
    required = {requirement.id for requirement in REQUIREMENTS}
    assert {scenario.requirement for scenario in SCENARIOS} == required


def test_ids_are_used_once() -> None:
    ids = [*(requirement.id for requirement in REQUIREMENTS), *(scenario.id for scenario in SCENARIOS)]
    assert [id_ for id_, times in Counter(ids).items() if times > 1] == []


def test_every_requirement_has_a_source() -> None:
    sources = re.compile(r"vendor doc|ours|[\w./-]+ ?#\d+")
    assert [each.id for each in REQUIREMENTS if not sources.fullmatch(each.source)] == []


def test_every_dialect_takes_part() -> None:
    assert [vendor.dialect.name for vendor in VENDORS.values()] == list(DIALECTS)
    assert {gap.dialect for _, gap in GAPS} <= set(DIALECTS)


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
def test_every_scenario_has_the_vendors_words_and_nothing_has_words_without_one(vendor: Forms) -> None:
    assert set(vendor.WIRES) == {scenario.id for scenario in REPLIED}
    wanted = {scenario.id for scenario in WISHED if not scenario.refused}
    assert set(vendor.SAID) >= wanted
    assert set(vendor.SAID) <= {scenario.id for scenario in WISHED}


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
def test_a_dialect_differs_where_it_says_so_and_nowhere_else(vendor: Forms) -> None:
    replied = {scenario.id: scenario.requirement for scenario in (*REPLIED, *PROVEN)}
    differing = {replied[id_] for id_, _ in vendor.INSTEAD}
    differing |= {scenario.requirement for scenario in WISHED if kind_of(vendor, scenario)}
    on_record = {requirement.id for requirement, gap in GAPS if gap.dialect == vendor.dialect.name}
    assert differing == on_record


@pytest.mark.parametrize(("requirement", "gap"), GAPS, ids=[f"{r.id}-{gap.dialect}" for r, gap in GAPS])
def test_every_gap_is_real(requirement: Requirement, gap: Gap) -> None:
    vendor = VENDORS[gap.dialect]
    kinds = {kind_of(vendor, each) for each in WISHED if each.requirement == requirement.id}
    differs = [
        neutral(said_by(vendor, scenario.id, form)) != scenario.expected
        for scenario in REPLIED
        if scenario.requirement == requirement.id
        for form in ("streamed", "whole")
    ]
    differs += [
        told_error(vendor) != TOLD_ERROR
        for each in PROVEN
        if (each.id, each.requirement) == ("tool-error", requirement.id)
    ]
    # A dialect may differ in one scenario of several.
    assert gap.kind in kinds <= {gap.kind, None, ""} if kinds else any(differs)


def said_by(vendor: Forms, scenario: str, form: str) -> Reply:
    streamed, whole = vendor.WIRES[scenario]
    if form == "whole":
        return vendor.dialect.decode(whole)
    return reply_of(fed(vendor.dialect.decoder(), streamed))


def kind_of(vendor: Forms, scenario: Wished) -> str:
    """How a dialect falls short of a wish; nothing where it does not."""
    try:
        encoded(vendor, scenario.request)
    except EncodeError:
        return "" if scenario.refused else "refused"
    if scenario.refused:
        return "differs"
    # The one wish that is the same as none.
    return "" if changed(vendor, scenario) or scenario.id == "choice-auto" else "ignored"
