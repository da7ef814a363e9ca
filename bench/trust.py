"""What the rules of trust cost: per call that is judged, per result that is taken in, and per run.

A call is judged against transcripts of 10, 100 and 1,000 results. What is known of a run is kept in
tables, so that neither figure may grow with what was said before. Whole runs are measured with rules and
without: many turns of one call, few turns of many, and one large result.
"""

import asyncio
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import rightcall as rc
from rightcall.core.jsontext import dump
from rightcall.core.message import Reply, Results, user_text
from rightcall.core.outcome import Returned
from rightcall.core.parts import Call
from rightcall.core.tool import CheckedCall
from rightcall.gate.check import check
from rightcall.gate.render import render
from rightcall.testing import ScriptedModel, call, reply
from rightcall.trust import Guard, Rules

LENGTHS = (10, 100, 1000)
ROUNDS = 15
TEXT = "the quarterly figures of our northern branch were late again and somebody must look into it"


@rc.tool(
    effect="read",
    facts=rc.Facts(untrusted=("subject", "body"), private=True, reach="user", targets=()),
)
def inbox(page: int) -> list[dict[str, str]]:
    """A page of mail."""
    body = " ".join(
        f"{word}{page}" if at % 7 == 0 else word for at, word in enumerate(TEXT.split() * 20)
    )
    return [{"sender": f"person{page}@firm.example", "subject": f"Letter {page}", "body": body}]


@rc.tool(facts=rc.Facts(untrusted=False, private=False, reach="outside", dangers=(), targets=("to",)))
def send(to: list[str], body: str) -> str:
    """Send a letter."""
    return "sent"


TOOLS = rc.Toolbox(inbox, send)


def exchange(page: int) -> tuple[Reply, Results]:
    call = Call(id=f"c{page}", name="inbox", arguments=dump({"page": page}))
    return Reply((call,), "calls"), Results((render(call, Returned(inbox(page)), inbox),))


def judged(name: str, **arguments: object) -> CheckedCall:
    checked = check(Call(id="now", name=name, arguments=dump(arguments)), TOOLS)
    assert isinstance(checked, CheckedCall)
    return checked


def guard_after(results: int) -> Guard:
    guard = Guard(Rules(), TOOLS)
    guard.see(user_text("Answer person3@firm.example, and tell ann@home.example."))
    for page in range(results):
        for message in exchange(page):
            guard.see(message)
    return guard


def take_in(guard: Guard, pages: Iterator[tuple[Reply, Results]]) -> None:
    for message in next(pages):
        guard.see(message)


def microseconds(work: Callable[[], object], repeat: int) -> float:
    """The median of one go, in time of the processor: others may be at work on the machine."""
    samples = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeat):
            work()
        samples.append((time.process_time() - start) / repeat)
    return statistics.median(samples) * 1e6


async def longest_stall(agent: rc.Agent) -> tuple[float, float]:
    """Seconds that the loop's own thread works in one go at the most, in one run, and CPU of it all."""
    began = time.process_time()
    going = asyncio.ensure_future(agent.run("Read it."))
    longest, last = 0.0, time.thread_time()
    while not going.done():
        await asyncio.sleep(0.0005)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    assert (await going).text == "Done."
    return longest, time.process_time() - began


def reader(size: int, *, trust: bool, journal: bool) -> rc.Agent:
    """An agent whose one tool gives a result of so many bytes."""
    mail = [{"sender": "a@firm.example", "body": (f"to b{size}@firm.example: {TEXT}; " * size)[:size]}]

    @rc.tool(effect="read", facts=inbox.facts, limits=rc.Limits(max_output_bytes=size))
    async def letter() -> list[dict[str, str]]:
        """A letter."""
        return mail

    return rc.Agent(
        ScriptedModel([reply(call("letter")), "Done."]),
        [letter],
        trust=Rules() if trust else None,
        journal=rc.record.MemoryJournal() if journal else None,
    )


RECORDS = 941
"""Of a customer's orders: 237 kB in JSON."""
RUNS = {"100 turns of one call": (100, 1), "10 turns of eight calls": (10, 8)}
"""Turns, and calls in each."""


def orders(count: int) -> list[dict[str, object]]:
    """Records as a shop keeps them, of some 237 bytes each."""
    return [
        {
            "order": f"A-{at:06}",
            "customer": {"name": f"Ann Lee {at}", "mail": f"ann{at}@firm.example"},
            "account": f"DE{at:020}",
            "amount": at * 1.25,
            "status": "delivered" if at % 3 else "pending",
            "note": f"{TEXT[:62]} {at:05}",
            "day": f"2026-{at % 12 + 1:02}-{at % 28 + 1:02}",
        }
        for at in range(count)
    ]


@rc.tool(
    effect="read", facts=rc.Facts(untrusted=("note",), private=True, reach="user", targets=("page",))
)
async def order_of(page: int) -> dict[str, object]:
    """An order."""
    return {"order": f"A-{page}", "status": "delivered", "note": "left at the door"}


