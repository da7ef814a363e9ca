"""The clients are driven on request: they are large, and other people's."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clients.attempt import Attempt
from clients.drive import DRIVERS, Row, Seat, drive
from clients.gateway import Gateway, gateway
from clients.places import absence
from clients.rows import WAYS
from clients.task import PROMPT, Task
from clients.upstream.exchange import Script
from clients.upstream.server import Upstream, serving
from clients.workers import PROGRAMS, Workers


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The rows of the task as one table, where any of them ran."""
    cells: dict[str, dict[str, str]] = {}
    for outcome, word in (("passed", "yes"), ("failed", "NO"), ("error", "NO"), ("skipped", "-")):
        for report in terminalreporter.stats.get(outcome, ()):
            if found := re.search(r"test_the_task_is_done\[(.*)-(\w+)\]$", report.nodeid):
                cells.setdefault(found[1], {})[found[2]] = word
    if cells and "RIGHTCALL_CLIENTS" in os.environ:
        lines = [("", *WAYS), *((row, *(by.get(way, "") for way in WAYS)) for row, by in cells.items())]
        for line in lines:
            terminalreporter.write_line(f"{line[0]:32}" + "".join(f"{each:11}" for each in line[1:]))


@pytest.fixture(scope="session")
def vendor() -> Iterator[Upstream]:
    with serving() as upstream:
        yield upstream


@pytest.fixture(scope="session")
def gateways(
    vendor: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Gateway]]:
    """A gateway that asks the vendor in a dialect; each is started once."""
    started: dict[tuple[str, bool], Gateway] = {}
    with ExitStack() as running:

        def found(dialect: str, *, exact: bool = True) -> Gateway:
            if (dialect, exact) not in started:
                folder = tmp_path_factory.mktemp(f"gateway-{dialect}")
                started[dialect, exact] = running.enter_context(
                    gateway(folder, vendor.url, dialect, exact=exact)
                )
            return started[dialect, exact]

        yield found


@pytest.fixture(scope="session")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    started = Workers(tmp_path_factory.mktemp("workers"))
    yield started
    started.close()


@pytest.fixture
def attempt(
    tmp_path: Path, vendor: Upstream, gateways: Callable[..., Gateway], workers: Workers
) -> Callable[..., Attempt]:
    """Drive a client by a way to the vendor: directly, or by a gateway that asks it in a dialect."""

    def tried(
        row: Row,
        way: str,
        script: Callable[[Task], Script] = lambda task: task,
        prompt: str = PROMPT,
        *,
        parallel: bool = False,
        exact: bool = True,
        repeat_ids: bool = False,
        scenario: str = "task",
    ) -> Attempt:
        if missing := absence(*{**DRIVERS, **PROGRAMS}[row.client][0]):
            pytest.skip(missing)
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir()
        work.mkdir()
        task = Task(work, parallel=parallel)
        through = None if way == "direct" else gateways(way, exact=exact)
        logged = len(through.log()) if through else 0
        vendor.begin(script(task), repeat_ids=repeat_ids)
        seat = Seat(through.url if through else vendor.url, home, work)
        if row.client in PROGRAMS:
            done = workers.drive(row, seat, prompt, scenario)
        else:
            done = drive(row, seat, prompt)
        return Attempt(task, done, vendor, through.log()[logged:] if through else "")

    return tried
