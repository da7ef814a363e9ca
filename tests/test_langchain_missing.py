"""Without LangChain, what needs it says what to install."""

import sys

import pytest

import rightcall as rc
from rightcall.errors import UsageError
from rightcall.langchain import from_langchain, langgraph_node, to_langchain
from rightcall.testing import ScriptedModel


def test_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    agent = rc.Agent(ScriptedModel([]))
    for give in (
        lambda: from_langchain(None),  # type: ignore[arg-type]
        lambda: to_langchain(rc.Tool("look", "Look.")),
        lambda: langgraph_node(agent),
    ):
        with pytest.raises(UsageError, match=r"pip install 'rightcall\[langchain\]'"):
            give()
