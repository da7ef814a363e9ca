"""The public names are a list that somebody approved."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import rightcall as rc
from rightcall.core.moved_names import MOVED

APPROVED = [
    "Agent",
    "Allow",
    "Answer",
    "Ask",
    "Budget",
    "Call",
    "Compaction",
    "Context",
    "Conversations",
    "Deny",
    "Facts",
    "Hooks",
    "Intent",
    "Later",
    "Limits",
    "Output",
    "Plan",
    "Reply",
    "Results",
    "Rewrite",
    "RunResult",
    "Tool",
    "ToolFailure",
    "Toolbox",
    "User",
    "ask",
    "at_most",
    "batching",
    "builtin",
    "connect",
    "conversation",
    "durable",
    "errors",
    "evals",
    "events",
    "file",
    "found",
    "gate",
    "handoff",
    "image",
    "local",
    "manifest",
    "mcp",
    "models",
    "observe",
    "programs",
    "record",
    "replay",
    "run_calls",
    "serve",
    "testing",
    "tool",
    "tools",
    "trust",
    "wire",
]
MOST = 55


def test_the_public_names_are_the_approved_ones():
    assert sorted(rc.__all__) == sorted(APPROVED)
    assert len(APPROVED) <= MOST


def test_no_name_is_listed_twice_or_out_of_order():
    assert rc.__all__ == sorted(set(rc.__all__))


@pytest.mark.parametrize("name", APPROVED)
def test_every_public_name_is_there_and_documented(name):
    found = getattr(rc, name)
    assert (found.__doc__ or "").strip()


def test_dir_shows_the_public_names_and_nothing_else():
    assert sorted(dir(rc)) == sorted([*APPROVED, "__version__"])


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'rightcall' has no attribute 'Toolbx'") as caught:
        _ = rc.Toolbx
    # Python adds the nearest name where it shows the error, by these.
    assert (caught.value.name, caught.value.obj) == ("Toolbx", rc)


@pytest.mark.parametrize("name", MOVED)
def test_a_name_that_has_moved_is_an_attribute_error_with_its_new_place(name):
    where = MOVED[name]
    if name not in vars(rc):  # a package that somebody imported is an attribute, as any submodule
        with pytest.raises(AttributeError, match=re.escape(f"rc.{name} is {where} now")):
            getattr(rc, name)
    home, *rest = where.removeprefix("rc.").removeprefix("rightcall.").split(".")
    found = import_module(f"rightcall.{home}") if where.startswith("rightcall.") else getattr(rc, home)
    for each in rest:
        found = getattr(found, each)
    assert (found.__doc__ or "").strip()


def test_no_public_function_or_class_has_the_name_of_a_module():
    # Importing the module would put it in the place of the function.
    found = [name for name in APPROVED if find_spec(f"rightcall.{name}") is not None]
    assert [name for name in found if not isinstance(getattr(rc, name), ModuleType)] == []


def test_the_lazy_names_are_the_public_ones_and_type_checkers_see_the_same():
    tree = ast.parse(Path(rc.__file__).read_text())
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {each.name for node in guarded.body for each in node.names}
    assert seen == set(rc._HOMES) == set(APPROVED)
