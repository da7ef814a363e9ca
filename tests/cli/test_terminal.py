from argparse import Namespace

from rightcall.cli.session import _rules
from rightcall.trust.rules import Rules


def test_rules_are_in_force_only_where_they_were_asked_for(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text('vouched = ["*@firm.example"]\n')
    assert _rules(Namespace(policy=None, trust=False)) is None
    assert _rules(Namespace(policy=None, trust=True)) == Rules()
    rules = _rules(Namespace(policy=str(file), trust=False))
    assert rules is not None
    assert rules.vouched == ("*@firm.example",)
