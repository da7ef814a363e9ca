"""A Postgres that is restarted in the middle of runs loses none of them, and nobody takes another's."""

import asyncio

import pytest

import rightcall as rc
from durable import cast, servers
from durable.conftest import NO_SERVERS, WITH_SERVERS, until

pytestmark = pytest.mark.skipif(not WITH_SERVERS, reason=NO_SERVERS)


@pytest.fixture
def server():
    try:
        with servers.running_postgres() as server:
            yield server
    except servers.Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture
def address(server):
    return server.database("restarted")


async def test_a_restart_loses_nothing(server, address, another_process):
    another_process()
    async with rc.durable.App(address, agents=cast.agents(), queues=("default",)) as app:
        await until(lambda: any(line.startswith("worker") for line in cast.logged()), 300)
        names = [f"run {n}" for n in range(6)]
        for name in names:
            await app.submit("worker", "pay rest pay", run=name)
        await until(lambda: "rest" in cast.logged())
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        results = await asyncio.wait_for(asyncio.gather(*map(app.result, names)), 300)
        attempts = [(await app.show(name)).info.attempts for name in names]
    assert [result.text for result in results] == ["done after 3 turns"] * 6
    assert cast.logged().count("pay") == 12
    assert attempts == [1] * 6, "a worker that lives was taken for dead"
