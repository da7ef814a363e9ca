from argparse import Namespace

from rightcall.cli.session import _rules
from rightcall.cli.terminal import question
from rightcall.core.decision import Evidence, Proposal
from rightcall.trust.rules import Rules


def test_a_person_is_told_what_nobody_has_vouched_for_and_where_it_was_seen():
    proposal = Proposal(
        call_id="1",
        name="send",
        arguments={"to": "eve@evil.example", "cc": "bob@firm.example", "bcc": "x"},
        reason="not vouched for",
        evidence=(
            Evidence("$.to", "eve@evil.example", "untrusted", "inbox"),
            Evidence("$.cc", "bob@firm.example", "user"),
            Evidence("$.bcc", "x", "nowhere"),
        ),
    )
    assert question(proposal).splitlines()[-2:] == [
        "$.to eve@evil.example: from outsiders, in what came from inbox",
        "$.bcc x: named by nobody but the model",
    ]


def test_rules_are_in_force_only_where_they_were_asked_for(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text('vouched = ["*@firm.example"]\n')
    assert _rules(Namespace(policy=None, trust=False)) is None
    assert _rules(Namespace(policy=None, trust=True)) == Rules()
    rules = _rules(Namespace(policy=str(file), trust=False))
    assert rules is not None
    assert rules.vouched == ("*@firm.example",)
