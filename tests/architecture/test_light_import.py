"""Importing rightcall costs next to nothing; each part loads on first use."""

import json
import subprocess
import sys

import pytest

import rightcall as rc

HEAVY = [
    "aiohttp",
    "anthropic",
    "asyncio",
    "concurrent.futures",
    "httptools",
    "httpx",
    "jinja2",
    "jsonschema_rs",
    "logging",
    "mcp",
    "msgspec",
    "openai",
    "opentelemetry",
    "pydantic",
    "pydantic_core",
    "rich",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "xllamacpp",
]

NEVER_BY_TOOLS = [
    "aiohttp",
    "anthropic",
    "httptools",
    "httpx",
    "jinja2",
    "mcp",
    "openai",
    "opentelemetry",
    "rich",
    "xllamacpp",
]
"""What no public name may load by itself: HTTP clients, templates, vendors, models."""


def loaded_after(code: str) -> set[str]:
    """The modules that a new Python has loaded after running the code, beyond what it starts with."""
    show = "print(json.dumps(sorted(set(sys.modules) - before)))"
    script = f"import json, sys\nbefore = set(sys.modules)\n{code}\n{show}"
    command = [sys.executable, "-S", "-c", _with_path(script)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return set(json.loads(ran.stdout))


def _with_path(script: str) -> str:
    """``-S`` leaves out site, whose path files may load anything; the path itself is passed on."""
    return f"import sys\nsys.path[:] = {sys.path!r}\n{script}"


def heavy(modules: set[str]) -> list[str]:
    return [name for name in HEAVY if name in modules]


@pytest.mark.parametrize(
    "code",
    [
        "import rightcall",
        "import rightcall as rc; rc.__version__; dir(rc)",
        "import rightcall as rc; rc.errors.RightcallError",
        "import rightcall as rc; rc.ToolFailure",
        "import rightcall.cli.main",
    ],
)
def test_nothing_heavy_is_loaded(code):
    allowed = {"asyncio", "concurrent.futures", "logging", "socket", "ssl", "subprocess", "threading"}
    found = heavy(loaded_after(code))
    # The command line runs an event loop; it still loads no schema and no model code to show its help.
    assert [name for name in found if "cli" not in code or name not in allowed] == []


def test_the_package_itself_is_next_to_nothing():
    modules = loaded_after("import rightcall")
    assert sorted(name for name in modules if name.startswith("rightcall")) == [
        "rightcall",
        "rightcall.core",
        "rightcall.core.lazy",
    ]


def test_no_public_name_loads_a_vendor_a_template_engine_or_a_client():
    # In one Python: what is not there after all of them, none of them has loaded.
    modules = loaded_after("import rightcall as rc\nfor name in rc.__all__: getattr(rc, name)")
    found = [each for each in NEVER_BY_TOOLS if each in modules]
    by = [
        name
        for name in rc.__all__
        if found and set(found) & loaded_after(f"import rightcall as rc; rc.{name}")
    ]
    assert (found, by) == ([], [])


READY = """
import rightcall as rc

@rc.tool
def weather(city: str, days: int = 1) -> str:
    "The weather in a place."
    return city

agent = rc.Agent(rc.testing.ScriptedModel([{fits}, "Done."]), [weather])
assert agent.run_sync("Go").text == "Done."
"""


def test_an_agent_whose_tools_take_plain_values_runs_without_pydantic_and_schemas():
    call = "rc.testing.reply(rc.testing.call('weather', city='Rome'))"
    found = loaded_after(READY.format(fits=call))
    assert [each for each in ("pydantic", "pydantic_core", "jsonschema_rs") if each in found] == []
    wrong = "rc.testing.reply(rc.testing.call('weather', days='two'))"
    assert "pydantic" in loaded_after(READY.format(fits=wrong))


def test_the_check_can_see_what_is_loaded():
    assert "msgspec" in heavy(loaded_after("import msgspec"))
