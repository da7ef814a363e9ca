"""The libraries one comes from: each in an environment that tests/clients/install.py makes."""

import os

import pytest

from clients.places import absence, program

PLACES = {
    "pydantic-ai": ("peer", "pydantic-ai"),
    "openai-agents": ("peer", "openai-agents"),
    "langchain": ("pip", "langchain"),
    "openai": ("pip", "sdks"),
    "anthropic": ("pip", "sdks"),
    "google-genai": ("pip", "sdks"),
    "litellm": ("peer", "litellm"),
}


def command(peer: str, name: str = "python") -> str:
    """A command of a peer's environment; they run on request: they are large, and other people's."""
    if "RIGHTCALL_COMING_FROM" not in os.environ:
        pytest.skip("other people's libraries are run by: make test WHAT=coming-from")
    missing = absence(*PLACES[peer])
    assert missing is None, missing
    return program(*PLACES[peer], name)
