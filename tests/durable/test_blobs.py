"""Large texts go by reference: safe before their step is, checked when read, and gone with their run."""

import threading

import pytest

from durable.databases import engine_at
from rightcall.durable.blobs import LARGE, Blobs, SqlBlobs
from rightcall.errors import JournalError


@pytest.fixture
def store(database):
    engine = engine_at(database)
    store = SqlBlobs(engine)
    store.create()
    yield store
    engine.dispose()


def count(store: SqlBlobs) -> int:
    with store._engine.connect() as connection:
        return connection.exec_driver_sql("select count(*) from rightcall_blobs").scalar()


async def test_a_small_text_stays_as_it_is(store):
    text = '{"a":"' + "x" * (LARGE - 8) + '"}'
    assert await Blobs(store).packed("r", text) == text
    assert await Blobs(store).unpacked("r", text) == text
    assert count(store) == 0


async def test_ten_megabytes_come_back(store):
    blobs = Blobs(store)
    text = '{"text":"' + "ä€𝄞\\n" * 1_000_000 + '"}'
    assert len(text.encode()) > 10_000_000
    reference = await blobs.packed("r", text)
    assert len(reference) < 100
    assert await blobs.unpacked("r", reference) == text


async def test_bytes_count_and_not_characters(store):
    text = '"' + "€" * (LARGE // 3) + '"'
    assert (await Blobs(store).packed("r", text)).startswith("blob:sha256:")


async def test_the_same_text_is_kept_once_in_a_run_and_apart_in_each(store):
    blobs, text = Blobs(store), '"' + "x" * LARGE + '"'
    first = await blobs.packed("a", text)
    assert await blobs.packed("a", text) == first == await blobs.packed("b", text)
    assert count(store) == 2
    store.drop(["a", "never-there"])
    assert count(store) == 1
    assert await blobs.unpacked("b", first) == text
    with pytest.raises(JournalError, match=r"of run 'a': is gone"):
        await blobs.unpacked("a", first)


async def test_a_fork_has_what_its_run_had(store):
    blobs, text = Blobs(store), '"' + "x" * LARGE + '"'
    reference = await blobs.packed("a", text)
    store.copy("a", "b")
    store.copy("a", "b")
    store.drop(["a"])
    assert await blobs.unpacked("b", reference) == text


async def test_what_was_changed_is_not_believed(store):
    blobs = Blobs(store)
    reference = await blobs.packed("r", '"' + "x" * LARGE + '"')
    with store._engine.begin() as connection:
        connection.exec_driver_sql("update rightcall_blobs set data = substr(data, 2)")
    with pytest.raises(JournalError, match="does not hold what was put there"):
        await blobs.unpacked("r", reference)


def test_many_may_make_the_table_at_once(database):
    engines = [engine_at(database) for _ in range(4)]
    failures = []

    def create(engine):
        try:
            SqlBlobs(engine).create()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=create, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in engines:
        engine.dispose()
    assert failures == []
