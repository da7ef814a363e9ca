"""Kills of durable workers, in a short form; ``make test WHAT=durable`` runs all of them (table.py)."""

import pytest

import rightcall as rc
from durable.conftest import NO_SERVERS, WITH_SERVERS
from durable.kills import table
from durable.kills.workers import Act, Count, Workers, judged

pytestmark = [
    pytest.mark.skipif(not WITH_SERVERS, reason=NO_SERVERS),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


async def test_the_table_knows_every_record_of_a_run_and_every_effect(tmp_path):
    address = f"sqlite:///{tmp_path / 'runs.db'}"
    count = Count(failovers=[])
    async with Workers(address, tmp_path) as workers, rc.durable.App(address) as app:
        await table.seen_to_its_end(app, "n", count, workers)
        acts = [act for act in workers.acts() if act.key.startswith("n.")]
    assert {act.key.removeprefix("n.") for act in acts if act.what == "recorded"} == set(table.KEYS)
    assert {act.what for act in acts} - {"recorded", "pay-7"} == set(table.INSIDE)
    assert (count.runs, count.writes, count.interrupted, count.lost) == (1, 3, 0, 0)


@pytest.mark.parametrize("place", ["inside pay-5", "after t2.0.pay", "before t3.model"])
async def test_another_worker_goes_on_within_two_seconds_and_nothing_is_done_twice(
    address, tmp_path, place
):
    folder = tmp_path / "acts"
    folder.mkdir()
    async with Workers(address, folder) as workers:
        for tries in range(1, 4):
            # Another try: a busy machine is late by itself.
            prefix = f"{tries}-{place.replace(' ', '-')}"
            count = await table.at_places(address, workers, (place,), prefix=prefix)
            assert (count.kills, count.repeated, count.again, count.lost) == (tries, 0, 0, 0)
            if count.failovers[0] < 2.0:
                return
    pytest.fail(f"another went on after {count.failovers[0]:.1f} s")


def test_what_is_wrong_is_counted():
    count = Count(failovers=[])
    acts = [
        Act(1.0, "w1", "pay-5", "r.t2.0.pay"),
        Act(2.0, "w1", "recorded", "r.t2.0.pay"),
        Act(3.0, "w2", "pay-5", "r.t2.0.pay"),
        Act(3.0, "w2", "pay-5", "other.t2.0.pay"),
    ]
    judged(count, "r", acts, {"pay-5": "returned", "pay-7": "interrupted", "sign": "returned"})
    assert (count.writes, count.repeated, count.again) == (2, 1, 1)
    assert (count.interrupted, count.lost) == (1, 1)
