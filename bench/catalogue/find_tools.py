"""What a catalogue of tools costs, sent in four ways, and whether a search finds the right one.

Tokens are counted by the embedded model's tokenizer, of definitions as Anthropic's API takes them.
``python bench/catalogue/find_tools.py`` needs the files that ``public_tools.py`` names.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from public_tools import BFCL, CATALOGUE, Question, Server, berkeley, servers
from queries import CASES

import rightcall as rc
from rightcall.core.problem import Valid
from rightcall.core.request import Request
from rightcall.core.tool import Spec
from rightcall.declare.search import ToolIndex
from rightcall.loop.tool_offer import ToolDisclosure
from rightcall.request.wire_model import definitions
from rightcall.testing import ScriptedModel, call, reply
from rightcall.wire import anthropic

if TYPE_CHECKING:
    from rightcall.declare.toolbox import Descriptions

FOUND = (1, 5, 10)
Search = Callable[[Sequence[str]], Sequence[str]]


class Counter:
    """Counts tokens of what is sent, by the embedded model's tokenizer."""

    def __init__(self) -> None:
        from rightcall.local.engines.llamacpp import (  # noqa: PLC0415 - peers do without
            LlamaCpp,
            embedded_path,
        )

        self._engine = LlamaCpp(embedded_path())
        self._loop = asyncio.new_event_loop()

    def text(self, text: str) -> int:
        return self._loop.run_until_complete(self._engine.count_tokens(text))

    def tools(self, specs: Sequence[Spec]) -> int:
        sent = definitions(anthropic, "m", specs)
        assert len(sent) == len(specs)
        return self.text("\n".join(sent.values()))

    def request(self, request: Request) -> int:
        return self.text(anthropic.encode(request, model="m", stream=True).body.decode())

    def close(self) -> None:
        self._loop.run_until_complete(self._engine.close())
        self._loop.close()


def as_tools(specs: Sequence[Spec]) -> list[rc.Tool]:
    return [rc.Tool(s.name, s.description, s.parameters, origin=s.origin) for s in specs]


def told(specs: Sequence[Spec], **options: Any) -> tuple[Spec, ...]:
    telling = ToolDisclosure(**options)
    return telling.offer(telling.toolbox(rc.Toolbox(as_tools(specs)))).specs


def tokens(counter: Counter, catalogue: Sequence[Server]) -> None:
    specs = [spec for server in catalogue for spec in server.tools.values()]
    index = ToolIndex(specs)
    whole = counter.tools(specs)
    print(f"\n{len(specs)} tools of {len(catalogue)} MCP servers, tokens on every turn")
    for name, number in (
        ("in full", whole),
        ("short lines and schemas", counter.tools(told(specs, descriptions="short"))),
        ("one line a tool", counter.tools(told(specs, descriptions="lines"))),
    ):
        print(f"  {name:36} {number:>8,} {1 - number / whole:>7.1%} fewer")
    asks = counter.tools(told(specs, defer=True))
    after = [counter.tools(index.search([c.first, c.second], 5)) for c in CASES]
    print(f"  {'search, before':36} {asks:>8,} {1 - asks / whole:>7.1%} fewer")
    for name, found in (("mean", mean(after)), ("median", median(after)), ("worst", max(after))):
        both = int(asks + found)
        print(f"  {f'search, five found ({name})':36} {both:>8,} {1 - both / whole:>7.1%} fewer")


def ours(specs: Sequence[Spec]) -> Search:
    index = ToolIndex(specs)
    return lambda queries: [spec.name for spec in index.search(queries, max(FOUND))]


def right(catalogue: Sequence[Server], search: Search) -> None:
    places = {
        (server.package, name): spec.name for server in catalogue for name, spec in server.tools.items()
    }
    print(f"\nthe right tool within the first {', '.join(map(str, FOUND))}, of {len(CASES)} searches")
    for name, phrasings in (
        ("first phrasing", [[case.first] for case in CASES]),
        ("second phrasing", [[case.second] for case in CASES]),
        ("both", [[case.first, case.second] for case in CASES]),
    ):
        hits = [0] * len(FOUND)
        for case, queries in zip(CASES, phrasings, strict=True):
            found = search(queries)
            wanted = {places[each] for each in case.right}
            for at, number in enumerate(FOUND):
                hits[at] += not wanted.isdisjoint(found[:number])
        print(f"  {name:20}", "  ".join(f"{hit / len(CASES):>6.1%}" for hit in hits))


