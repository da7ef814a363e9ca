"""Public catalogues as tools: of MCP servers, and of Berkeley's function-calling questions.

``RIGHTCALL_CATALOGUE`` names a JSON file of servers with their tools, as ``tools/list`` gives them;
``RIGHTCALL_BFCL`` the folder of bfcl-eval's data. Nothing of either is kept here.
"""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from rightcall.core.tool import Spec

CATALOGUE = Path(os.environ.get("RIGHTCALL_CATALOGUE", "../shared/data/mcp-catalogue/tools.json"))
BFCL = Path(os.environ.get("RIGHTCALL_BFCL", "../shared/data/bfcl"))
_CATEGORIES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}


class Server(NamedTuple):
    """One server, and its tools by the names that they have there."""

    package: str
    name: str
    tools: dict[str, Spec]


class Question(NamedTuple):
    """What a user says, and the functions that it takes."""

    text: str
    wanted: frozenset[str]

    @property
    def was_tuned_on(self) -> bool:
        """Whether it is in the half that the ranking's numbers were chosen on."""
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 0


def servers() -> list[Server]:
    """The servers of the catalogue; names get the server's before them, as an MCP client gives them."""
    found = []
    for each in json.loads(CATALOGUE.read_text()):
        word = re.sub(r"[^A-Za-z0-9]+", "_", each["server"]).strip("_").lower()
        tools = {
            tool["name"]: Spec(
                name=_fit(f"{word}_{tool['name']}"),
                description=tool.get("description", ""),
                parameters=tool["inputSchema"],
                origin=each["server"],
            )
            for tool in each["tools"]
        }
        found.append(Server(each["package"], each["server"], tools))
    return found


def _fit(name: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return name if len(name) <= 64 else f"{name[:55]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def berkeley() -> tuple[list[Spec], list[Question]]:
    """Every function by its name, the first definition of each, and every question."""
    functions: dict[str, Spec] = {}
    questions = []
    for category in _CATEGORIES:
        truths = {row["id"]: row["ground_truth"] for row in rows(f"possible_answer/{category}")}
        for row in rows(category):
            for each in row["function"]:
                spec = Spec(
                    name=each["name"],
                    description=each["description"],
                    parameters=as_schema(each["parameters"]),
                )
                functions.setdefault(each["name"], spec)
            said = " ".join(
                m["content"] for turn in row["question"] for m in turn if m["role"] == "user"
            )
            wanted = frozenset(name for call in truths[row["id"]] for name in call)
            questions.append(Question(said, wanted))
    return list(functions.values()), questions


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one of Berkeley's files."""
    folder, _, category = name.rpartition("/")
    path = BFCL / folder / f"BFCL_v4_{category}.json"
    return [json.loads(line) for line in path.read_text().splitlines()]


def as_schema(node: Any) -> Any:
    """JSON Schema of Berkeley's own words for types."""
    if isinstance(node, dict):
        return {
            key: _TYPES.get(value, value)
            if key == "type" and isinstance(value, str)
            else as_schema(value)
            for key, value in node.items()
        }
    return [as_schema(each) for each in node] if isinstance(node, list) else node
