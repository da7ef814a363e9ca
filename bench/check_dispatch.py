"""What one call costs from the model's text to the result, beside the least it could cost.

The floor is pydantic's ``validate_json`` on the same text, with the function called directly: no gate
for repeated keys, no deadline, no limits, no result.
"""

import asyncio
import datetime
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pydantic
from pydantic import BaseModel, TypeAdapter

import rightcall as rc

ROUNDS = 9
CALLS = 4_000
THREADED_CALLS = 400
AIM = 3.0


class Passenger(BaseModel):
    name: str
    age: int


async def find_flights(
    origin: str,
    destination: str,
    date: datetime.date,
    passengers: list[Passenger],
    cabin: Literal["economy", "business"] = "economy",
    max_price: float | None = None,
) -> str:
    """Flights on a day."""
    return f"{origin}-{destination}: {len(passengers)} seats in {cabin}"


def find_flights_blocking(
    origin: str,
    destination: str,
    date: datetime.date,
    passengers: list[Passenger],
    cabin: Literal["economy", "business"] = "economy",
    max_price: float | None = None,
) -> str:
    """Flights on a day, from a function that blocks."""
    return f"{origin}-{destination}: {len(passengers)} seats in {cabin}"


TEXT = (
    '{"origin": "LHR", "destination": "CDG", "date": "2026-11-20", "passengers": '
    '[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 40}], "cabin": "business", "max_price": 420.5}'
)
EXPECTED = "LHR-CDG: 2 seats in business"
TOOLS = rc.Toolbox(find_flights, find_flights_blocking)
EXECUTOR = rc.gate.Executor()
FLOOR: TypeAdapter[Any] = TypeAdapter(find_flights)  # type: ignore[arg-type]
FLOOR_BLOCKING: TypeAdapter[Any] = TypeAdapter(find_flights_blocking)  # type: ignore[arg-type]


async def floor(count: int) -> None:
    for _ in range(count):
        assert await FLOOR.validate_json(TEXT) == EXPECTED


async def rightcall(count: int, name: str = "find_flights") -> None:
    call = rc.Call(id="1", name=name, arguments=TEXT)
    for _ in range(count):
        (done,) = await EXECUTOR.execute([call], TOOLS)
        assert done.result.text == EXPECTED


async def rightcall_eight(count: int) -> None:
    calls = [rc.Call(id=str(at), name="find_flights", arguments=TEXT) for at in range(8)]
    for _ in range(count // 8):
        done = await EXECUTOR.execute(calls, TOOLS)
        assert done[7].result.text == EXPECTED


async def floor_blocking(count: int) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(FLOOR_BLOCKING.validate_json, TEXT) == EXPECTED


async def rightcall_blocking(count: int) -> None:
    await rightcall(count, "find_flights_blocking")


async def measure(work: Callable[[int], Awaitable[None]], count: int) -> float:
    """Microseconds per call."""
    start = time.process_time()
    await work(count)
    return (time.process_time() - start) / count * 1e6


async def main() -> None:
    works = {
        "floor: validate_json + await function": (floor, CALLS),
        "rightcall, one call at a time": (rightcall, CALLS),
        "rightcall, eight calls at once": (rightcall_eight, CALLS),
        "floor: the same in asyncio.to_thread": (floor_blocking, THREADED_CALLS),
        "rightcall, a function that blocks": (rightcall_blocking, THREADED_CALLS),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, (work, count) in works.items():
            times[name].append(await measure(work, count))
    print(
        f"Python {platform.python_version()}, pydantic {pydantic.VERSION}, {ROUNDS} rounds interleaved"
    )
    print(f"{'':40} {'µs per call':>12} {'spread':>15} {'calls/s':>10} {'x floor':>8}")
    base = 1.0
    worst = 0.0
    for name, samples in times.items():
        median = statistics.median(samples)
        base = median if name.startswith("floor") else base
        spread = f"{min(samples):.1f} to {max(samples):.1f}"
        print(f"{name:40} {median:12.2f} {spread:>15} {1e6 / median:10,.0f} {median / base:8.2f}")
        worst = max(worst, median / base) if name.endswith("at a time") else worst
    print(f"one call at a time: {worst:.2f} times the floor; the aim is at most {AIM:g}")


if __name__ == "__main__":
    asyncio.run(main())
