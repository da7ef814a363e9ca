"""The public names are a list that somebody approved."""

import ast
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import toolwright as tw

APPROVED = [
    "Agent",
    "Allow",
    "Answer",
    "Ask",
    "Budget",
    "Call",
    "CheckedCall",
    "Context",
    "Deny",
    "Execution",
    "Executor",
    "Facts",
    "Hooks",
    "Limits",
    "Media",
    "Named",
    "Output",
    "Problem",
    "Reply",
    "Result",
    "Rewrite",
    "RunResult",
    "Spec",
    "Text",
    "Tool",
    "ToolFailure",
    "Toolbox",
    "Usage",
    "User",
    "Veto",
    "Window",
    "ask",
    "builtin",
    "check",
    "connect",
    "errors",
    "events",
    "local",
    "manifest",
    "mcp",
    "outcome",
    "record",
    "replay",
    "run_calls",
    "testing",
    "tool",
    "trust",
    "wire",
]
MOST = 50


def test_the_public_names_are_the_approved_ones():
    assert sorted(tw.__all__) == sorted(APPROVED)
    assert len(APPROVED) <= MOST


def test_no_name_is_listed_twice_or_out_of_order():
    assert tw.__all__ == sorted(set(tw.__all__))


@pytest.mark.parametrize("name", APPROVED)
def test_every_public_name_is_there_and_documented(name):
    found = getattr(tw, name)
    assert (found.__doc__ or "").strip()


def test_dir_shows_the_public_names_and_nothing_else():
    assert sorted(dir(tw)) == sorted([*APPROVED, "__version__"])


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'toolwright' has no attribute 'Toolbx'"):
        _ = tw.Toolbx


def test_no_public_function_or_class_has_the_name_of_a_module():
    # Importing the module would put it in the place of the function.
    found = [name for name in APPROVED if find_spec(f"toolwright.{name}") is not None]
    assert [name for name in found if not isinstance(getattr(tw, name), ModuleType)] == []


def test_the_lazy_names_are_the_public_ones_and_type_checkers_see_the_same():
    tree = ast.parse(Path(tw.__file__).read_text())
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {each.name for node in guarded.body for each in node.names}
    assert seen == set(tw._HOMES) == set(APPROVED)
