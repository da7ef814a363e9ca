"""The public names are a list that somebody approved."""

import ast
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import rightcall as rc

APPROVED = [
    "Agent",
    "Allow",
    "Answer",
    "Ask",
    "AsyncJournal",
    "Budget",
    "Call",
    "CallRecord",
    "CheckedCall",
    "Context",
    "Decision",
    "Defer",
    "Deny",
    "Event",
    "Execution",
    "Executor",
    "Facts",
    "FinalDecision",
    "Grant",
    "Hooks",
    "Journal",
    "Limits",
    "Media",
    "Model",
    "ModelOptions",
    "Named",
    "Observer",
    "Output",
    "Plan",
    "Problem",
    "Profile",
    "Proposal",
    "Reply",
    "Request",
    "Result",
    "Retry",
    "Rewrite",
    "RunResult",
    "Spec",
    "Steps",
    "Stop",
    "Text",
    "Timeouts",
    "Tool",
    "ToolFailure",
    "Toolbox",
    "Usage",
    "User",
    "Veto",
    "Window",
    "ask",
    "batch",
    "builtin",
    "check",
    "code",
    "connect",
    "durable",
    "errors",
    "events",
    "fallback",
    "file",
    "footprint",
    "from_langchain",
    "from_messages",
    "image",
    "langgraph_node",
    "lint",
    "local",
    "manifest",
    "mcp",
    "observe",
    "outcome",
    "plan",
    "process",
    "record",
    "replay",
    "run_calls",
    "testing",
    "to_langchain",
    "to_messages",
    "tool",
    "trust",
    "wire",
]
MOST = 83


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
    with pytest.raises(AttributeError, match="module 'rightcall' has no attribute 'Toolbx'"):
        _ = rc.Toolbx


def test_no_public_function_or_class_has_the_name_of_a_module():
    # Importing the module would put it in the place of the function.
    found = [name for name in APPROVED if find_spec(f"rightcall.{name}") is not None]
    assert [name for name in found if not isinstance(getattr(rc, name), ModuleType)] == []


def test_the_lazy_names_are_the_public_ones_and_type_checkers_see_the_same():
    tree = ast.parse(Path(rc.__file__).read_text())
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {each.name for node in guarded.body for each in node.names}
    assert seen == set(rc._HOMES) == set(APPROVED)