def bfcl(specs: Sequence[Spec], questions: Sequence[Question], search: Search) -> None:
    print(f"\nall right functions of {len(specs):,} within the first {', '.join(map(str, FOUND))}")
    found = [search([question.text]) for question in questions]
    for name, tuned in (("all questions", True), ("the half not tuned on", False)):
        pairs = [(q, f) for q, f in zip(questions, found, strict=True) if tuned or not q.was_tuned_on]
        shares = [sum(q.wanted <= {*f[:n]} for q, f in pairs) / len(pairs) for n in FOUND]
        print(f"  {name:24} {len(pairs):,}", "  ".join(f"{share:>6.1%}" for share in shares))


def speed(specs: Sequence[Spec], questions: Sequence[Question]) -> None:
    many = [
        replace(spec, name=f"{spec.name}_{'abcdefgh'[copy] * 3}") for copy in range(8) for spec in specs
    ][:10_000]
    taken = []
    for _ in range(3):
        start = time.process_time()
        index = ToolIndex(many)
        taken.append(time.process_time() - start)
    print(f"\n{len(many):,} tools: indexed in {min(taken):.2f} s of CPU")
    for name, queries in (
        ("a whole question", [question.text for question in questions[::20]]),
        ("a short phrasing", [case.first for case in CASES]),
    ):
        start = time.process_time()
        for query in queries:
            index.search([query])
        print(f"  {name}: {(time.process_time() - start) / len(queries) * 1e3:.1f} ms of CPU")


def manuals(counter: Counter, catalogue: Sequence[Server]) -> None:
    """Runs that call one and two of seven tools, told of them in full, or in short and looked up."""
    longest = [
        max(server.tools.values(), key=lambda spec: len(spec.description)) for server in catalogue
    ]
    seven = sorted(longest, key=lambda spec: -len(spec.description))[:7]
    tools = [tool.replace(handler=lambda **_: "ok", validator=_Anything()) for tool in as_tools(seven)]
    first, second = seven[0].name, seven[1].name
    print(
        f"\nseven tools with the longest manuals of their servers: {', '.join(s.origin for s in seven)}"
    )
    runs: list[tuple[Descriptions, list[rc.Call]]] = [
        ("full", [call(first)]),
        ("short", [call("tool_lookup", name=first), call(first)]),
        ("full", [call(first), call(second)]),
        ("short", [each for n in (first, second) for each in (call("tool_lookup", name=n), call(n))]),
    ]
    for words, turns in runs:
        model = ScriptedModel([*map(reply, turns), "Done."])
        rc.Agent(model, tools, descriptions=words, footprint="off").run_sync("Do it.")
        sent = [counter.request(request) for request in model.requests]
        looks = sum(each.name == "tool_lookup" for each in turns)
        each, whole = f"{mean(sent):>7,.0f} tokens a turn", f"{sum(sent):>7,} in all"
        print(f"  {words:5} {looks} look-ups: {len(sent)} turns, {each}, {whole}")


class _Anything:
    """Takes any arguments."""

    def validate(self, text: str, value: Any) -> Valid:
        """Nothing is looked at."""
        return Valid(value)


def main() -> None:
    counter = Counter()
    if CATALOGUE.exists():
        catalogue = servers()
        tokens(counter, catalogue)
        manuals(counter, catalogue)
        right(catalogue, ours([spec for server in catalogue for spec in server.tools.values()]))
    else:
        print(f"there is no {CATALOGUE}; RIGHTCALL_CATALOGUE names another", file=sys.stderr)
    if BFCL.exists():
        specs, questions = berkeley()
        bfcl(specs, questions, ours(specs))
        speed(specs, questions)
    else:
        print(f"there is no {BFCL}; RIGHTCALL_BFCL names another", file=sys.stderr)
    counter.close()


if __name__ == "__main__":
    main()