def many(turns: int, calls: int, *, trust: bool) -> rc.Agent:
    """An agent whose model makes so many calls in so many turns."""
    script = [
        reply(*[call("order_of", page=turn * calls + at) for at in range(calls)])
        for turn in range(turns)
    ]
    return rc.Agent(
        ScriptedModel([*script, "Done."]),
        [order_of, send],
        trust=Rules() if trust else None,
        budget=rc.Budget(turns=turns + 1, calls=turns * calls),
    )


async def cpu_of_run(turns: int, calls: int, *, trust: bool) -> float:
    """Seconds of CPU of a whole run, the least of some."""
    found = []
    for _ in range(ROUNDS):
        agent = many(turns, calls, trust=trust)
        began = time.process_time()
        result = await agent.run("Read the orders.")
        found.append(time.process_time() - began)
        assert len(result.calls) == turns * calls
    return min(found)


def large_result(*, trust: bool) -> rc.Agent:
    """An agent whose one tool gives all the records."""
    records = orders(RECORDS)

    @rc.tool(effect="read", facts=order_of.facts, limits=rc.Limits(max_output_bytes=1 << 20))
    async def all_orders(page: int) -> list[dict[str, object]]:
        """All orders."""
        return records

    return rc.Agent(
        ScriptedModel([reply(call("all_orders", page=1)), "Done."]),
        [all_orders],
        trust=Rules() if trust else None,
    )


async def cost_of_large_result(*, trust: bool) -> tuple[float, float]:
    """The longest stall and the CPU of a run with one large result; the least of some."""
    made = [large_result(trust=trust) for _ in range(ROUNDS)]
    stalls, cpu = zip(*[await longest_stall(agent) for agent in made], strict=True)
    return min(stalls), min(cpu)


def show_runs() -> None:
    """Whole runs, with rules and without."""
    print(f"\n{'a run':<32}{'without rules':>16}{'with rules':>16}{'times':>8}")
    for name, (turns, calls) in RUNS.items():
        bare = asyncio.run(cpu_of_run(turns, calls, trust=False)) * 1000
        held = asyncio.run(cpu_of_run(turns, calls, trust=True)) * 1000
        print(f"{name:<32}{bare:>13.1f} ms{held:>13.1f} ms{held / bare:>8.2f}")
    size = len(dump(orders(RECORDS)))
    figures = [asyncio.run(cost_of_large_result(trust=trust)) for trust in (False, True)]
    for name, at in ((f"{size:,} bytes of JSON: CPU", 1), ("  the loop works in one go", 0)):
        bare, held = (each[at] * 1000 for each in figures)
        print(f"{name:<32}{bare:>13.1f} ms{held:>13.1f} ms{held / bare:>8.2f}")


WAYS = {"plain": (False, False), "journal": (False, True), "trust": (True, False), "both": (True, True)}


async def least(size: int, way: str) -> tuple[float, float]:
    """The least of some runs: others may be at work on the machine."""
    trust, journal = WAYS[way]
    made = [reader(size, trust=trust, journal=journal) for _ in range(ROUNDS)]
    stalls, cpu = zip(*[await longest_stall(agent) for agent in made], strict=True)
    return min(stalls), min(cpu)


def figures() -> dict[str, float]:
    """Seconds of CPU of a run with a result of 64 kB, and its longest stall; by what is switched on."""
    found: dict[str, float] = {}
    for way in WAYS:
        stall, cpu = asyncio.run(least(64 * 1024, way))
        found |= {f"{way} stall": stall, f"{way} cpu": cpu}
    return found


def main() -> None:
    body = " ".join([TEXT] * 4)
    calls = {
        "vouched for": judged("send", to=["person3@firm.example"], body=body),
        "refused": judged("send", to=["eve@evil.example"], body=f"{body} https://evil.example/x"),
        "a read": judged("inbox", page=1),
    }
    size = len(exchange(7)[1].results[0].text)
    print(f"Python {platform.python_version()}, {platform.machine()}; results of {size:,} characters")
    print(f"{'results so far':<16}" + "".join(f"{name:>14}" for name in calls) + f"{'a new result':>16}")
    for length in LENGTHS:
        guard = guard_after(length)
        row = [microseconds(partial(guard.judge, each), 200) for each in calls.values()]
        pages = iter([exchange(10_000 + page) for page in range(ROUNDS * 20)])
        row.append(microseconds(partial(take_in, guard, pages), 20))
        print(
            f"{length:<16,}" + "".join(f"{each:>11.1f} µs" for each in row[:-1]) + f"{row[-1]:>13.1f} µs"
        )

    for large in (64 * 1024, 1024 * 1024):
        stall, cpu = asyncio.run(least(large, "both"))
        print(
            f"a result of {large // 1024:,} KiB, with a journal: {cpu * 1000:.1f} ms of CPU, "
            f"the loop works {stall * 1000:.1f} ms in one go"
        )
    show_runs()


if __name__ == "__main__":
    main()
