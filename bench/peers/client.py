"""The client's side of the benchmark: does the jobs that come on stdin, and says what each cost.

Every peer is a module with ``prepare``, run in an environment of its own. Standard library only.
"""

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from script import ANSWER, SCRIPTS

PROMPT = "What is the weather in all of these places?"
KEY = "no-key-is-needed"


@dataclass(frozen=True)
class Job:
    """One kind of work: which script, how often, and how many at the same time."""

    url: str
    work: str
    streamed: bool = True
    runs: int = 1
    at_once: int = 1

    @property
    def base(self) -> str:
        """Where this work's vendor is."""
        return f"{self.url}/{self.work}/v1"


@dataclass
class Cost:
    """What a job took, per run, in seconds and bytes."""

    cpu: float
    wall: float
    latencies: list[float] = field(default_factory=list)
    memory: float = 0.0
    begun: float = 0.0
    """CPU seconds of the whole process until the job had its first answer."""


Run = Callable[[], Awaitable[str]]
Prepare = Callable[[Job], Coroutine[Any, Any, Run]]

TOOL = {
    "name": "get_weather",
    "description": "The weather in a place, now.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
}


class Weather:
    """The tool that every peer gets; counts its calls, and takes as long as the work says."""

    called = 0
    seconds = 0.0


async def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> str:
    """The weather in a place, now."""
    Weather.called += 1
    if Weather.seconds:
        await asyncio.sleep(Weather.seconds)
    return f"It is sunny in {city[:40]}, 21 {unit}"


SECONDS = {"parallel": 0.1, "sleep": 0.2, "slow": 1.0}
"""How long the tool takes, where it takes any time."""


async def do(prepare: Prepare, job: Job) -> Cost:
    """The job, once to get warm and then measured; wrong answers are no answers."""
    Weather.seconds = SECONDS.get(job.work, 0.0)
    run, script = await prepare(job), SCRIPTS[job.work]
    await run()
    begun = time.process_time()
    gc.collect()
    Weather.called, waiting = 0, iter(range(job.runs))
    latencies: list[float] = []
    before = _resident()

    async def worker() -> None:
        for _ in waiting:
            start = time.perf_counter()
            answer = await run()
            latencies.append(time.perf_counter() - start)
            assert answer.endswith(ANSWER), answer

    start, cpu = time.perf_counter(), time.process_time()
    if job.at_once == 1:
        await worker()
    else:
        await asyncio.gather(*[worker() for _ in range(job.at_once)])
    cost = Cost((time.process_time() - cpu) / job.runs, (time.perf_counter() - start) / job.runs)
    assert Weather.called == job.runs * script.turns * script.calls, Weather.called
    cost.latencies, cost.begun = latencies, begun
    cost.memory = max(_peak() - before, 0) / job.at_once
    return cost


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(prepare: Prepare) -> None:
    """Say what getting ready cost, then do jobs until there are no more."""
    imported = time.process_time()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    with asyncio.Runner() as runner:
        runner.run(prepare(Job("http://127.0.0.1:9", "turns1")))
        print(json.dumps({"imported": imported, "ready": time.process_time()}), flush=True)
        for line in sys.stdin:
            cost = runner.run(do(prepare, Job(**json.loads(line))))
            print(json.dumps(asdict(cost)), flush=True)
        # What each peer leaves open is not measured, nor are its complaints about that.
        os._exit(0)
