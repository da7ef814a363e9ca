"""Programs beside round trips: the tokens of three fixed jobs both ways, and what an inner call costs.

The model is scripted, so that both ways do the same. Every token of every turn is counted, by SmolLM2's
tokenizer: what the model is sent (the tools' definitions and all messages so far) and what it writes.
Round trips are counted twice: with one call a reply, and with all calls in one reply that need not wait
for each other.
"""

import asyncio
import platform
import resource
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

import rightcall as rc
from rightcall.core.jsontext import dump
from rightcall.core.message import Message, Reply, Results, User
from rightcall.core.parts import Call, Text
from rightcall.core.request import Request
from rightcall.local.engines.llamacpp import LlamaCpp, embedded_path
from rightcall.testing import ScriptedModel, call, reply

CALLS = 400
ROUNDS = 5


class Order(BaseModel):
    """An order of the shop."""

    id: int
    customer: int
    status: str
    placed: str
    items: list[str]
    total: float


class Customer(BaseModel):
    """A customer of the shop."""

    id: int
    name: str
    city: str
    email: str


class Page(BaseModel):
    """Some events, and where the next page begins; None after the last."""

    events: list[str]
    next: int | None


@rc.tool(effect="read")
def get_order(number: int) -> Order:
    """Look an order up.

    Args:
        number: The order's number.
    """
    return Order(
        id=number,
        customer=number % 12 + 1,
        status="shipped" if number % 3 else "open",
        placed=f"2026-10-{number % 28 + 1:02}",
        items=[f"article {number * 7 % 90}", f"article {number * 11 % 90}"],
        total=round(number * 7.35 % 240, 2),
    )


@rc.tool(effect="read")
def list_orders(since: str) -> list[Order]:
    """All orders placed since a day.

    Args:
        since: The day, as in 2026-09-30.
    """
    return [each for each in map(get_order, range(1, 41)) if each.placed >= since]


@rc.tool(effect="read")
def list_customers() -> list[Customer]:
    """All customers."""
    cities = ("Bergen", "Lyon", "Porto")
    return [
        Customer(id=n, name=f"Customer {n}", city=cities[n % 3], email=f"c{n}@shop.example")
        for n in range(1, 13)
    ]


@rc.tool(effect="read")
def read_log(start: int = 0) -> Page:
    """A page of the shop's log.

    Args:
        start: Where the page begins.
    """
    events = [f"{start + n:04} {'payment refused' if start + n == 95 else 'ok'}" for n in range(10)]
    return Page(events=events, next=start + 10 if start < 190 else None)


TOOLS: list[Any] = [get_order, list_orders, list_customers, read_log]


class Job(Struct, frozen=True, eq=False):
    """A job, and how it is done both ways."""

    name: str
    prompt: str
    rounds: Sequence[Sequence[Call]]
    """The calls that need not wait for each other, round by round."""
    program: str
    truth: Callable[[], Any]
    answer: str


def _numbers() -> list[int]:
    return list(range(101, 121))


def _by_city() -> dict[str, float]:
    cities = {each.id: each.city for each in list_customers()}
    sums: dict[str, float] = {}
    for order in list_orders("2026-10-01"):
        city = cities[order.customer]
        sums[city] = round(sums.get(city, 0) + order.total, 2)
    return sums


JOBS = [
    Job(
        "twenty look-ups and a total",
        f"What do the orders {', '.join(map(str, _numbers()))} come to together?",
        [[call("get_order", number=number) for number in _numbers()]],
        "import asyncio\n"
        "orders = await asyncio.gather(*[get_order(n) for n in range(101, 121)])\n"
        'round(sum(order["total"] for order in orders), 2)',
        lambda: round(sum(get_order(number).total for number in _numbers()), 2),
        "Together they come to {}.",
    ),
    Job(
        "a join of two lists",
        "How much did each city order since 2026-10-01?",
        [[call("list_customers"), call("list_orders", since="2026-10-01")]],
        "import asyncio\n"
        'customers, orders = await asyncio.gather(list_customers(), list_orders("2026-10-01"))\n'
        'city = {each["id"]: each["city"] for each in customers}\n'
        "sums: dict[str, float] = {}\n"
        "for order in orders:\n"
        '    where = city[order["customer"]]\n'
        '    sums[where] = round(sums.get(where, 0) + order["total"], 2)\n'
        "sums",
        _by_city,
        "By city: {}.",
    ),
    Job(
        "a loop until a condition",
        "Where in the log was a payment refused first?",
        [[call("read_log", start=start)] for start in range(0, 100, 10)],
        "start = 0\n"
        "found = None\n"
        "while found is None and start is not None:\n"
        "    page = await read_log(start)\n"
        '    hits = [each for each in page["events"] if "payment refused" in each]\n'
        "    found = hits[0] if hits else None\n"
        '    start = page["next"]\n'
        "found",
        lambda: "0095 payment refused",
        "It was refused at {}.",
    ),
]


