"""``rightcall eval``, as a shell sees it."""

import json
import sys

import pytest

from cli.kit import within

TOOLS = '''
import rightcall as rc
from rightcall.testing import ScriptedModel, call, reply


@rc.tool
def get_weather(city: str) -> str:
    """{weather}"""
    raise AssertionError("an eval runs nothing")


@rc.tool
def send_mail(to: str) -> str:
    """Send a mail."""
    raise AssertionError("an eval runs nothing")


def _says(request):
    """Finds what is described, and makes a name up for what is not."""
    asked = request.messages[-1].text
    words = {{spec.name: spec.description for spec in request.specs}}
    if "weather" in asked:
        known = "weather" in words["get_weather"]
        return reply(call("get_weather" if known else "weather_now", city=asked.split()[-1]))
    return reply(call("send_mail", to="Bo")) if "mail" in asked else "Hello."


good = ScriptedModel(_says)
mute = ScriptedModel(lambda _: "Hm.")
box = rc.Toolbox([get_weather, send_mail])
'''
CASES = [
    *[
        {"question": f"The weather in {city}", "tool": "get_weather", "arguments": {"city": city}}
        for city in ("Bern", "Oslo", "Rome", "Cairo", "Lima", "Quito")
    ],
    {"question": "A mail to Bo", "tool": "send_mail"},
    {"question": "Hi", "tool": None},
]


@pytest.fixture
def shop(home, monkeypatch):
    # Another test's module may have the same name.
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    (home / "shop.py").write_text(TOOLS.format(weather="Tell the weather in a city."))
    (home / "vague.py").write_text(TOOLS.format(weather="Handle a request."))
    (home / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    return home


def test_the_figures_are_printed(shop):
    ran = within(shop, "eval", "cases.jsonl", "-m", "shop.py:good", "--tools", "shop:box")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "shop.py:good: 8 questions, 2 tools offered\n"
        "  choice       8/8  100%  [68%, 100%]\n"
        "  arguments    6/6  100%  [61%, 100%]\n"
    )


def test_a_description_made_worse_is_a_regression_and_exit_code_one(shop):
    words = ("eval", "cases.jsonl", "-m", "shop.py:good", "--compare")
    ran = within(shop, *words, "shop.py", "vague.py", "--html", "report.html")
    assert ran.code == 1
    assert "get_weather -> weather_now: 6" in ran.out
    assert ran.out.endswith("regression: yes (p at most 0.05)\n")
    assert '<span class="bad">worse</span>' in (shop / "report.html").read_text()
    assert within(shop, *words, "vague.py", "shop.py").code == 0
    assert within(shop, *words, "shop.py", "vague.py", "--alpha", "0.01").code == 0


def test_two_models_are_compared_on_the_same_tools(shop):
    words = ("eval", "cases.jsonl", "-T", "shop.py:box", "--compare")
    ran = within(shop, *words, "shop.py:good", "shop.py:mute")
    assert ran.code == 1
    assert "shop.py:good -> shop.py:mute" in ran.out
    assert within(shop, *words, "shop.py:mute", "shop.py:good").code == 0


def test_the_journal_is_enough_where_there_is_no_model(shop):
    words = ("eval", "cases.jsonl", "-T", "shop.py", "--journal", "evals.jsonl", "-m", "anthropic:x")
    refused = within(shop, *words)
    assert (refused.code, "keys set anthropic" in refused.err) == (2, True)
    first = within(shop, *words[:-1], "shop.py:good")
    again = within(shop, *words[:-1], "shop.py:good", "--replay")
    assert (again.code, again.out) == (0, first.out)
    changed = within(shop, *words, "--replay")
    assert changed.code == 2
    assert "8 of 8 questions are not recorded" in changed.err


def test_more_tools_are_drawn_from_a_catalogue(shop):
    listed = [{"name": f"tool_{at}", "inputSchema": {"type": "object"}} for at in range(20)]
    (shop / "more.json").write_text(json.dumps({"tools": listed}))
    words = ("eval", "cases.jsonl", "-m", "shop.py:good", "-T", "shop.py")
    ran = within(shop, *words, "--tools-n", "5,15", "--catalogue", "more.json")
    assert ran.code == 0
    heads = [line for line in ran.out.splitlines() if "questions" in line]
    assert heads == [
        "shop.py:good, 5 tools: 8 questions, 5 tools offered",
        "shop.py:good, 15 tools: 8 questions, 15 tools offered",
    ]


def test_a_manifest_and_a_file_of_definitions_give_tools(shop):
    program = {"name": "get_weather", "description": "Tell the weather.", "command": "/bin/echo"}
    (shop / "ops.json").write_text(json.dumps({"version": 1, "tools": [program]}))
    (shop / "ops.json").chmod(0o600)
    mail = {"name": "send_mail", "parameters": {"type": "object", "properties": {}}}
    (shop / "defs.json").write_text(json.dumps([mail]))
    words = ("eval", "cases.jsonl", "-m", "shop.py:good", "--tools")
    ran = within(shop, *words, "ops.json", "--tools", "defs.json")
    assert (ran.code, ran.err) == (0, "")
    assert "8/8" in ran.out


CHECKS = """
from rightcall.evals import checks

CHECKS = [checks.ended(), checks.calls("get_weather")]
"""


def test_recorded_runs_are_judged_by_checks(shop):
    (shop / "checks.py").write_text(CHECKS)
    words = ("ask", "-m", "world.py:weather", "-T", "world.py:get_weather", "-n")
    assert within(shop, *words, "--journal", "runs.jsonl", "Weather?").code == 0
    ran = within(shop, "eval", "checks.py", "--runs", "runs.jsonl")
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out == "ended with end: 1/1  100%  [21%, 100%]\ncalls get_weather: 1/1  100%  [21%, 100%]\n"
    )
    assert within(shop, *words[:2], "world.py:refuses", *words[3:], "--journal", "runs.jsonl", "?").code
    assert within(shop, "eval", "checks.py", "--runs", "runs.jsonl").code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nil.jsonl"], "nil.jsonl cannot be read"),
        (["cases.jsonl", "--replay"], "--replay: say from which journal"),
        (["cases.jsonl", "--tools-n", "5"], "--tools-n: say where the other tools come from"),
        (["cases.jsonl", "--catalogue", "c.json"], "--catalogue: say how many"),
        (["cases.jsonl", "--tools-n", "5,x"], "as 5,15,20,50"),
        (["cases.jsonl", "-m", "shop.py:good"], "no tool 'get_weather' is offered"),
        (["cases.jsonl", "--compare", "shop.py:good", "shop.py:box"], "not one of each"),
        (["cases.jsonl", "-T", "shop.py", "--compare", "shop.py", "vague.py"], "nothing for --tools"),
        (["cases.jsonl", "-m", "x", "--compare", "shop.py:good", "shop.py:mute"], "nothing for --model"),
        (["cases.jsonl", "-T", "shop.py", "-T", "vague.py"], "two tools have the name 'get_weather'"),
        (["checks.py", "--runs", "nil.jsonl"], "there is no journal nil.jsonl"),
    ],
)
def test_what_cannot_be_asked_is_bad_usage(shop, words, said):
    ran = within(shop, "eval", *words)
    assert ran.code == 2
    assert said in ran.err
