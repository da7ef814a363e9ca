"""The jobs that durable runtimes are given, the same for each, and how each is measured.

    speed ADDRESS RUNS TURNS AT_ONCE   runs of so many turns, in each of which a model that answers at
                                       once asks for one call
    wait ADDRESS RUNS                  runs, until all of them wait for a person
    waits ADDRESS RUNS                 a new process among those: its memory when nothing happens, the
                                       time to list them, and to go on with one after a yes
    kill ADDRESS                       a run whose process dies (DIES=1) in the second of two calls
    recover ADDRESS                    the same run, gone on with by a new process

A runtime is a module with a function for each, and prints one line of JSON. What is done in ``kill`` and
``recover`` is written to the file ``ACTS``, one line for each act.
"""

import asyncio
import json
import os
import resource
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

Figures: TypeAlias = dict[str, Any]
times: dict[str, float] = {}
"""When a tool was run last, by its name."""


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def act(what: str) -> None:
    """Write down that something was done."""
    file = os.open(os.environ["ACTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{what}\n".encode())
    os.close(file)


def prompt_of(text: str) -> tuple[str, int]:
    """Which job a prompt is, and of how many turns."""
    job, _, turns = text.partition(" ")
    return job, int(turns or 0)


@asynccontextmanager
async def measured(steps: int) -> AsyncIterator[Figures]:
    """What happens in here: time, CPU of this process, and its memory afterwards."""
    wall, cpu = time.perf_counter(), time.process_time()
    figures: Figures = {"steps": steps, "from": wall}
    yield figures
    figures["wall"] = time.perf_counter() - wall
    figures["cpu"] = time.process_time() - cpu
    figures["rss"] = resident()


def serve(arguments: list[str], **jobs: Callable[..., Coroutine[Any, Any, Figures]]) -> None:
    """Do the job that was asked for, and print its figures."""
    _, name, address, *numbers = arguments
    figures = asyncio.run(jobs[name](address, *map(int, numbers)))
    print(json.dumps(figures), flush=True)
    os._exit(0)  # at once: runs that still wait would hold some of the runtimes up