class Cost(Struct, frozen=True):
    turns: int
    tokens: int


async def run(
    engine: LlamaCpp, job: Job, turns: Sequence[Sequence[Call]], tools: list[Any]
) -> tuple[Cost, rc.RunResult[Any]]:
    """Do a job by these calls, turn by turn; what every turn of it weighs."""
    model = ScriptedModel([*[reply(*calls) for calls in turns], job.answer.format(dump(job.truth()))])
    result = await rc.Agent(model, tools).run(job.prompt)
    assert all(each.outcome == "returned" for each in result.calls), result.calls
    tokens = 0
    for request, said in zip(model.requests, result.replies, strict=True):
        tokens += sum([await engine.count_tokens(text) for text in [*_sent(request), *_texts(said)]])
    return Cost(len(model.requests), tokens), result


def _sent(request: Request) -> list[str]:
    specs = [f"{spec.name}\n{spec.description}\n{dump(spec.parameters)}" for spec in request.specs]
    return [*specs, *[text for message in request.messages for text in _texts(message)]]


def _texts(message: Message) -> list[str]:
    match message:
        case User() | Results():
            parts = message.content if isinstance(message, User) else _results(message)
            return [part.text for part in parts if isinstance(part, Text)]
        case Reply(content):
            calls = [f"{each.name}\n{each.arguments}" for each in content if isinstance(each, Call)]
            return [*calls, message.text]


def _results(message: Results) -> list[Any]:
    return [part for result in message.results for part in result.content]


async def jobs() -> None:
    engine = LlamaCpp(embedded_path())
    print(f"{'':30}{'one call a turn':>22}{'calls at once':>22}{'a program':>22}   fewer")
    for job in JOBS:
        at_once = [*job.rounds]
        one_by_one = [[each] for calls in job.rounds for each in calls]
        first, _ = await run(engine, job, one_by_one, TOOLS)
        second, _ = await run(engine, job, at_once, TOOLS)
        third, result = await run(
            engine, job, [[call("run_program", program=job.program)]], [rc.programs.code(TOOLS)]
        )
        truth = job.truth()
        assert result.calls[0].result.text == (truth if isinstance(truth, str) else dump(truth))
        columns = "".join(
            f"{f'{each.tokens:,} in {each.turns} turns':>22}" for each in (first, second, third)
        )
        fewer = [f"{1 - third.tokens / each.tokens:.0%}" for each in (first, second)]
        print(f"{job.name:30}{columns}   {' and '.join(fewer)}")
    await engine.close()


@rc.tool(effect="read")
async def nothing(number: int) -> int:
    """Nothing."""
    return number


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


async def _spent(program: str, journal: rc.record.Journal | None = None) -> float:
    """Seconds of CPU of a run with one program, Monty's process included."""
    model = ScriptedModel([reply(call("run_program", program=program)), "Done."])
    box = rc.programs.code([nothing], calls=CALLS)
    agent = rc.Agent(model, box, budget=rc.Budget(calls=None), journal=journal)
    start = _cpu()
    result = await agent.run("Go.")
    assert result.calls[0].outcome == "returned", result.calls[0].result.text
    return _cpu() - start


async def overhead() -> None:
    one_by_one = "for n in range({}):\n    await nothing(n)\n0"
    at_once = "import asyncio\nawait asyncio.gather(*[nothing(n) for n in range({})])\n0"
    await _spent("0")
    empty = min([await _spent("0") for _ in range(ROUNDS)])
    print(f"\na program that calls nothing, with its check and its process: {empty * 1e3:.1f} ms of CPU")
    for name, program in (("one after the other", one_by_one), ("at once", at_once)):
        for kept in (False, True):
            each = []
            for _ in range(ROUNDS):
                journal = rc.record.MemoryJournal() if kept else None
                base = await _spent(program.format(0))
                each.append((await _spent(program.format(CALLS), journal) - base) / CALLS)
            where = "in memory" if kept else "nowhere"
            print(f"an inner call, {name}, recorded {where}: {min(each) * 1e6:.0f} µs of CPU")


async def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}")
    await jobs()
    await overhead()


if __name__ == "__main__":
    asyncio.run(main())
