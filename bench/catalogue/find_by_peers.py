"""The same searches by others' own ranking: fastmcp's BM25, and pydantic-ai's keywords.

To be run where those are installed: ``make bench WHAT=tools-peers``. What is measured is how each
treats the text that it is given; both expect words that a model chose, and raw questions are hard
on them.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
from fastmcp.tools.base import Tool as Theirs
from find_tools import FOUND, Search, bfcl, right
from public_tools import BFCL, CATALOGUE, berkeley, servers
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets._tool_search import keywords_search_fn

from rightcall.core.tool import Spec


def by_fastmcp(specs: Sequence[Spec]) -> Search:
    tools = [
        Theirs(name=s.name, description=s.description, parameters=dict(s.parameters)) for s in specs
    ]
    transform = BM25SearchTransform(max_results=max(FOUND))
    loop = asyncio.new_event_loop()

    def search(queries: Sequence[str]) -> list[str]:
        # One query is all that it takes.
        ranked = transform._search(tools, " ".join(queries))  # noqa: SLF001 - it has no other door
        found: Any = loop.run_until_complete(ranked)
        return [tool.name for tool in found]

    return search


def by_pydantic_ai(specs: Sequence[Spec]) -> Search:
    tools = [
        ToolDefinition(name=s.name, description=s.description, parameters_json_schema=dict(s.parameters))
        for s in specs
    ]
    return lambda queries: keywords_search_fn(None, list(queries), tools)


def main() -> None:
    for name, search in (("fastmcp", by_fastmcp), ("pydantic-ai", by_pydantic_ai)):
        print(f"\n== {name}")
        if CATALOGUE.exists():
            catalogue = servers()
            right(catalogue, search([spec for server in catalogue for spec in server.tools.values()]))
        if BFCL.exists():
            specs, questions = berkeley()
            bfcl(specs, questions, search(specs))


if __name__ == "__main__":
    main()
