"""What running a program costs, and what floods of output do to the event loop. All in one run.

The floors are ``subprocess.run`` and ``os.posix_spawn``, with the descriptors, session and environment
of the runner as far as they can give them. Neither kills what a program leaves behind, keeps its time
without blocking, or dies with the parent; the runner does.
"""

import asyncio
import gc
import os
import platform
import resource
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable

from rightcall.process import Command, Exited, TimedOut, run

ROUNDS = 15
RUNS = 60
AIM = 1.5
TRUE = "/bin/true"
CHILDREN = 50
FLOOD_SECONDS = 3.0


def by_posix_spawn() -> None:
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_DUP2, writing, 2),
    ]
    pid = os.posix_spawn(TRUE, [TRUE], {}, file_actions=actions, setsid=True)
    os.close(writing)
    while os.read(reading, 65536):
        pass
    os.close(reading)
    assert os.waitpid(pid, 0)[1] == 0


def by_subprocess() -> None:
    done = subprocess.run(
        [TRUE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={},
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0


async def by_runner() -> None:
    assert (await run(Command(argv=(TRUE,)))).exit == Exited(0)


async def one_after_the_other(call: Callable[[], None]) -> None:
    for _ in range(RUNS):
        call()


async def in_threads(call: Callable[[], None], at_once: int) -> None:
    async def some() -> None:
        for _ in range(RUNS // at_once):
            await asyncio.to_thread(call)

    await asyncio.gather(*(some() for _ in range(at_once)))


async def with_runner(at_once: int) -> None:
    async def some() -> None:
        for _ in range(RUNS // at_once):
            await by_runner()

    await asyncio.gather(*(some() for _ in range(at_once)))


WORKS: dict[str, Callable[[], Awaitable[None]]] = {
    "os.posix_spawn, one at a time": lambda: one_after_the_other(by_posix_spawn),
    "subprocess.run, one at a time": lambda: one_after_the_other(by_subprocess),
    "rightcall, one at a time": lambda: with_runner(1),
    "os.posix_spawn, four threads": lambda: in_threads(by_posix_spawn, 4),
    "subprocess.run, four threads": lambda: in_threads(by_subprocess, 4),
    "rightcall, four at once": lambda: with_runner(4),
}


async def measure_spawning() -> None:
    times: dict[str, list[float]] = {name: [] for name in WORKS}
    for work in WORKS.values():
        await work()
    for _ in range(ROUNDS):
        for name, work in WORKS.items():
            start = time.perf_counter()
            await work()
            times[name].append((time.perf_counter() - start) / RUNS * 1e6)
    titles = (
        f"{'µs each':>9} {'best':>7} {'worst':>8} {'per s':>7} {'x posix_spawn':>14} {'of bests':>9}"
    )
    print(f"{'':32} {titles}")
    base: list[float] = [1.0]
    for name, samples in times.items():
        base = samples if name.startswith("os.") else base
        median = statistics.median(samples)
        ratio = statistics.median(a / b for a, b in zip(samples, base, strict=True))
        print(
            f"{name:32} {median:9.0f} {min(samples):7.0f} {max(samples):8.0f} {1e6 / median:7,.0f} "
            f"{ratio:14.2f} {min(samples) / min(base):9.2f}"
        )
    print(f"the aim is at most {AIM:g} times posix_spawn; the ratio is the median over the rounds\n")


async def measure_stall() -> None:
    """The longest that the loop was away from a task that only waits for its turn."""
    command = Command(argv=("/usr/bin/yes",), timeout=FLOOD_SECONDS, grace=0.1, max_output_bytes=65536)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    floods = [asyncio.create_task(run(command)) for _ in range(CHILDREN)]
    stalls: list[float] = []
    last = time.perf_counter()
    while not all(each.done() for each in floods):
        await asyncio.sleep(0)
        now = time.perf_counter()
        stalls.append(now - last)
        last = now
    after = resource.getrusage(resource.RUSAGE_SELF)
    ends = [each.result() for each in floods]
    assert {each.exit for each in ends} == {TimedOut(FLOOD_SECONDS)}
    total = sum(each.output.size for each in ends)
    stalls.sort()
    print(f"{CHILDREN} children flood their output for {FLOOD_SECONDS:g} s: {total / 1e9:.1f} GB read")
    print(f"  the loop's longest stall   {stalls[-1] * 1e3:8.2f} ms")
    print(f"  one turn in a thousand     {stalls[-len(stalls) // 1000 - 1] * 1e3:8.2f} ms")
    print(f"  the median turn            {statistics.median(stalls) * 1e3:8.2f} ms")
    print(f"  memory grown by            {(after.ru_maxrss - before.ru_maxrss) / 1024:8.1f} MB")


async def main() -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {ROUNDS} rounds interleaved")
    await measure_spawning()
    await measure_stall()


if __name__ == "__main__":
    asyncio.run(main())
