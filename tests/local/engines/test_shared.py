"""Things that are dear to load: once for everybody, until the last has gone."""

import asyncio
import os
import threading

import pytest

from rightcall.errors import UsageError
from rightcall.local.engines.in_process import Loan, Shared


class Store:
    """Counts what is loaded and unloaded."""

    def __init__(self):
        self.loaded = []
        self.unloaded = []
        self.may_load = threading.Event()
        self.may_load.set()
        self.shared = Shared(self.load, self.unloaded.append)

    def load(self, key):
        assert self.may_load.wait(10)
        if key == "broken":
            raise UsageError("it is broken")
        self.loaded.append(key)
        return key.upper()

    def loan(self, key, progress=lambda _: None):
        return Loan(self.shared, key, progress)


@pytest.fixture
def store():
    return Store()


async def test_it_is_loaded_once_and_unloaded_by_the_last(store):
    first, second = store.loan("a"), store.loan("a")
    assert await asyncio.gather(first.get(), second.get(), first.get()) == ["A", "A", "A"]
    assert store.loaded == ["a"]
    await first.end()
    assert store.unloaded == []
    await second.end()
    assert store.unloaded == ["A"]


async def test_after_the_last_it_is_loaded_anew(store):
    for _ in range(2):
        loan = store.loan("a")
        await loan.get()
        await loan.end()
    assert (store.loaded, store.unloaded) == (["a", "a"], ["A", "A"])


async def test_loading_is_told_of(store):
    told = []
    store.may_load.clear()
    first = asyncio.create_task(store.loan("a", told.append).get())
    while not told:
        await asyncio.sleep(0)
    assert told == [None]
    store.may_load.set()
    await first
    assert told == [None, 1.0]


async def test_what_cannot_be_loaded_is_not_kept(store):
    loan = store.loan("broken")
    for _ in range(2):
        with pytest.raises(UsageError, match="it is broken"):
            await loan.get()
    await loan.end()
    assert store.unloaded == []


async def test_one_who_stops_waiting_does_not_stop_the_others(store):
    store.may_load.clear()
    patient, impatient = store.loan("a"), store.loan("a")
    waiting = [asyncio.create_task(each.get()) for each in (patient, impatient)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.sleep(0)
    store.may_load.set()
    assert await waiting[0] == "A"
    await patient.end()
    assert store.unloaded == ["A"]


async def test_what_nobody_waits_for_any_more_is_unloaded_when_it_comes(store):
    store.may_load.clear()
    waiting = asyncio.create_task(store.loan("a").get())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    store.may_load.set()
    async with asyncio.timeout(10):
        while not store.unloaded:
            await asyncio.sleep(0.001)
    assert store.unloaded == ["A"]


async def test_a_loan_that_has_ended_gives_nothing(store):
    loan = store.loan("a")
    await loan.get()
    await loan.end()
    await loan.end()
    with pytest.raises(UsageError, match="closed"):
        await loan.get()
    assert store.unloaded == ["A"]


async def test_a_loan_is_of_no_use_in_a_forked_child(store):
    loan = store.loan("a")
    await loan.get()
    child = os.fork()
    if not child:
        try:
            loan.check()
        except UsageError:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    await loan.end()
