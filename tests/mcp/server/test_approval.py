import pytest

import rightcall as rc
from rightcall.core.decision import Proposal
from rightcall.mcp.server.approval import MOST_SHOWN, decision_from, form_for
from rightcall.mcp.server.questions import Filled, Sampled


def proposal(reason="", **arguments):
    return Proposal(call_id="c", name="buy", arguments=arguments, reason=reason)


def test_a_person_is_shown_the_whole_call():
    form = form_for(proposal("it is dear", item="tea"))
    assert form.message == 'Run buy (it is dear) with\n{\n  "item": "tea"\n}'
    assert (list(form.fields), form.required) == (["allow", "reason"], ("allow",))


def test_what_cannot_be_seen_is_written_as_its_number():
    assert "\\u202e" in form_for(proposal(item="\u202egnp.exe")).message


def test_what_is_left_out_is_said_to_be():
    message = form_for(proposal(item="x" * 10_000)).message
    assert len(message) < MOST_SHOWN + 200
    assert message.endswith("characters in all; the rest is not shown)")


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (Filled(action="accept", content={"allow": True}), rc.Allow()),
        (Filled(action="accept", content={"allow": False}), rc.Deny()),
        (Filled(action="accept", content={"allow": False, "reason": "dear"}), rc.Deny("dear")),
        (Filled(action="accept", content={}), rc.Deny()),
        (Filled(action="accept", content={"allow": "yes"}), rc.Deny()),
        (Filled(action="decline", content={"allow": True}), rc.Deny()),
        (Filled(action="cancel"), rc.Deny()),
        (Sampled(text="yes"), rc.Deny()),
    ],
)
def test_only_a_clear_yes_is_one(answer, decision):
    assert decision_from(answer) == decision
