"""Tools that give the model more tools: a search, and a lookup of their manuals."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

from rightcall.core.facts import Facts
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.offer import Offer
from rightcall.core.tokens import spec_tokens
from rightcall.core.tool import Spec, Tool
from rightcall.declare.defer import LOOKUP, SEARCH, Defer, Embedder
from rightcall.declare.manual import line, manual
from rightcall.declare.search import ToolIndex
from rightcall.declare.toolbox import Toolbox

_OURS = Facts(untrusted=False, private=False, reach="nothing", dangers=(), targets=(), content=())
_FUSED = 60
"""The constant k of reciprocal rank fusion, which joins two rankings; the usual value."""
_SEVERAL = 5


_QUERIES: JsonObject = {
    "type": "object",
    "properties": {
        "queries": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 10}
    },
    "required": ["queries"],
    "additionalProperties": False,
}


Loads: TypeAlias = Callable[[Sequence[Spec]], Mapping[str, JsonObject]]
"""By dialect: what makes a vendor load the tools that were found."""


def search_tool(box: Toolbox, settings: Defer, name: str = SEARCH, loads: Loads | None = None) -> Tool:
    """The tool that searches for others and has them offered. Under another name it is OpenAI's own."""
    finder = _Finder([each.spec for each in box if each.deferred], settings)

    async def search_tools(queries: list[str]) -> Offer:
        found = await finder.find(queries)
        if not found:
            return Offer("No tool has any of these words. Try others, or do without a tool.")
        lines = "\n".join(f"- {spec.name}: {line(spec)}" for spec in found)
        words = f"From your next turn on you can call:\n{lines}"
        names = tuple(spec.name for spec in found)
        return Offer(words, names, _stranger(found), {} if loads is None else loads(found))

    told = (
        f"Find tools. There are {len(finder.specs)} more than you see{_by_origin(finder.specs)}; what "
        "is found here you can call from your next turn on. Give two or three short phrasings of what "
        'you want to do, and of each thing if there are several: ["send email", "mail a message"].'
    )
    own: JsonObject = {"type": name, "execution": "client", "description": told, "parameters": _QUERIES}
    return Tool(
        name,
        told,
        _QUERIES,
        search_tools,
        short="Find more tools by what they do.",
        effect="read",
        facts=_OURS,
        native={} if name == SEARCH else {"openai_responses": own},
    )


def lookup_tool(box: Toolbox, *, listed: bool) -> Tool:
    """The tool that returns manuals; where tools are not sent, it lists them and has them offered."""
    specs = {each.name: each.spec for each in box}

    def tool_lookup(name: str) -> Offer:
        spec = specs.get(name)
        if spec is None:
            return Offer(_no_such(name, specs))
        if not listed:
            return Offer(manual(spec), (), spec.origin or None)
        words = f"{manual(spec)}\n\nYou can call it from your next turn on."
        return Offer(words, (name,), spec.origin or None)

    told = "Get a tool's whole manual by its name: what its arguments mean, and examples."
    if listed:
        lines = "\n".join(f"- {name}: {line(spec)}" for name, spec in specs.items())
        told = f"{told} You can call a tool from the turn after you looked it up. There are:\n{lines}"
    return Tool(
        LOOKUP,
        told,
        {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        tool_lookup,
        short="Get a tool's whole manual.",
        effect="read",
        facts=_OURS,
    )


class _Finder:
    """Ranks tools, with an index that is built on first use."""

    def __init__(self, specs: Iterable[Spec], settings: Defer) -> None:
        self.specs = tuple(specs)
        self._settings = settings
        self._index: ToolIndex | None = None
        self._vectors: Sequence[Sequence[float]] = ()

    async def find(self, queries: Sequence[str]) -> list[Spec]:
        if self._index is None:
            # Indexing ten thousand tools takes most of a second.
            self._index = await asyncio.to_thread(ToolIndex, self.specs)
        limit, embed = self._settings.limit, self._settings.embed
        ranked: Sequence[Spec] = self._index.search(queries, limit)
        if embed is not None:
            wide = self._index.search(queries, _FUSED)
            ranked = _fused([wide, await self._by_meaning(queries, embed)])[:limit]
        return _within(ranked, self._settings.tokens)

    async def _by_meaning(self, queries: Sequence[str], embed: Embedder) -> list[Spec]:
        if not self._vectors:
            self._vectors = await embed([f"{spec.name}: {spec.description}" for spec in self.specs])
        asked = await embed(queries)
        best = [max(_cosine(vector, each) for each in asked) for vector in self._vectors]
        order = sorted(range(len(best)), key=lambda place: (-best[place], place))
        return [self.specs[place] for place in order[:_FUSED]]


def _fused(rankings: Sequence[Sequence[Spec]]) -> list[Spec]:
    """Merges several rankings into one, by rank."""
    worth: dict[str, float] = {}
    specs: dict[str, Spec] = {}
    for ranking in rankings:
        for place, spec in enumerate(ranking):
            worth[spec.name] = worth.get(spec.name, 0.0) + 1 / (_FUSED + place)
            specs[spec.name] = spec
    return [specs[name] for name in sorted(worth, key=lambda name: -worth[name])]


def _within(ranked: Sequence[Spec], tokens: int) -> list[Spec]:
    """As many tools as fit the limit, and always the first."""
    found: list[Spec] = []
    used = 0
    for spec in ranked:
        used += spec_tokens([spec])
        if found and used > tokens:
            break
        found.append(spec)
    return found


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum([a * b for a, b in zip(one, other, strict=True)])
    lengths = sum([a * a for a in one]) * sum([b * b for b in other])
    return dot / lengths**0.5 if lengths else 0.0


def _by_origin(specs: Sequence[Spec]) -> str:
    """The tools' origins, so that the model knows whose descriptions they are."""
    counts = Counter(spec.origin for spec in specs if spec.origin)
    return f" ({', '.join(f'{origin}: {n}' for origin, n in counts.items())})" if counts else ""


def _stranger(specs: Iterable[Spec]) -> str | None:
    """The label of a text about these tools, if any of them is not the developer's own."""
    return ", ".join(dict.fromkeys(spec.origin for spec in specs if spec.origin)) or None


def _no_such(name: str, specs: dict[str, Any]) -> str:
    near = get_close_matches(name, specs, n=_SEVERAL, cutoff=0.4)
    near = near or [spec.name for spec in ToolIndex(specs.values()).search([name], _SEVERAL)]
    hint = f" The nearest are: {', '.join(near)}." if near else ""
    return f"There is no tool {dump(name[:100])}.{hint}"
