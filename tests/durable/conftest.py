"""Each kind of place where runs are kept, and workers on it, as the tests are given them."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import rightcall as rc
from durable import cast, servers

_numbers = count(1)
_TESTS = Path(__file__).resolve().parents[1]
WITH_SERVERS = os.environ.get("RIGHTCALL_DURABLE") == "1"
NO_SERVERS = "needs a server of its own, and some time: make test WHAT=durable"
long = pytest.mark.skipif(not WITH_SERVERS, reason=NO_SERVERS)
"""Of tests that are run with the servers only: they take long, or start several processes."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Postgres | servers.EmbeddedPostgres]:
    """One PostgreSQL for all tests; each has a database of its own."""
    if not WITH_SERVERS:
        pytest.skip(NO_SERVERS)
    try:
        with servers.running_postgres(safe=False) as server:
            yield server
    except servers.Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="session")
def restate_server() -> Iterator[servers.Restate]:
    """One Restate for all tests, which tell their runs apart by name."""
    if not WITH_SERVERS:
        pytest.skip(NO_SERVERS)
    try:
        with servers.running_restate() as server:
            yield server
    except servers.Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.db'}"
    server = request.getfixturevalue("postgres_server")
    return server.database(f"test{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgres", "restate"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address of every engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.db'}"
    if request.param == "postgres":
        return request.getfixturevalue("postgres_server").database(f"contract{next(_numbers)}")
    return request.getfixturevalue("restate_server").address


@pytest.fixture
def run() -> str:
    """A name that no other test has."""
    return f"order {os.getpid()}.{next(_numbers)}"


@pytest.fixture(autouse=True)
def _log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cast.LOG, str(tmp_path / "log"))


Open = Callable[..., Any]


@pytest.fixture
def working(address: str) -> Open:
    """Opens an app of the cast, here, that works."""

    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[rc.durable.App]:
        async with rc.durable.App(address, agents=cast.agents(), **options) as app:
            yield app

    return opened


@pytest.fixture
def asking(address: str) -> Open:
    """Opens an app, here, that only asks."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[rc.durable.App]:
        async with rc.durable.App(address) as app:
            yield app

    return opened


@pytest.fixture
def another_process(address: str) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts workers in processes of their own, and ends those that are left."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        environment = {**os.environ, cast.ADDRESS: address, cast.MAY_DIE: "1", "PYTHONPATH": str(_TESTS)}
        argv = [sys.executable, "-m", "durable.program"]
        started.append(subprocess.Popen(argv, env=environment, cwd=_TESTS))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()


async def until(happened: Callable[[], Any] | Callable[[], Awaitable[Any]], seconds: float = 60) -> Any:
    """Wait for something to be so."""
    end = monotonic() + seconds
    while True:
        found = happened()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert monotonic() < end, f"it did not happen within {seconds} s; the log: {cast.logged()}"
        await asyncio.sleep(0.02)
