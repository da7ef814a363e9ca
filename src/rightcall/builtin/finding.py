"""The tools that give the model more of its tools: a search, and a look into their manuals."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from rightcall.core.facts import Facts
from rightcall.core.jsontext import dump
from rightcall.core.offer import Offer
from rightcall.core.tokens import spec_tokens
from rightcall.core.tool import Spec, Tool
from rightcall.declare.defer import LOOKUP, SEARCH, Defer, Embedder
from rightcall.declare.manual import line, manual
from rightcall.declare.search import ToolIndex
from rightcall.declare.toolbox import Toolbox

_OURS = Facts(untrusted=False, private=False, reach="nothing", dangers=(), targets=(), content=())
_FUSED = 60
"""How little the first places count over the next where two rankings are joined; the usual number."""
_SEVERAL = 5


def search_tool(box: Toolbox, settings: Defer) -> Tool:
    """The tool that finds others, and has them offered."""
    finder = _Finder([each.spec for each in box if each.deferred], settings)

    async def search_tools(queries: list[str]) -> Offer:
        found = await finder.find(queries)
        if not found:
            return Offer("No tool has any of these words. Try others, or do without a tool.")
        lines = "\n".join(f"- {spec.name}: {line(spec)}" for spec in found)
        words = f"From your next turn on you can call:\n{lines}"
        return Offer(words, tuple(spec.name for spec in found), _stranger(found))

    return Tool(
        SEARCH,
        f"Find tools. There are {len(finder.specs)} more than you see{_by_origin(finder.specs)}; what "
        "is found here you can call from your next turn on. Give two or three short phrasings of what "
        'you want to do, and of each thing if there are several: ["send email", "mail a message"].',
        {
            "type": "object",
            "properties": {
                "queries": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 10}
            },
            "required": ["queries"],
            "additionalProperties": False,
        },
        search_tools,
        short="Find more tools by what they do.",
        effect="read",
        facts=_OURS,
    )


def lookup_tool(box: Toolbox, *, listed: bool) -> Tool:
    """The tool that gives manuals; where they are not sent, it lists the others and has them offered."""
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
    """Ranks tools, by an index that is made when it is first needed."""

    def __init__(self, specs: Iterable[Spec], settings: Defer) -> None:
        self.specs = tuple(specs)
        self._settings = settings
        self._index: ToolIndex | None = None
        self._vectors: Sequence[Sequence[float]] = ()

    async def find(self, queries: Sequence[str]) -> list[Spec]:
        if self._index is None:
            # Ten thousand tools take most of a second.
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
    """One ranking of several, by the places in each."""
    worth: dict[str, float] = {}
    specs: dict[str, Spec] = {}
    for ranking in rankings:
        for place, spec in enumerate(ranking):
            worth[spec.name] = worth.get(spec.name, 0.0) + 1 / (_FUSED + place)
            specs[spec.name] = spec
    return [specs[name] for name in sorted(worth, key=lambda name: -worth[name])]


def _within(ranked: Sequence[Spec], tokens: int) -> list[Spec]:
    """As many as fit, and the first in any case."""
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
    """Whose tools they are, so that the model knows the words of those."""
    counts = Counter(spec.origin for spec in specs if spec.origin)
    return f" ({', '.join(f'{origin}: {n}' for origin, n in counts.items())})" if counts else ""


def _stranger(specs: Iterable[Spec]) -> str | None:
    """Whose words a text about these tools is, where any of them is not the developer's."""
    return ", ".join(dict.fromkeys(spec.origin for spec in specs if spec.origin)) or None


def _no_such(name: str, specs: dict[str, Any]) -> str:
    near = get_close_matches(name, specs, n=_SEVERAL, cutoff=0.4)
    near = near or [spec.name for spec in ToolIndex(specs.values()).search([name], _SEVERAL)]
    hint = f" The nearest are: {', '.join(near)}." if near else ""
    return f"There is no tool {dump(name[:100])}.{hint}"
