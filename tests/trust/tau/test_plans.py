"""The plans for tau-bench's tasks: one for each, in the language of plans."""

import sys

import pytest
from shop_plans import PLANS, main

from rightcall.plan.parse import parse


@pytest.mark.parametrize(("domain", "tasks"), [("retail", 115), ("airline", 50)])
def test_there_is_a_plan_for_each_task_and_hindsight_only_beside_one(domain, tasks):
    first = {int(each.stem) for each in (PLANS / domain).glob("*.plan")}
    assert first == set(range(tasks))
    assert {int(each.stem) for each in (PLANS / domain).glob("*.hindsight")} < first


@pytest.mark.parametrize(
    "path", sorted(PLANS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_plan_keeps_to_the_language(path):
    assert parse(path.read_text(encoding="utf-8")).body


def test_without_its_folder_nothing_is_run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["shop_plans.py", str(tmp_path), "--lines", "airline"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")
