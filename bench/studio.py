"""The studio with many runs: how long its index takes to make, and its pages to come.

    python bench/studio.py [--runs 100000] [--kind sqlite|jsonl] [--folder /tmp/…]

The journal is made once and kept in the folder.
"""

import argparse
import asyncio
import json
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rightcall.core.budget import Budget, Stop
from rightcall.core.entry import (
    CallChecked,
    CallFinished,
    CallStarted,
    Entry,
    ReplyReceived,
    RequestSent,
    RunEnded,
    RunPaused,
    RunStarted,
)
from rightcall.core.message import Reply, user_text
from rightcall.core.parts import Call, Result, Text, Usage
from rightcall.core.tool import Spec
from rightcall.record.sqlite import SqliteJournal
from rightcall.serve.studio.index import Index
from rightcall.serve.studio.search import RunFilter, facets, find
from rightcall.serve.studio.sources import source_of
from rightcall.serve.studio.tool_stats import all_tools

WORDS = ["invoice", "refund", "order", "weather", "flight", "hotel", "parcel", "account", "report"]
TOOLS = ["search", "pay", "send_mail", "read_mail", "get_weather", "book_flight", "find_file"]
MODELS = ("claude-opus-4-8", "gpt-6-mini", "gemini-4-flash", "local")
SPECS = tuple(Spec(name=name, description=f"{name} something.", parameters={}) for name in TOOLS)
BATCH = 5000


def entries_of(number: int, chance: random.Random) -> Iterator[Entry]:
    """One run as an agent would record it: two calls on average, an ending of some kind."""
    words = " ".join(chance.choices(WORDS, k=12))
    yield RunStarted(
        messages=(user_text(f"Please see to {words}, case {number}."),),
        budget=Budget(),
        specs=SPECS,
        agent=chance.choice(("shop", "desk", "")),
    )
    model, turn = chance.choice(MODELS), 1
    usage = Usage(input_tokens=900, output_tokens=60, cached_tokens=400, cost=0.003)
    for _ in range(chance.choice((0, 1, 2, 2, 5))):
        tool = chance.choice(TOOLS)
        call = Call(id=f"call_{turn}", name=tool, arguments=json.dumps({"what": words[:40]}))
        key = f"t{turn}.0.{tool}"
        yield RequestSent(key=f"t{turn}.model", messages=2 * turn - 1)
        reply = Reply((Text("I look."), call), "calls", usage=usage, model=model)
        yield ReplyReceived(key=f"t{turn}.model", reply=reply, seconds=0.8)
        yield CallChecked(key=key, call_id=call.id)
        yield CallStarted(key=key, call_id=call.id)
        found = Result(
            call_id=call.id, name=tool, outcome="returned", content=(Text(f"Found: {words}."),)
        )
        result = found if chance.random() < 0.9 else replace(found, outcome="failed")
        yield CallFinished(key=key, result=result, seconds=chance.random())
        turn += 1
    yield RequestSent(key=f"t{turn}.model", messages=2 * turn - 1)
    answer = Reply((Text(f"Done with {words}."),), usage=usage, model=model)
    yield ReplyReceived(key=f"t{turn}.model", reply=answer, seconds=0.5)
    if number % 5000 == 17:
        yield RunPaused(key=f"t{turn}.paused", call_ids=("call_1",))
    else:
        yield RunEnded(stop=Stop("end"))


def make(path: Path, runs: int) -> None:
    """Write the journal directly: the journals' own appends are measured elsewhere."""
    chance = random.Random(7)
    rows = (
        (f"run-{number:06}", 1.76e9 + number * 3 + place / 10, msgspec.json.encode(entry).decode())
        for number in range(runs)
        for place, entry in enumerate(entries_of(number, chance))
    )
    if path.suffix == ".jsonl":
        with path.open("w") as file:
            for run, at, entry in rows:
                file.write(f'{{"run":"{run}","at":{at!r},"entry":{entry}}}\n')
        return
    SqliteJournal(path).close()
    with sqlite3.connect(path) as database:
        database.executemany("INSERT INTO entries (run, at, entry) VALUES (?, ?, ?)", rows)


async def index_all(path: Path, index: Index) -> int:
    """Bring the index up to date; how many entries that took."""
    source, entries, batch = source_of(path), 0, None
    while batch is None or batch.written:
        since = index.cursor
        batch = await source.read(since, BATCH)
        index.take(batch, since)
        entries += len(batch.written)
    await source.close()
    return entries


def timed(name: str, work: Callable[[], object], times: int = 5) -> None:
    """Say how long something takes, of a few times, and what it takes of the processor."""
    spent, cpu = [], []
    for _ in range(times):
        begun, before = time.perf_counter(), time.process_time()
        work()
        spent.append(1000 * (time.perf_counter() - begun))
        cpu.append(1000 * (time.process_time() - before))
    print(f"{name:<40} {min(spent):7.1f} to {max(spent):7.1f} ms; {min(cpu):7.1f} ms of CPU at best")


def main() -> None:
    """Make, index, ask."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--kind", default="sqlite")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "rightcall-bench-studio"
    )
    parser.add_argument("--keep", action="store_true", help="take the index as it is")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"{options.runs}.{options.kind}"
    if not path.exists():
        begun = time.perf_counter()
        make(path, options.runs)
        print(f"made {path} in {time.perf_counter() - begun:.1f} s, {path.stat().st_size / 1e6:.0f} MB")
    at = options.folder / f"{options.runs}.{options.kind}.index"
    for old in () if options.keep else options.folder.glob(f"{at.name}*"):
        old.unlink()
    index = Index(at)
    begun, cpu = time.perf_counter(), time.process_time()
    entries = asyncio.run(index_all(path, index))
    took, spent = time.perf_counter() - begun, time.process_time() - cpu
    size = at.stat().st_size / 1e6
    print(f"indexed {entries:,} entries in {took:.1f} s ({spent:.1f} s of CPU), {size:.0f} MB")
    index.close()
    timed("opened again and brought up to date", lambda: asyncio.run(index_all(path, Index(at))), 2)
    index = Index(at)
    for name, wanted in {
        "first page": RunFilter(),
        "a page far down": RunFilter(before=options.runs // 10),
        "of a model": RunFilter(models=("local",)),
        "of a tool": RunFilter(tools=("book_flight",)),
        "of a tool that is not there": RunFilter(tools=("nothing",)),
        "failed calls": RunFilter(outcomes=("failed",)),
        "dearer than 2 cents": RunFilter(min_cost=0.02),
        "search, a word of three runs in four": RunFilter(q="invoice"),
        "search, two words": RunFilter(q="refund flight"),
        "search, a prefix": RunFilter(q="acco"),
        "search, one run": RunFilter(q="case 4711"),
        "search, nothing": RunFilter(q="zebra"),
        "search of a model's": RunFilter(q="hotel", models=("local",)),
    }.items():
        timed(name, lambda wanted=wanted: find(index, wanted, frozenset()))  # type: ignore[misc]
    timed("what can be filtered by", lambda: facets(index, frozenset()))
    timed("tools", lambda: all_tools(index))
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
