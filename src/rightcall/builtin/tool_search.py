"""Tools that give the model more tools: a search, and a lookup of their manuals."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from rightcall.core.facts import Facts
from rightcall.core.handler import FoundTools
from rightcall.core.jsontext import JsonObject, dump
from rightcall.core.message import spec_tokens
from rightcall.core.tool import Spec, Tool, object_schema
from rightcall.declare.manual import manual, summary_line
from rightcall.declare.search import ToolIndex
from rightcall.declare.toolbox import LOOKUP, SEARCH, Defer, Toolbox

_OURS = Facts(untrusted=False, private=False, reach="nothing", dangers=(), targets=())
_FUSED = 60
"""The constant k of reciprocal rank fusion, which joins two rankings; the usual value."""
_SEVERAL = 5


_QUERIES: JsonObject = object_schema(
    ["queries"], queries={"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 10}
)


Loads: TypeAlias = Callable[[Sequence[Spec]], Mapping[str, JsonObject]]
"""By dialect: what makes a vendor load the tools that were found."""


def search_tool(box: Toolbox, settings: Defer, name: str = SEARCH, loads: Loads | None = None) -> Tool:
    """The tool that searches for others and has them offered. Under another name it is OpenAI's own."""
    finder = _Finder([each.spec for each in box if each.deferred], settings)

    async def search_tools(queries: list[str]) -> FoundTools:
        found = await finder.find(queries)
        if not found:
            return FoundTools("No tool has any of these words. Try others, or do without a tool.")
        lines = ["From your next turn on you can call:"]
        origins: dict[str, None] = {}
        for spec in found:
            lines.append(f"- {spec.name}: {summary_line(spec)}")
            if spec.origin:
                origins[spec.origin] = None
        return FoundTools(
            "\n".join(lines),
            tuple([spec.name for spec in found]),
            ", ".join(origins) or None,
            {} if loads is None else loads(found),
        )

    # The tools' origins, so that the model knows whose descriptions they are.
    counts = Counter([spec.origin for spec in finder.specs])
    del counts[""]
    described = ""
    if counts:
        described = f" ({', '.join([f'{origin}: {count}' for origin, count in counts.items()])})"
    description = (
        f"Find tools. There are {len(finder.specs)} more than you see{described}; what "
        "is found here you can call from your next turn on. Give two or three short phrasings of what "
        'you want to do, and of each thing if there are several: ["send email", "mail a message"].'
    )
    own: JsonObject = {
        "type": name,
        "execution": "client",
        "description": description,
        "parameters": _QUERIES,
    }
    return Tool(
        name,
        description,
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

    def tool_lookup(name: str) -> FoundTools:
        spec = specs.get(name)
        if spec is None:
            near = get_close_matches(name, specs, n=_SEVERAL, cutoff=0.4)
            if not near:
                near = [spec.name for spec in ToolIndex(specs.values()).search([name], _SEVERAL)]
            hint = f" The nearest are: {', '.join(near)}." if near else ""
            return FoundTools(f"There is no tool {dump(name[:100])}.{hint}")
        if not listed:
            return FoundTools(manual(spec), (), spec.origin or None)
        words = f"{manual(spec)}\n\nYou can call it from your next turn on."
        return FoundTools(words, (name,), spec.origin or None)

    description = "Get a tool's whole manual by its name: what its arguments mean, and examples."
    if listed:
        lines = "\n".join(f"- {name}: {summary_line(spec)}" for name, spec in specs.items())
        offer = "You can call a tool from the turn after you looked it up. There are:"
        description = f"{description} {offer}\n{lines}"
    return Tool(
        LOOKUP,
        description,
        object_schema(["name"], name={"type": "string"}),
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
        limit = self._settings.limit
        embed = self._settings.embed
        ranked: Sequence[Spec] = self._index.search(queries, limit)
        if embed is not None:
            wide = self._index.search(queries, _FUSED)
            if not self._vectors:
                self._vectors = await embed([f"{spec.name}: {spec.description}" for spec in self.specs])
            asked = await embed(queries)
            best: list[float] = []
            for vector in self._vectors:
                best.append(max([_cosine(vector, each) for each in asked]))
            order = sorted(range(len(best)), key=lambda place: (-best[place], place))
            rankings = [wide, [self.specs[place] for place in order[:_FUSED]]]
            # Reciprocal rank fusion: each ranking adds to a tool's worth, by its place there.
            worth: dict[str, float] = {}
            specs: dict[str, Spec] = {}
            for ranking in rankings:
                for place, spec in enumerate(ranking):
                    worth[spec.name] = worth.get(spec.name, 0.0) + 1 / (_FUSED + place)
                    specs[spec.name] = spec
            names = sorted(worth, key=lambda name: -worth[name])
            ranked = [specs[name] for name in names[:limit]]
        # As many tools as fit the limit of tokens, and always the first.
        fitting: list[Spec] = []
        used = 0
        for spec in ranked:
            used += spec_tokens([spec])
            if fitting and used > self._settings.tokens:
                break
            fitting.append(spec)
        return fitting


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    dot = sum([a * b for a, b in zip(one, other, strict=True)])
    lengths = sum([a * a for a in one]) * sum([b * b for b in other])
    return dot / lengths**0.5 if lengths else 0.0
