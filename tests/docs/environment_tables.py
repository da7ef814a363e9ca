"""The tables of what surrounds the library: variables of the environment, loggers, extras."""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import rightcall
from docs.declared import plain, words_below
from docs.marked import ROOT, table
from rightcall import log
from rightcall.builtin import shell_tool
from rightcall.mcp.client.endpoints import INHERITED
from rightcall.models.providers import PROVIDERS

HERE = Path(__file__).parent
VARIABLES: dict[str, dict[str, str]] = tomllib.loads((HERE / "environment.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
HANDED_ON = {"shells": shell_tool._INHERITED, "MCP servers": INHERITED}
NO_VARIABLES = {"MSG_CMSG_CLOEXEC"}
"""Words that look like variables, and are none."""

ABOUT_EXTRAS = {
    "all": "everything but the extras that say they are not part of it",
    "aws": "AWS profiles, roles and sign-ins, for Bedrock ([Bedrock](../models.md#amazon-bedrock))",
    "azure": "Microsoft Entra's tokens, for Azure ([Azure](../models.md#azure-openai))",
    "cli": "colours and progress in the terminal",
    "code": "programs that call your tools, in place of round trips ([programs](../code.md))",
    "computer": "a browser for the model to use ([vendors' tools](../vendor-tools.md))",
    "durable": "runs that outlive processes, kept in SQLite or Postgres ([durable runs](../durable.md))",
    "google": "Google Cloud's credentials, for Vertex AI ([Vertex AI](../models.md#vertex-ai))",
    "langchain": "LangChain's tools, and agents as nodes of LangGraph ([formats](../shapes.md))",
    "local": "models that run here, the embedded one included ([local models](../local.md))",
    "mcp": "MCP servers and clients ([MCP](../mcp.md))",
    "otel": "traces and metrics by OpenTelemetry ([traces](../observe.md))",
    "prices": "what a run costs, and `Budget(cost=…)`, where the vendor does not say it",
    "restate": "durable runs, kept by a Restate server ([durable runs](../durable.md))",
    "serve": "the [gateway](../gateway.md) and the [studio](../studio.md)",
    "transformers": "Hugging Face models in this process, on torch ([local models](../local.md))",
    "web": "reading web pages ([built-in tools](../builtin.md))",
}


def variables() -> str:
    """Every variable that is read, by who reads it."""
    parts = {"Providers of models": list(of_providers()), **dict(_listed())}
    parts["Child processes"] += inherited()
    return "\n".join(
        f"### {title}\n\n{table(('variable', 'what it does'), rows)}" for title, rows in parts.items()
    )


def of_providers() -> Iterator[tuple[str, str]]:
    """The keys and addresses of providers."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, provider in PROVIDERS.items():
        parts = re.findall(r"\{([A-Z_]+)\}", provider.url)
        uses = [(key, "a key of") for key in provider.keys]
        uses += [(part, "part of the address of") for part in parts]
        if provider.url_variable:
            uses.append((provider.url_variable, "another address of"))
        for use in uses:
            found.setdefault(use, []).append(f"`{name}`")
    for (variable, what), names in sorted(found.items()):
        yield f"`{variable}`", f"{what} {', '.join(names)}"


def _listed() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for title, found in VARIABLES.items():
        yield title, [(f"`{name}`", words) for name, words in found.items()]


def inherited() -> Iterator[tuple[str, str]]:
    """What child processes get of the environment, by itself."""
    for name in sorted({name for names in HANDED_ON.values() for name in names}):
        to = " and ".join(whom for whom, names in HANDED_ON.items() if name in names)
        yield f"`{name}`", f"handed on to {to}"


def read_by_the_code() -> set[str]:
    """Every word in the modules that read the environment which looks like a variable."""
    found = set()
    for path in Path(rightcall.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if "environ" in text or "variable" in text:
            words = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
            found |= {word for word in words if isinstance(word, str) and NAME.fullmatch(word)}
    return found - NO_VARIABLES


def loggers() -> str:
    """Every logger."""
    said = words_below(log)
    found = {
        name: value for name, value in vars(log).items() if name in said and hasattr(value, "filters")
    }
    return table(
        ("logger", "what it tells"),
        [(f"`{each.name}`", plain(said[name])) for name, each in found.items()],
    )


def extras() -> str:
    """Every extra: what it is for, what it installs, whether it is part of ``all``."""
    groups: dict[str, list[str]] = PROJECT["optional-dependencies"]
    in_all = re.findall(r"[\w-]+", groups["all"][0].partition("[")[2])
    rows = []
    for name, needs in sorted(groups.items()):
        if name != "dev":
            installs = ", ".join(f"`{re.split(r'[<>=;~! ]', each)[0]}`" for each in needs)
            part = "" if name == "all" else "yes" if name in in_all else "no"
            rows.append((f"`{name}`", ABOUT_EXTRAS[name], installs, part))
    return table(("extra", "for", "installs", "part of `all`"), rows)


TABLES: dict[str, Callable[[], str]] = {"variables": variables, "loggers": loggers, "extras": extras}
